"""A bound on how long a test may take, so that one that waits for ever fails and is named, and the others go on.

What waits may be a coroutine, a thread that nothing wakes, or the end of a test that has failed before; Python would
also wait for such a thread at its own end. No exception reaches all of these: the process says where it stands and ends
at once. pytest-xdist then counts the test as failed and goes on in a new process.

pytest-timeout and pytest's own ``faulthandler_timeout`` know no coroutines and watch a test no more once it has failed.
In a process of pytest-xdist the former writes where nobody reads, and the exception that it may raise instead leaves
the event loop waiting for the same thread.

Invariant: the bound holds for a whole test, with its fixtures, and for the end of the process after the last one.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import threading
from collections.abc import Generator, Iterator
from typing import Any

import pytest


class Bound:
    """The plugin. To be made when pytest is configured: it captures nothing then.

    Args:
        seconds: for one test, and for the end of the process.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._screen = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace")
        self._watch: threading.Timer | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch one test."""
        self._begin(item.nodeid)
        try:
            return (yield)
        finally:
            self.pytest_enter_pdb()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Watch the end, at which Python waits for the threads that a test has left."""
        self._begin("the end of the tests")
        try:
            return (yield)
        finally:
            if hasattr(session.config, "workerinput"):  # it waits for the others, and pytest-xdist ends it
                self.pytest_enter_pdb()

    def pytest_enter_pdb(self) -> None:
        """Watch no more: a person looks at the test."""
        if self._watch is not None:
            self._watch.cancel()

    def _begin(self, what: str) -> None:
        self._watch = threading.Timer(self._seconds, self._give_up, [what])
        self._watch.daemon = True
        self._watch.start()

    def _give_up(self, what: str) -> None:
        print(f"\nNot over after {self._seconds:g} s: {what}", file=self._screen)
        for task in [found for found in gc.get_objects() if isinstance(found, asyncio.Task) and not found.done()]:
            print(f"Task {task.get_name()} waits in", *_where(task), sep="\n  ", file=self._screen)
        self._screen.flush()
        faulthandler.dump_traceback(self._screen)
        os._exit(1)


def _where(task: asyncio.Task[Any]) -> Iterator[str]:
    """The lines in which a task waits, from the outermost coroutine to the innermost."""
    waiting: Any = task.get_coro()
    while waiting is not None:
        frame = getattr(waiting, "cr_frame", None) or getattr(waiting, "gi_frame", None)
        if frame is not None:
            yield f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
        waiting = getattr(waiting, "cr_await", None) or getattr(waiting, "gi_yieldfrom", None)
