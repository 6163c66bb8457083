"""What was said while the gateway's session was lost is answered afterwards, once, and marked as late.

What was edited and deleted meanwhile is followed as if it had just happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from discord import Client, ClientUser, Intents

from adapters.discord_adapter import DiscordAdapter
from adapters.discord_catching_up import MOST_MESSAGES
from adapters.discord_intake import DiscordIntake
from bot.chat import IncomingMessage, OnMessage
from bot.last_seen import LastSeen
from bot.look_back import LookBack
from memory.errors import DatabaseUnavailable
from memory.ports import Sleep
from memory.stores.last_seen import Seen
from tests.desk import learning
from tests.doubles.discord import DiscordDouble, Scripted
from tests.doubles.discord_gateway import TOKEN
from tests.doubles.discord_world import FORUM, VOICE, Member, guild_payload
from tests.fakes import START, FakeClock, Pauses, ScriptedModel
from tests.world import World, running

LATE = "(This is late: I was away when you wrote.)"
HOUR = timedelta(hours=1)
LEARNS = {"Oslo": [{"text": "User lives in Oslo"}], "Rome": [{"text": "User lives in Rome"}]}


class Clock(FakeClock):
    """Moves on a little with everything that happens, as Discord's ids do."""

    def now(self) -> datetime:
        self.time += timedelta(milliseconds=10)
        return self.time


