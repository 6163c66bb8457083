"""What happened in Slack while the connection was away is found afterwards, over the real client library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from slack_sdk.web.async_client import AsyncWebClient
from structlog.testing import capture_logs

from adapters.slack_catching_up import SlackCatchingUp
from bot.chat import IncomingMessage
from bot.command_table import COMMAND_TABLE
from bot.commands import Commands, Services
from bot.last_seen import LastSeen
from bot.look_back import LookBack
from memory.errors import DatabaseUnavailable
from memory.stores.last_seen import Seen
from tests.adapters.slack.running import started
from tests.desk import learning, usual_settings
from tests.doubles.slack import BOT_USER, TEAM, SlackDouble, error, rate_limited, server_error
from tests.fakes import FakeClock, Pauses, RecordingChannel, ScriptedModel
from tests.world import World, running

LATE = "(This is late: I was away when you wrote.)"
LEARNS = {"Oslo": [{"text": "User lives in Oslo"}], "Rome": [{"text": "User lives in Rome"}]}
OSLO, ROME = "I live in Oslo.", "I live in Rome."


@asynccontextmanager
async def bot(slack: SlackDouble, folder: Path, **given: Any) -> AsyncIterator[World]:
    """The whole application; the context begins when it has caught up."""
    clock = FakeClock()
    model, memory_model = ScriptedModel(default="Nice."), learning(LEARNS)
    async with running(
        folder, clock=clock, model=model, memory_model=memory_model, channel=RecordingChannel("slack"), drafts=False
    ) as world:
        last_seen = LastSeen(system=world.system, clock=clock, reach=timedelta(hours=1))
        services = Services(system=world.system, settings=usual_settings(), clock=clock)
        kept: dict[str, Any] = {
            "last_seen": last_seen,
            "look_back": LookBack(system=world.system, clock=clock, reach=timedelta(days=1)),
            "on_change": world.following.apply,
            "commands": Commands(COMMAND_TABLE, services),
            "clock": clock,
        }
        accept, listening = given.pop("accept", world.following.accept), world.listener.is_for_us
        async with started(slack, accept, is_for_us=listening, **{**kept, **given}) as adapter:
            world.handler.attach({"slack": adapter})
            await adapter.caught_up()
            await world.handler.idle()
            await world.system.settle()
            yield world
            await world.handler.idle()
            await world.system.settle()
        await last_seen.flush()


async def said(slack: SlackDouble, world: World, channel: str, text: str, **fields: Any) -> dict[str, Any]:
    """Somebody says something to the bot, and it answers."""
    post = slack.message("U1", channel, text, **fields)
    await (await slack.deliver({**post, "channel_type": "im" if channel.startswith("D") else "channel"})).wait()
    await world.handler.idle()
    await world.system.settle()
    return post


def answers(slack: SlackDouble, channel: str) -> list[tuple[str | None, bool]]:
    """Of each answer in a channel, the thread it is in and whether it says that it is late."""
    return [(post.get("thread_ts"), LATE in post["text"]) for post in slack.posts(channel)]


async def test_what_was_missed_in_direct_chats_channels_and_threads_is_answered_once_and_marked_as_late(
    slack: SlackDouble, tmp_path: Path
) -> None:
    hello = f"<@{BOT_USER}>"
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", OSLO)
        thread = (await said(slack, world, "C1", f"{hello} Hello."))["ts"]
        others = (await said(slack, world, "C1", "For nobody."))["ts"]
    slack.message("U1", "D1", "I have a cat.")
    slack.message("U1", "C1", "In the thread.", thread_ts=thread)
    root = slack.message("U2", "C1", f"{hello} A thread that begins meanwhile.")
    slack.message("U2", "C1", "And goes on.", thread_ts=root["ts"])
    slack.message("U2", "C1", "For nobody.")
    slack.message("U2", "C1", f"{hello} What do you say?", thread_ts=others)
    for _ in range(2):
        async with bot(slack, tmp_path):
            pass
        assert answers(slack, "D1") == [(None, False), (None, True)]
        assert sorted(answers(slack, "C1")) == [
            (thread, False), (thread, True), (others, True), (root["ts"], True), (root["ts"], True)
        ]  # fmt: skip


async def test_what_was_said_where_the_bot_never_heard_anything_is_found_too(
    slack: SlackDouble, tmp_path: Path
) -> None:
    for channel, flags in {"D9": {"is_im": True}, "C9": {}, "C8": {}}.items():
        slack.add_channel(channel, is_member=channel != "C8", **flags)
    hello = f"<@{BOT_USER}> Is nobody here?"
    slack.first_ts -= 600
    slack.message("U1", "C9", hello)
    async with bot(slack, tmp_path):  # the first time: nothing is known to be missed
        pass
    slack.first_ts += 600
    for channel in ("D9", "C9", "C8"):
        slack.message("U1", channel, hello)
    for _ in range(2):
        async with bot(slack, tmp_path):
            pass
    assert [len(answers(slack, channel)) for channel in ("D9", "C9", "C8")] == [1, 1, 0]
    assert all(late for channel in ("D9", "C9") for _, late in answers(slack, channel))


async def test_what_was_said_before_the_bot_came_to_a_channel_is_left(slack: SlackDouble, tmp_path: Path) -> None:
    async with bot(slack, tmp_path):
        pass
    hello = f"<@{BOT_USER}>"
    for channel in ("C9", "C8"):
        slack.add_channel(channel, is_member=True)
        earlier = slack.message("U1", channel, f"{hello} Shall we ask it?")
        slack.message("U1", channel, f"{hello} And here?", thread_ts=earlier["ts"])
        slack.message(BOT_USER, channel, f"{hello} has joined the channel", subtype="channel_join")
        asked = slack.message("U1", channel, f"{hello} Are you there?")
    slack.message("U1", "C8", f"{hello} And in the old thread?", thread_ts=earlier["ts"])
    async with bot(slack, tmp_path):
        pass
    assert len(answers(slack, "C9")) == 1
    assert sorted(answers(slack, "C8")) == [(earlier["ts"], True), (asked["ts"], True)]


async def test_a_conversation_that_does_not_answer_is_asked_again_after_the_next_break(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", OSLO)
    slack.message("U1", "D1", "I have a cat.")
    slack.script("conversations.history", *[server_error()] * 3)
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", "Thanks.")
        assert answers(slack, "D1") == [(None, False), (None, False)]
    async with bot(slack, tmp_path):
        assert answers(slack, "D1") == [(None, False), (None, False), (None, True)]


async def test_a_post_that_cannot_be_read_keeps_nothing_else_from_being_found(
    slack: SlackDouble, tmp_path: Path
) -> None:
    slack.add_channel("D2", is_im=True)
    async with bot(slack, tmp_path) as world:
        for channel in ("D1", "D2"):
            await said(slack, world, channel, OSLO)
    for channel in ("D1", "D2"):
        slack.message("U1", channel, "Look!", files="cat.png", edited="just now")
        slack.message("U1", channel, "I have a cat.")
    async with bot(slack, tmp_path) as world:
        assert [len(answers(slack, channel)) for channel in ("D1", "D2")] == [2, 2]


async def test_a_connection_that_breaks_is_caught_up_with_and_what_slack_sends_again_is_answered_once(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", OSLO)
        missed = slack.message("U1", "D1", "I have a cat.")
        await slack.drop()
        await slack.connected(2)
        await slack.wait_for_posts(2)
        await (await slack.deliver({**missed, "channel_type": "im"}, retry_attempt=1)).wait()
        await said(slack, world, "D1", "Thanks.")
    assert answers(slack, "D1") == [(None, False), (None, True), (None, False)]


async def test_a_command_that_was_missed_is_not_run(slack: SlackDouble, tmp_path: Path) -> None:
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", OSLO)
    slack.message("U1", "D1", "!mydata delete confirm")
    async with bot(slack, tmp_path) as world:
        assert OSLO in str(await world.system.privacy.export("slack:T1:U1"))
    assert answers(slack, "D1") == [(None, False)]


@pytest.mark.parametrize("channel", ["D1", "C1"])
@pytest.mark.parametrize("deleted", [False, True])
async def test_what_was_edited_and_deleted_meanwhile_is_followed(
    slack: SlackDouble, tmp_path: Path, channel: str, deleted: bool
) -> None:
    address = "" if channel == "D1" else f"<@{BOT_USER}> "
    async with bot(slack, tmp_path) as world:
        post = await said(slack, world, channel, f"{address}{OSLO}")
        await said(slack, world, "D1", "Something else.")
        assert "User lives in Oslo" in str(await world.system.privacy.export("slack:T1:U1"))
    if deleted:
        slack.delete(post, tombstone=channel == "C1")
    else:
        slack.edit(post, f"{address}{ROME}")
    async with bot(slack, tmp_path) as world:
        exported = str(await world.system.privacy.export("slack:T1:U1"))
        assert "Oslo" not in exported
        assert ("User lives in Rome" in exported) is not deleted
        assert "Something else." in exported


async def test_an_answer_that_was_deleted_meanwhile_is_let_go_of(slack: SlackDouble, tmp_path: Path) -> None:
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", OSLO)
    slack.messages["D1"].remove(slack.posts("D1")[0])
    async with bot(slack, tmp_path) as world:
        exported = str(await world.system.privacy.export("slack:T1:U1"))
        assert "Nice." not in exported
        assert OSLO in exported


async def test_what_slack_does_not_show_counts_as_kept_and_is_asked_for_again(
    slack: SlackDouble, tmp_path: Path
) -> None:
    async with bot(slack, tmp_path) as world:
        post = await said(slack, world, "D1", OSLO)
    slack.delete(post)
    slack.message("U1", "D1", "I have a cat.")
    for answer in (error("not_in_channel"), rate_limited(600)):
        slack.script("conversations.history", answer)
        async with bot(slack, tmp_path) as world:
            assert OSLO in str(await world.system.privacy.export("slack:T1:U1"))
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    slack.script("conversations.history", rate_limited(7))
    async with bot(slack, tmp_path, sleep=sleep) as world:
        assert OSLO not in str(await world.system.privacy.export("slack:T1:U1"))
    assert waited[0] == 7
    assert answers(slack, "D1") == [(None, False), (None, True)]


async def test_what_slack_withheld_since_it_was_too_much_is_asked_for_when_that_is_over(
    slack: SlackDouble, tmp_path: Path
) -> None:
    pauses, texts = Pauses(), []
    limited = {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 1}
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", OSLO)
    async with bot(slack, tmp_path, sleep=pauses) as world:
        for number in range(2):
            await (await slack.deliver_payload("events_api", limited)).wait()
            slack.message("U1", "D1", f"Withheld {number}.")
        await said(slack, world, "D1", "Told again.")
        for _ in range(2):
            await pauses.end_one()
        texts = [post["text"] for post in await slack.wait_for_posts(4)]
    assert [LATE in text for text in texts] == [False, False, True, True]


async def test_what_could_not_be_stored_is_found_once_there_is_room_again(slack: SlackDouble, tmp_path: Path) -> None:
    pauses, failed = Pauses(), asyncio.Event()
    async with bot(slack, tmp_path) as world:
        await said(slack, world, "D1", OSLO)

    async def accept(message: IncomingMessage) -> bool:
        if failed.is_set():
            return await again.following.accept(message)
        failed.set()
        raise DatabaseUnavailable("The disk is full.")

    async with bot(slack, tmp_path, accept=accept, sleep=pauses) as again:
        await slack.deliver(slack.message("U1", "D1", "I have a cat.", channel_type="im"))
        await failed.wait()
        await said(slack, again, "D1", "And a dog.")
        await pauses.end_one()
        texts = [post["text"] for post in await slack.wait_for_posts(3)]
    assert [LATE in text for text in texts] == [False, False, True]


class Unreadable(LastSeen):
    """Cannot be read, for the disk is full."""

    async def on(self, platform: str) -> dict[str, Seen]:
        raise DatabaseUnavailable("The disk is full.")


def catching_up_in(world: World, last_seen: type[LastSeen]) -> SlackCatchingUp:
    return SlackCatchingUp(
        AsyncWebClient(),
        cast("Any", None),  # nothing is taken in
        team=TEAM,
        bot_user=BOT_USER,
        last_seen=last_seen(system=world.system, clock=world.clock, reach=timedelta(hours=1)),
        look_back=LookBack(system=world.system, clock=world.clock, reach=timedelta(days=1)),
        sleep=asyncio.sleep,
    )


async def test_a_connection_that_comes_back_while_the_bot_stops_asks_for_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        catching_up = catching_up_in(world, LastSeen)
        await catching_up.stop()
        under_way = asyncio.all_tasks()
        catching_up.begin()
        assert asyncio.all_tasks() == under_way


async def test_a_database_that_cannot_be_asked_what_was_missed_is_told_of_in_one_line(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        catching_up = catching_up_in(world, Unreadable)
        with capture_logs() as logs:
            catching_up.begin()
            await catching_up.settled()
        failed = {"event": "slack_catching_up_failed", "log_level": "error", "error": "The disk is full."}
        assert logs == [failed]
        await catching_up.stop()
