"""Answers on their way to Discord, each part posted once.

Invariant: of one answer no part appears twice. A repeated post carries the nonce of the first, by which Discord knows
it; after a crash the channel is looked through for what is there.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import discord
import structlog

from adapters.discord_errors import CONNECTION_ERRORS
from adapters.discord_message import MESSAGE_LIMIT, channel_id
from adapters.text import split
from bot.chat import Conversation, DeliveryFailed, DeliveryRefused, OutgoingMessage

_log = structlog.get_logger(__name__)

_NONCE_LENGTH = 25
_RETRY_DELAYS = (0.1, 1.0, 4.0)
_TYPING_INTERVAL = 8.0
_LOOKUP_LIMIT = 100
_REFUSALS = frozenset({400, 403, 404})


class DiscordDelivery:
    """Posts answers, looks up whether they are there, and shows that one is being written.

    Args:
        client: the client as it is now; None before there is one.
    """

    def __init__(self, client: Callable[[], discord.Client | None]) -> None:
        self._client = client
        self._parts_there: dict[str, int] = {}

    async def send(self, message: OutgoingMessage) -> None:
        """Deliver an answer in parts of at most 2,000 characters, the first as a reply.

        Raises:
            DeliveryFailed: Discord did not take a part; another ``send`` goes on from there.
            DeliveryRefused: the channel is gone or closed to the bot.
        """
        parts = split(message.whole_text, MESSAGE_LIMIT)
        first = self._parts_there.pop(message.delivery_key, 0)
        for index in range(first, len(parts)):
            try:
                await self._send_part(message, parts[index], index)
            except DeliveryFailed:
                self._parts_there[message.delivery_key] = index
                raise

    async def _send_part(self, message: OutgoingMessage, text: str, index: int) -> None:
        channel = self._channel(message.conversation)
        reference = None
        if index == 0:
            reference = discord.MessageReference(
                message_id=int(message.in_reply_to), channel_id=channel.id, fail_if_not_exists=False
            )
        for delay in (*_RETRY_DELAYS, None):
            try:
                # The same nonce with every attempt: Discord answers a repeated one with the message it has.
                await channel.send(text, nonce=_nonce(message.delivery_key, index), reference=reference)  # type: ignore[arg-type]  # None is its default
                return
            except discord.HTTPException as error:
                if error.status in _REFUSALS:
                    raise DeliveryRefused(f"Discord refuses the message: {error.status}/{error.code}") from error
                raise DeliveryFailed(f"Discord did not take the message: {error.status}/{error.code}") from error
            except discord.DiscordException as error:
                raise DeliveryFailed(f"Discord did not take the message: {error}") from error
            except CONNECTION_ERRORS as error:
                if delay is None or self._connected() is None:
                    raise DeliveryFailed(f"The connection to Discord broke: {type(error).__name__}") from error
                _log.info("discord_send_repeated", error=type(error).__name__, part=index)
                await asyncio.sleep(delay)

    async def was_delivered(self, message: OutgoingMessage) -> bool:
        """Look for the answer among the bot's messages after the one it answers.

        Where only its first parts are there, the next ``send`` of the same answer goes on with the others.

        Raises:
            DeliveryFailed: Discord cannot be asked just now.
        """
        parts = split(message.whole_text, MESSAGE_LIMIT)
        asked = discord.Object(int(message.in_reply_to))
        there = 0
        try:
            async for found in self._channel(message.conversation).history(
                after=asked, limit=_LOOKUP_LIMIT, oldest_first=True
            ):
                if there < len(parts) and self._is_part(found, message, parts[there], there):
                    there += 1
        except (discord.DiscordException, *CONNECTION_ERRORS) as error:
            if not (isinstance(error, discord.HTTPException) and error.status in _REFUSALS):
                raise DeliveryFailed(f"Discord does not show the channel now: {type(error).__name__}") from error
            _log.warning("discord_lookup_refused", conversation=message.conversation.key, status=error.status)
            return True
        if there < len(parts):
            self._parts_there[message.delivery_key] = there
        return there == len(parts)

    def _is_part(self, found: discord.Message, message: OutgoingMessage, text: str, index: int) -> bool:
        client = self._client()
        if client is None or found.author != client.user:
            return False
        if str(found.nonce) == _nonce(message.delivery_key, index):
            return True
        if found.reference is not None:
            return index == 0 and str(found.reference.message_id) == message.in_reply_to
        return found.content.strip() == text.strip()

    @asynccontextmanager
    async def typing(self, conversation: Conversation) -> AsyncIterator[None]:
        """Show that an answer is being written, from the background, so that it delays nothing."""
        indicator = asyncio.create_task(self._keep_typing(conversation))
        try:
            yield
        finally:
            indicator.cancel()
            await asyncio.wait({indicator})

    async def _keep_typing(self, conversation: Conversation) -> None:
        with suppress(discord.DiscordException, DeliveryFailed, *CONNECTION_ERRORS):
            while True:
                await self._channel(conversation).typing()
                await asyncio.sleep(_TYPING_INTERVAL)

    def _connected(self) -> discord.Client | None:
        client = self._client()
        return None if client is None or client.is_closed() else client

    def _channel(self, conversation: Conversation) -> discord.PartialMessageable:
        """The channel by its id alone, since after a restart a direct chat is in no cache."""
        client = self._connected()
        if client is None:
            raise DeliveryFailed("Discord is not connected")
        return client.get_partial_messageable(channel_id(conversation))


def _nonce(delivery_key: str, index: int) -> str:
    return hashlib.sha256(f"{delivery_key}/{index}".encode()).hexdigest()[:_NONCE_LENGTH]
