"""What was said in a channel of Discord, asked for when somebody wants to know.

Invariant: what leaves here is messages that people said, oldest first, or a reason.
"""

from __future__ import annotations

import asyncio

import discord

from adapters.discord_errors import CONNECTION_ERRORS
from adapters.discord_message import channel_id, said_in
from bot.chat import Conversation, HistoryUnreadable, IncomingMessage

_PATIENCE = 15.0


async def recent_messages(
    client: discord.Client | None, conversation: Conversation, *, limit: int
) -> list[IncomingMessage]:
    """The latest messages of a channel, oldest first. Raises HistoryUnreadable with the reason."""
    if client is None or client.is_closed() or client.user is None:
        raise HistoryUnreadable("Discord is not connected just now.")
    channel = client.get_partial_messageable(channel_id(conversation))
    try:
        async with asyncio.timeout(_PATIENCE):
            found = [message async for message in channel.history(limit=limit)]
    except discord.Forbidden as error:
        raise HistoryUnreadable("I am not allowed to: I need Read Message History in this channel.") from error
    except (discord.DiscordException, TimeoutError, *CONNECTION_ERRORS) as error:
        raise HistoryUnreadable("Discord does not show this channel just now.") from error
    said = (said_in(message, client.user, conversation) for message in reversed(found))
    return [message for message in said if message is not None]
