"""The calls that are being answered on Slack, and how they end when the bot stops.

Invariant: whoever called and has no answer when the bot stops is told so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from http import HTTPStatus
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError

from adapters.slack_errors import TRANSPORT_ERRORS, error_code
from bot import replies

_STOP_SECONDS = 2.0
_TELL_SECONDS = 1.0

Tell = Callable[[str], Awaitable[None]]
"""Says a sentence to whoever called."""

_log = structlog.get_logger(__name__)


class Underway:
    """Calls under way."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[None], Tell] = {}
        self._stopping = False

    def begin(self, answering: Coroutine[Any, Any, None], tell: Tell) -> HTTPStatus:
        """Begin to answer a call, and return at once.

        Args:
            answering: answers it.
            tell: says why it has no answer, where the bot stops first.

        Returns:
            The status for Slack. While the bot stops nothing is begun, and Slack says by itself that it failed.
        """
        if self._stopping:
            answering.close()
            return HTTPStatus.SERVICE_UNAVAILABLE
        task = asyncio.create_task(answering)
        self._running[task] = tell
        task.add_done_callback(self._ended)
        return HTTPStatus.OK

    async def stop(self) -> None:
        """Begin no more calls, and end with those that run; one that takes too long is cancelled, and told so."""
        self._stopping = True
        if not self._running:
            return
        late = dict(self._running)
        await asyncio.wait(late, timeout=_STOP_SECONDS)
        late = {task: tell for task, tell in late.items() if not task.done()}
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        if late:
            telling = [asyncio.create_task(_told(tell)) for tell in late.values()]
            _, unheard = await asyncio.wait(telling, timeout=_TELL_SECONDS)
            for task in unheard:
                task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, SlackApiError):
            _log.warning("slack_command_unanswered", error=error_code(error))
        elif isinstance(error, TRANSPORT_ERRORS):
            _log.warning("slack_command_unanswered", error=type(error).__name__)
        elif error is not None:
            _log.error("slack_command_broke", exc_info=error)


async def _told(tell: Tell) -> None:
    try:
        await tell(replies.STOPPED)
    except (SlackApiError, *TRANSPORT_ERRORS) as error:
        _log.warning("slack_command_unanswered", error=type(error).__name__)
