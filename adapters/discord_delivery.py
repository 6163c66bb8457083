"""Answers on their way to Discord: they grow by edits, and each part is posted once.

Invariant: of one answer no part appears twice, and what appears is the answer as it was sent last. A repeated post
carries the nonce of the first, by which Discord knows it; after a crash the channel is looked through for what is
there.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

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
_LONG_LOOKUP_LIMIT = 1_000
_REFUSALS = frozenset({400, 403, 404})
_STILL_WRITING = " …"
_MOST_UNFINISHED = 1_000

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A message that shows a part of an answer; ``text`` is None where it is not known what it shows."""

    id: int
    text: str | None


class DiscordDelivery:
    """Posts answers, looks up whether they are there, and shows that one is being written.

    Args:
        client: the client as it is now; None before there is one.
    """

    def __init__(self, client: Callable[[], discord.Client | None]) -> None:
        self._client = client
        self._shown: dict[str, list[_Shown]] = {}  # by delivery key, of the answers that are not finished

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Show what there is of an answer so far; the ids of the messages that show it.

        Raises:
            DeliveryFailed: Discord did not take all of it; another ``draft`` or ``send`` goes on from there.
            DeliveryRefused: the channel is gone or closed to the bot, or somebody deleted what was shown.
        """
        parts = split(message.text + _STILL_WRITING, MESSAGE_LIMIT)
        return tuple(str(shown.id) for shown in await self._show(message, parts))

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Deliver an answer in parts of at most 2,000 characters, the first as a reply; the ids of the messages.

        Raises:
            DeliveryFailed: Discord did not take a part; another ``send`` goes on from there.
            DeliveryRefused: the channel is gone or closed to the bot.
        """
        parts = split(message.whole_text, MESSAGE_LIMIT)
        try:
            shown = await self._show(message, parts)
            while len(shown) > len(parts):  # the draft was longer
                await self._attempted(self._message(message, shown[-1].id).delete)
                shown.pop()
        except DeliveryRefused:
            self._shown.pop(message.delivery_key, None)
            raise
        self._shown.pop(message.delivery_key, None)
        return tuple(str(part.id) for part in shown)

    async def _show(self, message: OutgoingMessage, parts: list[str]) -> list[_Shown]:
        """Bring the messages that show the answer to these parts; a message too many is left as it is."""
        shown = self._shown_of(message)
        for index, text in enumerate(parts):
            if index == len(shown):
                shown.append(await self._post(message, text, index))
            if shown[index].text != text:
                await self._edit(message, shown[index].id, text)
                shown[index] = _Shown(id=shown[index].id, text=text)
        return shown

    def _shown_of(self, message: OutgoingMessage) -> list[_Shown]:
        if message.delivery_key not in self._shown:
            self._remember(message, [_Shown(id=int(there), text=None) for there in message.draft or ()])
        return self._shown[message.delivery_key]

    def _remember(self, message: OutgoingMessage, shown: list[_Shown]) -> None:
        self._shown[message.delivery_key] = shown
        if len(self._shown) > _MOST_UNFINISHED:
            del self._shown[next(iter(self._shown))]

    async def _post(self, message: OutgoingMessage, text: str, index: int) -> _Shown:
        channel = self._channel(message.conversation)
        reference = None
        if index == 0:
            reference = discord.MessageReference(
                message_id=int(message.in_reply_to), channel_id=channel.id, fail_if_not_exists=False
            )
        # The same nonce with every attempt: Discord answers a repeated one with the message it has.
        nonce = _nonce(message.delivery_key, index)
        post = await self._attempted(lambda: channel.send(text, nonce=nonce, reference=reference))  # type: ignore[arg-type]  # None is its default
        return _Shown(id=post.id, text=text if post.content.strip() == text.strip() else post.content)

    async def _edit(self, message: OutgoingMessage, message_id: int, text: str) -> None:
        shown = self._message(message, message_id)
        await self._attempted(lambda: shown.edit(content=text))

    async def _attempted(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """What Discord answers to a call that may be repeated; its errors in the words of the seam."""
        delays = iter(_RETRY_DELAYS)
        while True:
            try:
                return await call()
            except discord.HTTPException as error:
                if error.status in _REFUSALS:
                    raise DeliveryRefused(f"Discord refuses the message: {error.status}/{error.code}") from error
                raise DeliveryFailed(f"Discord did not take the message: {error.status}/{error.code}") from error
            except discord.RateLimited as error:
                raise DeliveryFailed("Discord limits how often we may write.", retry_after=error.retry_after) from error
            except discord.DiscordException as error:
                raise DeliveryFailed(f"Discord did not take the message: {error}") from error
            except CONNECTION_ERRORS as error:
                delay = next(delays, None)
                if delay is None or self._connected() is None:
                    raise DeliveryFailed(f"The connection to Discord broke: {type(error).__name__}") from error
                _log.info("discord_call_repeated", error=type(error).__name__)
                await asyncio.sleep(delay)

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        """Look for the answer among the bot's messages after the one it answers: the ids of those that show it.

        Where parts of it or of a draft of it are there, the next ``send`` of the answer goes on with these.

        Raises:
            DeliveryFailed: Discord cannot be asked just now.
        """
        parts = split(message.whole_text, MESSAGE_LIMIT)
        since: discord.Object | datetime = discord.Object(int(message.in_reply_to))
        limit = _LOOKUP_LIMIT
        if message.tried_since is not None:  # much may have been said since, while the bot was not there
            since, limit = message.tried_since, _LONG_LOOKUP_LIMIT
        there: list[_Shown] = []
        try:
            async for found in self._channel(message.conversation).history(after=since, limit=limit, oldest_first=True):
                if self._is_part(found, message, parts, len(there)):
                    there.append(_Shown(id=found.id, text=found.content))
        except (discord.DiscordException, *CONNECTION_ERRORS) as error:
            if not (isinstance(error, discord.HTTPException) and error.status in _REFUSALS):
                raise DeliveryFailed(f"Discord does not show the channel now: {type(error).__name__}") from error
            _log.warning("discord_lookup_refused", conversation=message.conversation.key, status=error.status)
            return None if message.draft else ()  # the messages of a draft can be edited unseen
        self._remember(message, there)
        is_whole = [(shown.text or "").strip() for shown in there] == [part.strip() for part in parts]
        return tuple(str(shown.id) for shown in there) if is_whole else None

    def _is_part(self, found: discord.Message, message: OutgoingMessage, parts: list[str], index: int) -> bool:
        client = self._client()
        if client is None or found.author != client.user:
            return False
        if str(found.id) in (message.draft or ()) or str(found.nonce) == _nonce(message.delivery_key, index):
            return True
        is_same = index < len(parts) and found.content.strip() == parts[index].strip()
        if found.reference is not None:
            is_ours = index == 0 and str(found.reference.message_id) == message.in_reply_to
            # The same message may have been answered before something is said to it again.
            return is_ours and (message.tried_since is None or is_same)
        return is_same

    @asynccontextmanager
    async def typing(self, conversation: Conversation, asked: str) -> AsyncIterator[None]:
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

    def _message(self, message: OutgoingMessage, message_id: int) -> discord.PartialMessage:
        return self._channel(message.conversation).get_partial_message(message_id)

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
