"""What was said on Discord while the gateway's session was lost: those events never come again.

Invariant: only channels that are known to have something new are asked, for a bounded number of messages of a bounded
time; what comes out is in the order in which it was said.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import discord
import structlog

from adapters.discord_errors import CONNECTION_ERRORS
from adapters.discord_message import PLATFORM
from bot.last_seen import LastSeen
from memory.stores.last_seen import Seen

MOST_MESSAGES = 50
"""Of one channel."""
PATIENCE = 30.0
"""Seconds that one channel may take."""
UNREADABLE = (discord.DiscordException, TimeoutError, *CONNECTION_ERRORS)
"""What asking a channel raises when it says nothing."""

_log = structlog.get_logger(__name__)


async def missed_messages(client: discord.Client, last_seen: LastSeen) -> AsyncIterator[discord.Message]:
    """What was said since the last message that was seen in each channel, channel by channel.

    Raises:
        StorageError: the database cannot be asked.
    """
    known = await last_seen.on(PLATFORM)
    earliest = discord.utils.time_snowflake(last_seen.not_before)
    for channel in await _with_news(client, known):
        seen = int(known[f"{PLATFORM}:{channel.id}"].message)
        for message in await _after(channel, max(seen, earliest)):
            yield message


async def channel_of(client: discord.Client, key: str) -> discord.abc.MessageableChannel:
    """The channel of a conversation. Raises one of ``UNREADABLE``."""
    number = int(key.removeprefix(f"{PLATFORM}:"))
    # Of a direct chat, and of a thread that has gone to the archive, a new session is told nothing.
    channel = client.get_channel(number) or await client.fetch_channel(number)
    if not isinstance(channel, discord.abc.Messageable):
        raise discord.InvalidData("nothing is said in such a channel")
    return channel


async def _with_news(client: discord.Client, known: Mapping[str, Seen]) -> list[discord.abc.MessageableChannel]:
    """The channels in which something was said since."""
    found: list[discord.abc.MessageableChannel] = []
    for key, seen in known.items():
        try:
            async with asyncio.timeout(PATIENCE):
                channel = await channel_of(client, key)
        except UNREADABLE as error:
            _log.info("missed_channel_skipped", channel=key, error=type(error).__name__)
            continue
        last = getattr(channel, "last_message_id", None)
        if last is None or last > int(seen.message):
            found.append(channel)
    return found


async def _after(channel: discord.abc.MessageableChannel, message_id: int) -> list[discord.Message]:
    history = channel.history(after=discord.Object(message_id), limit=MOST_MESSAGES, oldest_first=True)
    try:
        async with asyncio.timeout(PATIENCE):
            return [message async for message in history]
    except UNREADABLE as error:
        _log.info("missed_channel_skipped", channel=channel.id, error=type(error).__name__)
        return []
