"""What was said on Discord while the gateway's session was lost: those events never come again.

Each server tells with its channels and open threads which message stands last in them; so also one in which the bot
has never heard anything is found. A direct chat is told by nobody: it is found if something was heard in it before.

Invariant: only channels that are known to have something new are asked, for a bounded number of messages of a bounded
time; what comes out is in the order in which it was said, channel by channel.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import discord
import structlog

from adapters.discord_errors import CONNECTION_ERRORS
from adapters.discord_message import PLATFORM
from bot.last_seen import LastSeen
from memory.stores.last_seen import Seen

MOST_MESSAGES = 200
"""Of one channel, the latest."""
PATIENCE = 30.0
"""Seconds that one channel may take."""
UNREADABLE = (discord.DiscordException, TimeoutError, *CONNECTION_ERRORS)
"""What asking a channel raises when it says nothing."""

_REFUSED = (discord.Forbidden, discord.NotFound, discord.InvalidData)  # the same tomorrow
_TRIES = 2
_MOST_LOOKED_UP = 200  # channels of which no server told, the latest first
_MOST_NEW = 200  # channels in which nothing was heard before, the latest first

_ServerChannel = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread

_log = structlog.get_logger(__name__)


class ChannelsLeft(Exception):
    """Some channels or servers could not be asked just now; what was said in them is still to be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """A channel in which something was said after the message of an id, or the moment that this stands for."""

    channel: discord.abc.MessageableChannel
    after: int


async def missed_messages(client: discord.Client, last_seen: LastSeen) -> AsyncIterator[discord.Message]:
    """What was said since the last message that was seen in each channel, channel by channel.

    Raises:
        ChannelsLeft: after all that was found.
        StorageError: the database cannot be asked.
    """
    known, absent_since = await last_seen.on(PLATFORM), await last_seen.absent_since(PLATFORM)
    news, left = await _with_news(client, known)
    if absent_since is not None:
        news += _never_heard(client, known, absent_since)
        left += sum(guild.unavailable for guild in client.guilds)  # in an outage: nothing is known of them
    earliest = discord.utils.time_snowflake(last_seen.not_before)
    for found in news:
        messages = await _after(found.channel, max(found.after, earliest))
        left += messages is None
        for message in messages or ():
            yield message
    if left:
        raise ChannelsLeft(f"{left} channels or servers could not be asked.")


async def channel_of(client: discord.Client, key: str) -> discord.abc.MessageableChannel:
    """The channel of a conversation. Raises one of ``UNREADABLE``."""
    number = int(key.removeprefix(f"{PLATFORM}:"))
    # Of a direct chat, and of a thread that has gone to the archive, a new session is told nothing.
    channel = client.get_channel(number) or await client.fetch_channel(number)
    if not isinstance(channel, discord.abc.Messageable):
        raise discord.InvalidData("nothing is said in such a channel")
    return channel


async def _with_news(client: discord.Client, known: Mapping[str, Seen]) -> tuple[list[_News], int]:
    """The channels in which something was said since, and how many could not be asked."""
    found: list[_News] = []
    left = looked_up = 0
    for key, seen in known.items():
        if client.get_channel(_number(key)) is None:
            looked_up += 1
            if looked_up > _MOST_LOOKED_UP:
                continue
        try:
            async with asyncio.timeout(PATIENCE):
                channel = await channel_of(client, key)
        except UNREADABLE as error:
            left += _skipped(key, error)
            continue
        last = getattr(channel, "last_message_id", None)
        if last is None or last > int(seen.message):
            found.append(_News(channel=channel, after=int(seen.message)))
    return found, left


def _never_heard(client: discord.Client, known: Collection[str], absent_since: datetime) -> list[_News]:
    """The channels and threads in which something was said since the bot was there last, and never before."""
    heard = {_number(key) for key in known}
    new: dict[int, _News] = {}
    for guild in client.guilds:
        if guild.unavailable:
            continue
        since = max(absent_since, guild.me.joined_at or absent_since)  # a server may have taken it in meanwhile
        after = discord.utils.time_snowflake(since)
        for channel in _readable(guild):
            last = channel.last_message_id or 0
            if channel.id not in heard and last > after:
                new[last] = _News(channel=channel, after=after)
    return [new[last] for last in sorted(new, reverse=True)[:_MOST_NEW]]


def _readable(guild: discord.Guild) -> Iterator[_ServerChannel]:
    """Where the bot may look back; to be refused many times counts against it."""
    spoken_in: list[_ServerChannel] = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels]
    for channel in [*spoken_in, *guild.threads]:
        parent = channel.parent if isinstance(channel, discord.Thread) else channel
        if parent is None:
            continue
        allowed = channel.permissions_for(guild.me)
        if allowed.view_channel and allowed.read_message_history:
            yield channel


async def _after(channel: discord.abc.MessageableChannel, message_id: int) -> list[discord.Message] | None:
    """The latest of what was said in a channel after a message, in order; None where it cannot be asked just now."""
    for _ in range(_TRIES):
        history = channel.history(after=discord.Object(message_id), limit=MOST_MESSAGES, oldest_first=False)
        try:
            async with asyncio.timeout(PATIENCE):
                return [message async for message in history][::-1]
        except UNREADABLE as error:
            if not _skipped(f"{PLATFORM}:{channel.id}", error):
                return []
    return None


def _skipped(key: str, error: BaseException) -> bool:
    """Tell of a channel that says nothing; whether it may say something later."""
    _log.info("missed_channel_skipped", channel=key, error=type(error).__name__)
    return not isinstance(error, _REFUSED)


def _number(key: str) -> int:
    return int(key.removeprefix(f"{PLATFORM}:"))
