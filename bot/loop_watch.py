"""Watches whether the event loop comes late: then something blocks it, and every conversation waits.

Invariant: costs one short wake-up at each look, and says in the log when the loop stood still for long.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from bot.measures import Measures
from memory.ports import Sleep

_EVERY = 0.5
_LATELY = 120  # looks
_LONG = 1.0  # seconds; an interaction of Discord has to be acknowledged within three

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def watching_the_loop(
    measures: Measures, *, sleep: Sleep = asyncio.sleep, now: Callable[[], float] = time.monotonic
) -> AsyncIterator[None]:
    """Watch for as long as the context is open.

    Args:
        measures: where it is noted.
        sleep: waits for some seconds.
        now: seconds since any moment, never going back.
    """
    watch = asyncio.create_task(_watch(measures, sleep, now), name="loop watch")
    try:
        yield
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def _watch(measures: Measures, sleep: Sleep, now: Callable[[], float]) -> None:
    lately: deque[float] = deque(maxlen=_LATELY)
    while True:
        due = now() + _EVERY
        await sleep(_EVERY)
        late = max(0.0, now() - due)
        lately.append(late)
        measures.note_lag(late, worst=max(lately))
        if late > _LONG:
            _log.warning("event_loop_stood_still", seconds=round(late, 2))