@asynccontextmanager
async def bot(
    folder: Path,
    discord: DiscordDouble,
    clock: FakeClock,
    *,
    reach: timedelta = HOUR,
    look_back: timedelta = 24 * HOUR,
    shards: int | None = 1,
    on_message: OnMessage | None = None,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[tuple[World, DiscordAdapter]]:
    model, memory_model = ScriptedModel(default="Nice."), learning(LEARNS)
    async with running(folder, clock=clock, model=model, memory_model=memory_model) as world:
        last_seen = LastSeen(system=world.system, clock=clock, reach=reach)
        adapter = DiscordAdapter(
            token=TOKEN,
            on_message=on_message or world.following.accept,
            is_for_us=world.listener.is_for_us,
            on_change=world.following.apply,
            api_url=discord.api_url,
            gateway_url=discord.gateway_url,
            guild_ready_timeout=0.05,
            identify_pause=0,
            last_seen=last_seen,
            look_back=LookBack(system=world.system, clock=clock, reach=look_back),
            shards=shards,
            sleep=sleep,
        )
        world.handler.attach({"discord": adapter})
        await adapter.start()
        try:
            yield world, adapter
            await world.handler.idle()
            await world.system.settle()
        finally:
            await adapter.stop()
            await last_seen.flush()


def late(discord: DiscordDouble) -> list[bool]:
    """Of each answer, whether it says that it is late."""
    return [LATE in sent["content"] for sent in discord.sent]


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
async def discord(clock: Clock) -> AsyncIterator[DiscordDouble]:
    async with DiscordDouble(clock.now).running() as double:
        yield double


async def test_after_a_lost_session_what_was_missed_is_answered_once_and_marked_as_late(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, garden = discord.add_user("ann"), discord.add_guild("Garden")
    general, quiet = discord.add_channel(garden, "general"), discord.add_channel(garden, "quiet")
    hello = discord.bot.mention
    async with bot(tmp_path, discord, clock) as (_, adapter):
        await discord.post(general, ann, f"{hello} I live in Oslo.")
        await discord.post(quiet, ann, "Nobody is here.")
        await discord.until_sent(1)
        await discord.gateway.lose_session()
        await discord.post(general, ann, f"{hello} I have a cat.")
        await discord.post(general, ann, "And this is for nobody.")
        await discord.until_sent(2)
        await discord.until_connected()
        assert late(discord) == [False, True]
        await adapter.catch_up()
        await discord.post(general, ann, f"{hello} Thanks.")
        await discord.until_sent(3)
    assert late(discord) == [False, True, False]


async def test_what_was_missed_while_the_bot_was_stopped_is_answered_in_direct_chats_too(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, chat = discord.add_user("ann"), discord.add_dm()
    async with bot(tmp_path, discord, clock):
        await discord.post(chat, ann, "I live in Oslo.")
        await discord.until_sent(1)
    await discord.post(chat, ann, "I have a cat.")
    async with bot(tmp_path, discord, clock):
        await discord.until_sent(2)
    assert late(discord) == [False, True]


async def test_a_session_that_begins_while_the_bot_stops_asks_for_nothing(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, chat = discord.add_user("ann"), discord.add_dm()
    async with bot(tmp_path, discord, clock) as (_, adapter):
        await discord.post(chat, ann, "I live in Oslo.")
        await discord.until_sent(1)
        await adapter.stop()
        await discord.post(chat, ann, "I have a cat.")
        await adapter.catch_up()  # for which there is no connection any more
    async with bot(tmp_path, discord, clock):
        await discord.until_sent(2)
    assert late(discord) == [False, True]


async def test_what_was_said_where_the_bot_never_heard_anything_is_found_too(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, garden, hello = discord.add_user("ann"), discord.add_guild("Garden"), discord.bot.mention
    general, silent = discord.add_channel(garden, "general"), discord.add_channel(garden, "silent")
    voice, closed = discord.add_channel(garden, "voice", kind=VOICE), discord.add_channel(garden, "closed", hidden=True)
    thread = discord.add_thread(discord.add_channel(garden, "forum", kind=FORUM), "post")
    await discord.post(general, ann, f"{hello} Is nobody here yet?")
    clock.advance(minutes=10)
    async with bot(tmp_path, discord, clock) as (_, adapter):  # the first time: nothing is known to be missed
        await adapter.catch_up()
    clock.advance(minutes=10)
    attic = discord.add_guild("Attic")
    box = discord.add_channel(attic, "box")
    await discord.post(box, ann, f"{hello} Before it came here.")
    attic.joined_at = clock.now()
    for channel in (general, voice, thread, closed, box):
        await discord.post(channel, ann, f"{hello} Are you there?")
    discord.add_guild("Ruin").has_outage = True
    for _ in range(2):
        async with bot(tmp_path, discord, clock) as (_, adapter):
            await adapter.catch_up()
    assert sorted(sent["channel_id"] for sent in discord.sent) == sorted([general.id, voice.id, thread.id, box.id])
    assert late(discord) == [True] * 4
    assert not silent.messages


async def test_a_server_in_an_outage_is_asked_once_that_is_over(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, garden, pauses = discord.add_user("ann"), discord.add_guild("Garden"), Pauses()
    general = discord.add_channel(garden, "general")
    async with bot(tmp_path, discord, clock) as (_, adapter):
        await adapter.catch_up()
    await discord.post(general, ann, f"{discord.bot.mention} Are you there?")
    garden.has_outage = True
    async with bot(tmp_path, discord, clock, sleep=pauses) as (_, adapter):
        await adapter.catch_up()
        assert discord.sent == []
        await discord.gateway.dispatch("GUILD_CREATE", guild_payload(garden, discord.bot))
        await pauses.end_one()
        await discord.until_sent(1)
    assert late(discord) == [True]


class Looks(LastSeen):
    """Tells of each look for what was missed, and lets something happen during the first."""

    def __init__(self, world: World, clock: Clock, meanwhile: Callable[[], None]) -> None:
        super().__init__(system=world.system, clock=clock, reach=HOUR)
        self.begun: asyncio.Queue[None] = asyncio.Queue()
        self._meanwhile = [meanwhile]

    async def on(self, platform: str) -> dict[str, Seen]:
        self.begun.put_nowait(None)
        while self._meanwhile:
            self._meanwhile.pop()()
        return await super().on(platform)


async def test_a_server_whose_outage_ends_while_others_are_looked_at_is_looked_at_after_that(
    tmp_path: Path, clock: Clock
) -> None:
    pauses, client, me = Pauses(), Client(intents=Intents.none()), cast("ClientUser", None)
    async with running(tmp_path, clock=clock) as world, asyncio.timeout(20):
        looks = Looks(world, clock, lambda: intake.server_came(client, me))
        intake = DiscordIntake(
            on_message=world.following.accept,
            is_for_us=world.listener.is_for_us,
            on_change=world.following.apply,
            last_seen=looks,
            look_back=None,
            sleep=pauses,
        )
        for _ in range(2):  # the second comes before the first is looked at
            intake.server_came(client, me)
        for _ in range(2):
            await pauses.end_one()
            await looks.begun.get()
        intake.stop()
    assert pauses.asked == [30.0, 30.0]


async def test_one_shard_that_lost_its_session_is_caught_up_with(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    discord.shards, ann, hello = 2, discord.add_user("ann"), discord.bot.mention
    garden = discord.add_guild("Garden")
    general = discord.add_channel(garden, "general")
    async with bot(tmp_path, discord, clock, shards=None) as (_, adapter):
        await adapter.catch_up()
        await discord.gateway.lose_session(shard=(int(garden.id) >> 22) % 2)
        await discord.post(general, ann, f"{hello} Are you there?")
        await discord.until_sent(1)
    assert late(discord) == [True]


async def test_what_could_not_be_stored_is_found_once_there_is_room_again(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, chat, pauses, failed = discord.add_user("ann"), discord.add_dm(), Pauses(), asyncio.Event()

    async def no_room(_: IncomingMessage) -> bool:
        failed.set()
        raise DatabaseUnavailable("The disk is full.")

    async with bot(tmp_path, discord, clock) as (_, adapter):
        await discord.post(chat, ann, "I live in Oslo.")
        await discord.until_sent(1)
        await adapter.catch_up()
    stores: list[OnMessage] = [no_room]

    async def accept(message: IncomingMessage) -> bool:
        return await stores[0](message)

    async with bot(tmp_path, discord, clock, on_message=accept, sleep=pauses) as (world, adapter):
        await adapter.catch_up()
        await discord.post(chat, ann, "I have a cat.")
        await failed.wait()
        stores[0] = world.following.accept
        await discord.post(chat, ann, "And a dog.")
        await discord.until_sent(2)
        await pauses.end_one()
        await discord.until_sent(3)
    assert sorted(late(discord)) == [False, False, True]  # a look that was under way may have found it first
    assert pauses.asked == [30.0]


async def test_a_channel_that_does_not_answer_is_asked_again_after_the_next_break(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, garden, hello = discord.add_user("ann"), discord.add_guild("Garden"), discord.bot.mention
    general, other = discord.add_channel(garden, "general"), discord.add_channel(garden, "other")
    async with bot(tmp_path, discord, clock, look_back=timedelta(0)) as (_, adapter):
        for channel in (general, other):
            await discord.post(channel, ann, f"{hello} Hello.")
        await discord.until_sent(2)
        await adapter.catch_up()
    for channel in (general, other):
        await discord.post(channel, ann, f"{hello} Are you there?")
    forbidden = Scripted(status=400, body={"message": "Not now", "code": 0})
    discord.script("GET", f"/channels/{general.id}/messages$", forbidden, forbidden)
    async with bot(tmp_path, discord, clock, look_back=timedelta(0)):
        await discord.until_sent(3)
        await discord.post(general, ann, f"{hello} And now?")
        await discord.until_sent(4)
        await discord.gateway.lose_session()
        await discord.until_sent(5)
    assert [sent["channel_id"] for sent in discord.sent[2:]] == [other.id, general.id, general.id]
    assert late(discord)[2:] == [True, False, True]


@pytest.mark.parametrize("case", [(HOUR, 50, 2), (HOUR, 70, 1), (timedelta(0), 1, 1)])
async def test_what_was_missed_long_ago_is_left(
    tmp_path: Path, discord: DiscordDouble, clock: Clock, case: tuple[timedelta, int, int]
) -> None:
    reach, away, answers = case
    ann, garden = discord.add_user("ann"), discord.add_guild("Garden")
    general = discord.add_channel(garden, "general")
    async with bot(tmp_path, discord, clock):
        await discord.post(general, ann, f"{discord.bot.mention} Hello.")
        await discord.until_sent(1)
    await discord.post(general, ann, f"{discord.bot.mention} Are you there?")
    clock.advance(minutes=away)
    async with bot(tmp_path, discord, clock, reach=reach) as (_, adapter):
        await adapter.catch_up()
    assert len(discord.sent) == answers


async def test_two_processes_that_begin_at_once_answer_what_was_missed_once(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, garden, hello = discord.add_user("ann"), discord.add_guild("Garden"), discord.bot.mention
    general = discord.add_channel(garden, "general")
    async with bot(tmp_path, discord, clock):
        await discord.post(general, ann, f"{hello} Hello.")
        await discord.until_sent(1)
    for number in range(5):
        await discord.post(general, ann, f"{hello} Are you there? {number}")
    async with AsyncExitStack() as both:
        started = [await both.enter_async_context(bot(tmp_path, discord, clock)) for _ in range(2)]
        for _, adapter in started:
            await adapter.catch_up()
        await discord.until_sent(6)
        for world, _ in started:
            await world.handler.idle()
    assert late(discord) == [False, *[True] * 5]


async def test_of_more_than_is_asked_for_the_latest_is_answered(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, garden, hello = discord.add_user("ann"), discord.add_guild("Garden"), discord.bot.mention
    general = discord.add_channel(garden, "general")
    async with bot(tmp_path, discord, clock):
        await discord.post(general, ann, f"{hello} Hello.")
        await discord.until_sent(1)
    await discord.post(general, ann, f"{hello} Is nobody there?")
    for _ in range(MOST_MESSAGES - 2):
        await discord.post(general, ann, "Good morning.")
    for question in ("Are you there?", "And now?"):
        asked = await discord.post(general, ann, f"{hello} {question}")
    async with bot(tmp_path, discord, clock):
        await discord.until_sent(3)
    assert str(discord.sent[-1]["message_reference"]["message_id"]) == asked
    assert late(discord) == [False, True, True]


async def test_a_channel_that_cannot_be_read_any_more_keeps_nothing_else_from_being_caught_up(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, garden = discord.add_user("ann"), discord.add_guild("Garden")
    general, gone = discord.add_channel(garden, "general"), discord.add_channel(garden, "gone")
    async with bot(tmp_path, discord, clock):
        for channel in (general, gone):
            await discord.post(channel, ann, f"{discord.bot.mention} Hello.")
        await discord.until_sent(2)
    await discord.post(general, ann, f"{discord.bot.mention} Are you there?")
    garden.channels.remove(gone)
    discord.forget(gone)
    async with bot(tmp_path, discord, clock):
        await discord.until_sent(3)
    assert discord.sent[2]["channel_id"] == general.id


async def test_people_on_every_shard_are_answered(tmp_path: Path, discord: DiscordDouble, clock: Clock) -> None:
    discord.shards, ann, guilds = 2, discord.add_user("ann"), []
    for name in ("One", "Two"):
        clock.advance(milliseconds=1)
        guilds.append(discord.add_guild(name))
    channels = [discord.add_channel(guild, "general") for guild in guilds]
    assert {(int(guild.id) >> 22) % 2 for guild in guilds} == {0, 1}
    async with bot(tmp_path, discord, clock, shards=None) as (_, adapter):
        assert adapter.state() | {"latency": None} == {"connected": True, "shards": 2, "latency": None}
        for channel in channels:
            await discord.post(channel, ann, f"{discord.bot.mention} Hello.")
        await discord.until_sent(2)
    assert {sent["channel_id"] for sent in discord.sent} == {channel.id for channel in channels}


async def facts_of(world: World, person: Member) -> list[str]:
    await world.system.settle()
    stores, mine = world.system.stores, f"discord:{person.id}"
    scopes = await world.system.privacy.scopes_of(mine)
    return [fact.text for scope in scopes for fact in await stores.facts.current(scope)]


async def test_what_was_edited_and_deleted_while_the_bot_was_stopped_is_followed_after_the_start(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, bob, garden = discord.add_user("ann"), discord.add_user("bob"), discord.add_guild("Garden")
    general, chat = discord.add_channel(garden, "general"), discord.add_dm()
    hello = discord.bot.mention
    async with bot(tmp_path, discord, clock) as (world, _):
        edited = await discord.post(chat, ann, "I live in Oslo.")
        deleted = await discord.post(general, bob, f"{hello} I live in Oslo.")
        await discord.post(general, ann, f"{hello} I live in Oslo.")
        await discord.until_sent(3)
        await world.handler.idle()
        assert await facts_of(world, ann) == ["User lives in Oslo"] * 2
        assert await facts_of(world, bob) == ["User lives in Oslo"]
    await discord.edit(chat, edited, "I live in Rome.")
    await discord.delete(general, deleted)
    async with bot(tmp_path, discord, clock) as (world, adapter):
        await adapter.catch_up()
        assert sorted(await facts_of(world, ann)) == ["User lives in Oslo", "User lives in Rome"]
        assert "Oslo" not in str(await world.system.privacy.export(f"discord:{bob.id}"))
    assert late(discord) == [False] * 3


async def test_of_many_messages_that_are_gone_a_few_alone_are_asked_for(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, chat = discord.add_user("ann"), discord.add_dm()
    async with bot(tmp_path, discord, clock):
        said = [await discord.post(chat, ann, f"My secret number {count} is 7.") for count in range(6)]
        await discord.until_sent(6)
    for message in said:
        await discord.delete(chat, message)
    # Of the first one, Discord would say that it is still there.
    discord.script(
        "GET", f"/messages/{said[0]}$", Scripted(status=403, body={"message": "Missing Access", "code": 50001})
    )
    async with bot(tmp_path, discord, clock) as (world, adapter):
        await adapter.catch_up()
        assert "secret number" not in str(await world.system.privacy.export(f"discord:{ann.id}"))


async def test_an_answer_deleted_while_the_session_was_lost_is_let_go_of(
    tmp_path: Path, discord: DiscordDouble, clock: Clock
) -> None:
    ann, chat = discord.add_user("ann"), discord.add_dm()
    async with bot(tmp_path, discord, clock) as (world, adapter):
        await discord.post(chat, ann, "I live in Oslo.")
        await discord.until_sent(1)
        await world.handler.idle()
        await discord.gateway.lose_session()
        await discord.delete(chat, discord.sent[0]["id"])
        await discord.until_connected()
        await adapter.catch_up()
        exported = str(await world.system.privacy.export(f"discord:{ann.id}"))
    assert "I live in Oslo." in exported
    assert "Nice." not in exported


@pytest.mark.parametrize("trouble", ["nothing is shown", "not allowed to look", "long ago", "switched off"])
async def test_what_the_platform_does_not_show_counts_as_kept(
    tmp_path: Path, discord: DiscordDouble, clock: Clock, trouble: str
) -> None:
    ann, chat = discord.add_user("ann"), discord.add_dm()
    async with bot(tmp_path, discord, clock):
        message = await discord.post(chat, ann, "I live in Oslo.")
        await discord.until_sent(1)
    if trouble == "nothing is shown":
        chat.messages.clear()
    else:
        await discord.delete(chat, message)
    forbidden = Scripted(status=403, body={"message": "Missing Access", "code": 50001})
    if trouble == "not allowed to look":
        discord.script("GET", f"/messages/{message}$", forbidden)
    if trouble == "long ago":
        clock.advance(hours=25)
    look_back = timedelta(0) if trouble == "switched off" else 24 * HOUR
    async with bot(tmp_path, discord, clock, look_back=look_back) as (world, adapter):
        await discord.until_connected()
        if trouble == "not allowed to look":
            await discord.until_scripts_are_used()
        else:
            await adapter.catch_up()
        assert await facts_of(world, ann) == ["User lives in Oslo"]


async def test_a_message_that_comes_before_what_was_missed_keeps_nothing_from_being_asked_for(
    tmp_path: Path, clock: Clock
) -> None:
    async with running(tmp_path, clock=clock) as world:
        last_seen = LastSeen(system=world.system, clock=clock, reach=HOUR)
        last_seen.caught_up("discord")
        last_seen.note("discord:1", "11", clock.now())
        last_seen.lost("discord")
        last_seen.note("discord:1", "13", clock.now())
        assert (await last_seen.on("discord"))["discord:1"].message == "11"
        last_seen.caught_up("discord")
        assert (await last_seen.on("discord"))["discord:1"].message == "13"
