"""Runs work in order for each key, and for different keys side by side.

Invariant: two pieces of work of one key never run at the same time, and run in the order they were submitted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from functools import partial

Work = Callable[[], Awaitable[None]]


class ScopeQueues:
    """One queue for each key with work waiting; an idle key costs nothing."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[Work]] = {}
        self._workers: dict[Hashable, asyncio.Task[None]] = {}
        self._open = asyncio.Event()
        self._draining = False

    def open(self) -> None:
        """Let the work begin; until then it only queues up."""
        self._open.set()

    def submit(self, key: Hashable, work: Work) -> None:
        """Queue work behind everything submitted for the key before. The work must not raise."""
        self._waiting.setdefault(key, deque()).append(work)
        if key not in self._workers:
            self._start(key)

    async def drain(self, timeout: float) -> bool:
        """Start nothing more, and wait for what is running.

        Args:
            timeout: longest wait, in seconds; what runs longer is cancelled.

        Returns:
            Whether everything that was running came to its end.
        """
        self._draining = True
        self._open.set()
        running = list(self._workers.values())
        if not running:
            return True
        _, late = await asyncio.wait(running, timeout=timeout)
        for task in late:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return not late

    async def idle(self) -> None:
        """Wait until no work is left."""
        while self._workers:
            await asyncio.wait(list(self._workers.values()))

    def _start(self, key: Hashable) -> None:
        self._workers[key] = worker = asyncio.create_task(self._work_through(key))
        worker.add_done_callback(partial(self._forget, key))

    async def _work_through(self, key: Hashable) -> None:
        queue = self._waiting[key]
        try:
            await self._open.wait()
            while queue and not self._draining:
                await queue.popleft()()
        finally:
            if queue and not self._draining:
                self._start(key)  # the work raised, against its word; what waits behind it still runs
            else:
                del self._waiting[key], self._workers[key]

    def _forget(self, key: Hashable, ended: asyncio.Task[None]) -> None:
        if self._workers.get(key) is ended:  # cancelled before it could begin, and so before it could clear up
            del self._waiting[key], self._workers[key]
