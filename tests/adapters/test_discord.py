"""How the Discord adapter starts, loses its connection and comes back, with the real discord.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from discord import Permissions

from bot.chat import AdapterStartFailed
from tests.adapters.discord_running import Inbox, started
from tests.doubles.discord import DiscordDouble
from tests.doubles.library_log import first_line


async def test_start_returns_when_the_servers_are_known(discord: DiscordDouble) -> None:
    async with started(discord) as adapter:
        assert adapter.state()["connected"] is True
    assert adapter.state()["connected"] is False


async def test_a_refused_token_says_where_to_get_another(discord: DiscordDouble) -> None:
    with pytest.raises(AdapterStartFailed, match="DISCORD_TOKEN"):
        async with started(discord, token="wrong"):
            pass


async def test_no_network_is_said_plainly() -> None:
    async with DiscordDouble().running() as gone:
        pass
    with pytest.raises(AdapterStartFailed, match="cannot be reached"):
        async with started(gone):
            pass


async def test_without_the_message_content_intent_mentions_and_direct_chats_still_work(
    discord: DiscordDouble, inbox: Inbox
) -> None:
    discord.gateway.message_content_allowed = False
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    channel = discord.add_channel(discord.add_guild("Garden"), "general")
    async with started(discord, inbox.store):
        await discord.post(channel, ann, f"{discord.bot.mention} hello")
        await discord.post(channel, ann, "unseen")
        await discord.post(chat, ann, "direct")
        await inbox.until(2)

    assert [message.text for message in inbox.messages] == ["hello", "direct"]


@pytest.mark.parametrize(
    ("code", "sentence"), [(4004, "DISCORD_TOKEN"), (4013, "newer version"), (4014, "Message Content Intent")]
)
async def test_a_fatal_close_ends_the_connection_with_a_sentence(
    discord: DiscordDouble, code: int, sentence: str
) -> None:
    async with started(discord) as adapter:
        await discord.gateway.drop(code)
        with pytest.raises(AdapterStartFailed, match=sentence):
            await adapter.closed()


async def test_a_fatal_close_at_the_start_fails_the_start(discord: DiscordDouble) -> None:
    discord.gateway.close_identify_with = 4013
    with pytest.raises(AdapterStartFailed, match="newer version"):
        async with started(discord):
            pass


async def test_a_message_missed_while_disconnected_is_handed_over_on_resume(
    discord: DiscordDouble, inbox: Inbox
) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store):
        await discord.gateway.drop()
        await discord.post(chat, ann, "are you there?")
        await inbox.until(1)

    assert discord.gateway.resumed == 1
    assert [message.text for message in inbox.messages] == ["are you there?"]


async def test_why_the_connection_is_made_anew_is_logged_in_one_line(discord: DiscordDouble) -> None:
    async with started(discord):
        with first_line("discord", "Attempting a reconnect for shard ID 0") as line:
            discord.gateway.refuses = 1
            await discord.gateway.drop()
            told = await line
    assert "503" in told.getMessage()
    assert told.exc_info is None


async def test_a_gateway_that_shows_no_life_is_connected_to_anew_and_nothing_is_missed(
    discord: DiscordDouble, inbox: Inbox
) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    discord.gateway.heartbeat_interval, discord.gateway.answers_heartbeats = 20, False
    async with started(discord, inbox.store, heartbeat_timeout=0.2) as adapter:
        await discord.until(lambda: discord.gateway.resumed > 0)
        discord.gateway.answers_heartbeats = True
        await discord.post(chat, ann, "are you there?")
        await inbox.until(1)
        assert adapter.state()["connected"]

    assert [message.text for message in inbox.messages] == ["are you there?"]


async def test_a_second_ready_changes_nothing(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store):
        await discord.gateway.repeat_ready()
        await discord.post(chat, ann, "once")
        await discord.post(chat, ann, "more")
        await inbox.until(2)

    assert [message.text for message in inbox.messages] == ["once", "more"]


def test_the_invitation_asks_for_what_the_bot_needs() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "discord.md").read_text(encoding="utf-8")
    permissions = re.search(r"permissions=(\d+)", guide)

    assert permissions is not None
    assert Permissions(int(permissions[1])) == Permissions(
        view_channel=True, send_messages=True, send_messages_in_threads=True, read_message_history=True
    )
