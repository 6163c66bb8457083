"""What was said while the gateway's session was lost is answered afterwards, once, and marked as late."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from adapters.discord_adapter import DiscordAdapter
from bot.last_seen import LastSeen
from tests.doubles.discord import DiscordDouble
from tests.doubles.discord_gateway import TOKEN
from tests.fakes import START, FakeClock, ScriptedModel
from tests.world import World, running

LATE = "(This is late: I was away when you wrote.)"
HOUR = timedelta(hours=1)


class Clock(FakeClock):
    """Moves on a little with everything that happens, as Discord's ids do."""

    def now(self) -> datetime:
        self.time += timedelta(milliseconds=10)
        return self.time


@asynccontextmanager
async def bot(
    folder: Path, discord: DiscordDouble, clock: FakeClock, *, reach: timedelta = HOUR, shards: int | None = 1
) -> AsyncIterator[tuple[World, DiscordAdapter]]:
    async with running(folder, clock=clock, model=ScriptedModel(default="Nice.")) as world:
        last_seen = LastSeen(system=world.system, clock=clock, reach=reach)
        adapter = DiscordAdapter(
            token=TOKEN,
            on_message=world.following.accept,
            is_for_us=world.listener.is_for_us,
            api_url=discord.api_url,
            gateway_url=discord.gateway_url,
            guild_ready_timeout=0.05,
            last_seen=last_seen,
            shards=shards,
        )
        world.handler.attach({"discord": adapter})
        await adapter.start()
        try:
            yield world, adapter
            await world.handler.idle()
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
