"""What the operator sees when the bot cannot start: a plain sentence, and an end."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.blackbox.process import Services, forked_run, log_is_clean, services
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, error

WRONG_TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.abcdefghijklmnopqrstuvwxyz0123456789AB"


@contextmanager
def taken_port() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def closed_port() -> int:
    """A port that nobody listens on."""
    with taken_port() as port:
        return port


def wrong_discord_token(outside: Services, folder: Path) -> dict[str, str]:
    return outside.discord_settings | {"DISCORD_TOKEN": WRONG_TOKEN}


def discord_out_of_reach(outside: Services, folder: Path) -> dict[str, str]:
    return outside.discord_settings | {"DISCORD_API_URL": f"http://127.0.0.1:{closed_port()}/api/v10"}


def wrong_slack_token(outside: Services, folder: Path) -> dict[str, str]:
    outside.slack.script("auth.test", error("invalid_auth"))
    return outside.slack_settings


def swapped_slack_tokens(outside: Services, folder: Path) -> dict[str, str]:
    return outside.slack_settings | {"SLACK_BOT_TOKEN": APP_TOKEN, "SLACK_APP_TOKEN": BOT_TOKEN}


def slack_out_of_reach(outside: Services, folder: Path) -> dict[str, str]:
    return outside.slack_settings | {"SLACK_API_URL": f"http://127.0.0.1:{closed_port()}/api/"}


def no_folder_for_the_database(outside: Services, folder: Path) -> dict[str, str]:
    (folder / "file").touch()
    return outside.slack_settings | {"DATA_DIR": str(folder / "file" / "data")}


def no_file_for_the_database(outside: Services, folder: Path) -> dict[str, str]:
    (folder / "data" / "keepsake.db").mkdir(parents=True)
    return outside.slack_settings


@pytest.mark.parametrize(
    ("arrange", "sentence"),
    [
        (wrong_discord_token, "Discord does not accept DISCORD_TOKEN. Open https://discord.com/developers"),
        (discord_out_of_reach, "Check the network connection"),
        (wrong_slack_token, "Slack refuses SLACK_BOT_TOKEN: it is not valid (invalid_auth). Copy the Bot User"),
        (swapped_slack_tokens, "The two tokens seem to be swapped."),
        (slack_out_of_reach, "Check this machine's network"),
        (no_folder_for_the_database, "Choose another place with DATA_DIR"),
        (no_file_for_the_database, "Check that its file and folder exist, can be written"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
async def test_a_start_that_cannot_succeed_ends_with_a_plain_sentence(
    tmp_path: Path, arrange: object, sentence: str
) -> None:
    assert callable(arrange)
    async with services() as outside, forked_run(tmp_path, arrange(outside, tmp_path)) as keepsake:
        code = await keepsake.ended()

        assert code == 1
        assert sentence in keepsake.lines[-1]
        assert log_is_clean(keepsake, WRONG_TOKEN), keepsake.stderr
        assert len(outside.slack.called("auth.test")) <= 1


async def test_a_port_in_use_is_named_before_any_platform_is_asked(tmp_path: Path) -> None:
    async with services() as outside:
        with taken_port() as port:
            async with forked_run(tmp_path, outside.all_settings | {"PORT": str(port)}) as keepsake:
                code = await keepsake.ended()

        assert code == 1
        assert keepsake.lines[-1].startswith(f"  PORT: the web server cannot listen on 127.0.0.1:{port}")
        assert "Example: PORT=8081" in keepsake.lines[-1]
        assert log_is_clean(keepsake), keepsake.stderr
        assert not outside.slack.calls
        assert not outside.discord.gateway.identified


async def test_without_the_message_content_intent_it_says_so_and_answers_who_mentions_it(tmp_path: Path) -> None:
    async with services() as outside:
        discord = outside.discord
        discord.gateway.message_content_allowed = False
        channel, ann = discord.add_channel(discord.add_guild("Garden"), "general"), discord.add_user("Ann")
        async with forked_run(tmp_path, outside.claude_settings | outside.discord_settings) as keepsake:
            await keepsake.until_logged("ready")
            await discord.post(channel, ann, f"{discord.bot.mention} hello")
            await discord.until_sent(1)

            assert outside.discord_answers(channel) == ["You said: hello"]
            [warning] = keepsake.logged("discord_message_content_intent_off")
            assert "switch on Message Content Intent" in warning["remedy"]
            assert sum('"warning"' in line for line in keepsake.lines) == 1
            keepsake.terminate()
            assert await keepsake.ended() == 0
            assert log_is_clean(keepsake), keepsake.stderr
