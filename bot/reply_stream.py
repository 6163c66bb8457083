"""An answer that grows where people see it, while the model is still writing it.

What a model writes before it calls a tool is shown as well; the text of the next call takes its place.

Invariant: showing never holds up the model and never fails a turn; between two shows lies at least the pace, and
more of it where the platform says so or does not take one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from bot import replies
from bot.chat import DeliveryFailed, DeliveryRefused
from memory.errors import MemorySystemError
from memory.policy.text import clean
from memory.ports import OnText, Sleep

Show = Callable[[str], Awaitable[None]]
"""Shows a text in place of what was shown before; raises DeliveryFailed or DeliveryRefused."""

PACE = 1.0
"""Seconds between two shows. Also before the first: an answer that is whole by then is sent in one piece."""
_LONGEST_PAUSE = 30.0
_LAST_SHOW = 5.0

_log = structlog.get_logger(__name__)


class ReplyStream:
    """One answer.

    Args:
        show: shows the answer so far.
        sleep: waits for so many seconds.
    """

    def __init__(self, show: Show, *, sleep: Sleep) -> None:
        self._show = show
        self._sleep = sleep
        self._pieces: list[str] = []
        self._changed = asyncio.Event()
        self._is_showing = False
        self._ended = False

    def begin_call(self) -> OnText:
        """A model call begins; what takes its text as it comes. Until some comes, that of the call before stays."""
        return _Call(self)

    def grow(self, pieces: list[str]) -> None:
        """Show these pieces from now on."""
        self._pieces = pieces
        self._changed.set()

    @property
    def has_begun(self) -> bool:
        """Whether there is something to show."""
        return bool(self._pieces)

    @asynccontextmanager
    async def growing(self) -> AsyncIterator[None]:
        """Show what comes, for as long as the context is open; when it closes, no show is under way any more."""
        showing = asyncio.create_task(self._keep_showing())
        try:
            yield
        finally:
            self._ended = True
            if self._is_showing:
                await asyncio.wait({showing}, timeout=_LAST_SHOW)
            showing.cancel()
            await asyncio.wait({showing})
        if not showing.cancelled():
            showing.result()

    async def _keep_showing(self) -> None:
        pause = PACE
        while not self._ended:
            await self._changed.wait()
            await self._sleep(pause)
            self._changed.clear()
            try:
                await self._show_now()
                pause = PACE
            except DeliveryFailed as error:
                pause = error.retry_after or min(2 * pause, _LONGEST_PAUSE)
                _log.info("draft_postponed", seconds=pause, error=str(error))
                self._changed.set()
            except (DeliveryRefused, MemorySystemError) as error:
                _log.info("draft_given_up", error=str(error))
                return

    async def _show_now(self) -> None:
        if not (text := clean("".join(self._pieces)).strip()):
            return
        self._is_showing = True
        try:
            await self._show(text)
        finally:
            self._is_showing = False


class _Call:
    """The listener of one model call; see ``bot.fair_slots.HearsWaiting``."""

    def __init__(self, stream: ReplyStream) -> None:
        self._stream = stream
        self._pieces: list[str] = []

    async def __call__(self, text: str) -> None:
        self._pieces.append(text)
        self._stream.grow(self._pieces)

    async def waits(self, position: int) -> None:
        if not self._stream.has_begun:
            self._stream.grow([replies.waiting(position)])
