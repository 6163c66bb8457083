"""What was edited and deleted on Discord while nobody told: the latest messages of a channel beside what is kept of it.

Invariant: messages count as deleted only once Discord says of some of them alone that they are not there; a channel
that shows nothing says nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

import discord
import structlog

from adapters.discord_catching_up import PATIENCE, UNREADABLE, channel_of
from adapters.discord_changes import deletion_of, edit_of
from adapters.discord_message import PLATFORM
from bot.changes import MessageEdited, MessagesDeleted
from bot.look_back import LookBack

_PAGE = 100  # messages, as many as Discord shows at once
_SAMPLE = 5
_UNKNOWN_MESSAGE = 10_008

_log = structlog.get_logger(__name__)


async def untold_changes(
    client: discord.Client, me: discord.ClientUser, look_back: LookBack
) -> AsyncIterator[MessageEdited | MessagesDeleted]:
    """What was changed in the conversations that went on lately, channel by channel.

    Raises:
        StorageError: the database cannot be asked.
    """
    for key in await look_back.conversations(PLATFORM):
        kept = await look_back.posts(key)
        if not kept:
            continue
        try:
            async with asyncio.timeout(PATIENCE):
                changes = await _changes_in(await channel_of(client, key), kept, me)
        except UNREADABLE as error:
            _log.info("look_back_skipped", channel=key, error=type(error).__name__)
            continue
        for change in changes:
            yield change


async def _changes_in(
    channel: discord.abc.MessageableChannel, kept: Mapping[str, datetime | None], me: discord.ClientUser
) -> list[MessageEdited | MessagesDeleted]:
    """The edits and deletions among the channel's latest messages. Raises one of ``UNREADABLE``."""
    shown = [message async for message in channel.history(limit=_PAGE)]
    if not shown:
        return []
    earliest = shown[-1].id if len(shown) == _PAGE else 0
    here = {message.id for message in shown}
    missing = [int(post) for post in kept if int(post) >= earliest and int(post) not in here]
    gone = await _gone(channel, missing)
    found: list[MessageEdited | MessagesDeleted] = [deletion_of(channel.id, gone)] if gone else []
    for message in reversed(shown):
        known = kept.get(str(message.id))
        is_news = message.edited_at is not None and (known is None or known < message.edited_at)
        if is_news and str(message.id) in kept and (edit := edit_of(message, me)) is not None:
            found.append(edit)
    return found


async def _gone(channel: discord.abc.MessageableChannel, missing: Sequence[int]) -> Sequence[int]:
    """Those that are gone: all of them, where all of a sample are."""
    sample = missing[:_SAMPLE]
    gone = [post for post in sample if await _is_gone(channel, post)]
    return missing if len(gone) == len(sample) else gone


async def _is_gone(channel: discord.abc.MessageableChannel, message_id: int) -> bool:
    try:
        await channel.fetch_message(message_id)
    except discord.NotFound as error:
        return error.code == _UNKNOWN_MESSAGE
    return False
