"""Files of Discord. Their addresses are signed and expire, so each is asked for when it is read, and never kept.

Invariant: what leaves here is bytes or a reason.
"""

from __future__ import annotations

import asyncio

import discord

from adapters.discord_errors import CONNECTION_ERRORS
from adapters.discord_message import channel_id
from bot.chat import AttachedFile, FileUnreadable, IncomingMessage

_PATIENCE = 15.0


async def fetch_file(
    client: discord.Client | None, message: IncomingMessage, file: AttachedFile, *, limit: int
) -> bytes:
    """A file of a message. Raises FileUnreadable with the reason."""
    if client is None or client.is_closed():
        raise FileUnreadable("Discord is not connected")
    channel = client.get_partial_messageable(channel_id(message.conversation))
    try:
        async with asyncio.timeout(_PATIENCE):
            there = await channel.get_partial_message(int(message.id)).fetch()
            found = next((one for one in there.attachments if str(one.id) == file.id), None)
            if found is None:
                raise FileUnreadable("it was removed")
            if found.size > limit:
                raise FileUnreadable("it is larger than I can read")
            return await found.read()
    except discord.NotFound as error:
        raise FileUnreadable("it was deleted") from error
    except discord.Forbidden as error:
        raise FileUnreadable("I am not allowed to read it; I need Read Message History in this channel") from error
    except (discord.DiscordException, TimeoutError, *CONNECTION_ERRORS) as error:
        raise FileUnreadable("Discord did not send it in time") from error
