"""Shows in Slack that an answer is being written: a status in a thread, a reaction to the message elsewhere.

Invariant: a sign delays nothing, fails nothing, and is gone soon after the answer is there; what Slack refuses for
want of a permission is not asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_errors import TRANSPORT_ERRORS, error_code
from adapters.slack_events import Address, address_of
from bot.chat import Conversation
from memory.ports import Sleep

DELAY = 0.5
"""Seconds before a sign is shown; a faster answer needs none."""

_STATUS = "is writing …"
_REACTION = "eyes"
_PATIENCE = 2.0
_NOT_ALLOWED = frozenset({"missing_scope", "unknown_method", "not_allowed_token_type", "no_permission"})

_log = structlog.get_logger(__name__)


class SlackSigns:
    """The signs that are shown now.

    Args:
        client: speaks to Slack with the bot's token.
        sleep: waits for so many seconds.
    """

    def __init__(self, client: AsyncWebClient, *, sleep: Sleep) -> None:
        self._client = client
        self._sleep = sleep
        self._shown: set[asyncio.Task[None]] = set()
        self._refused: set[str] = set()

    @asynccontextmanager
    async def writing(self, conversation: Conversation, asked: str) -> AsyncIterator[None]:
        """Show a sign for as long as the context is open, in the background.

        Args:
            conversation: where the answer will be.
            asked: the ``ts`` of the message that is answered.
        """
        begun, over = asyncio.Event(), asyncio.Event()
        sign = asyncio.create_task(self._show(address_of(conversation), asked, begun, over))
        self._shown.add(sign)
        sign.add_done_callback(self._shown.discard)
        try:
            yield
        finally:
            over.set()
            if not begun.is_set():
                sign.cancel()

    async def stop(self) -> None:
        """Let the signs that are shown go, and wait a little for it."""
        if self._shown:
            _, late = await asyncio.wait(self._shown, timeout=_PATIENCE)
            for sign in late:
                sign.cancel()

    async def _show(self, address: Address, asked: str, begun: asyncio.Event, over: asyncio.Event) -> None:
        await self._sleep(DELAY)
        begun.set()
        if address.thread_ts is not None:
            await self._set_status(address.channel, address.thread_ts)
        elif await self._react("add", address.channel, asked):
            await over.wait()
            await self._react("remove", address.channel, asked)

    async def _set_status(self, channel: str, thread_ts: str) -> None:
        """Slack takes a status away itself, when the answer comes."""
        params = {"channel_id": channel, "thread_ts": thread_ts, "status": _STATUS}
        await self._is_taken("assistant.threads.setStatus", params)

    async def _react(self, how: str, channel: str, asked: str) -> bool:
        params = {"channel": channel, "timestamp": asked, "name": _REACTION}
        return await self._is_taken(f"reactions.{how}", params)

    async def _is_taken(self, method: str, params: Mapping[str, str]) -> bool:
        if method in self._refused:
            return False
        try:
            await self._client.api_call(method, json=dict(params))
        except SlackApiError as error:
            _log.info("slack_sign_refused", method=method, reason=error_code(error))
            if error_code(error) in _NOT_ALLOWED:
                self._refused.add(method)
            return False
        except TRANSPORT_ERRORS as error:
            _log.info("slack_sign_refused", method=method, reason=type(error).__name__)
            return False
        return True
