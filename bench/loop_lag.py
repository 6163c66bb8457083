"""How late the event loop serves others, and percentiles."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

_HEARTBEAT = 0.005


class LoopLag:
    """How late a task that wants to wake every few milliseconds wakes."""

    def __init__(self) -> None:
        self.late: list[float] = []

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Watch the loop while the context is open."""
        task = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _beat(self) -> None:
        while True:
            began = perf_counter()
            await asyncio.sleep(_HEARTBEAT)
            self.late.append(max(0.0, perf_counter() - began - _HEARTBEAT) * 1_000)

    def figures(self) -> tuple[float, float]:
        """The 99th percentile and the worst, in milliseconds."""
        return percentile(self.late, 99), max(self.late)


def percentile(values: list[float], percent: int) -> float:
    """The percentile of some values, at least one."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
