"""Writes that wait for SQLite's one writer, and are then committed together.

A commit costs more than most writes, and so does the trip to the thread and back: what has come to wait while others
were written takes one of each. Under load every transaction so carries several writes, and alone each has its own.

Invariant: nobody hears that something is written before it is committed. A write that fails takes back what is its
own; what the others of its transaction wrote stands, unless SQLite itself gave up the whole transaction.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, cast

from sqlalchemy.engine import Connection

from memory.in_thread import ThreadConnections

_TOGETHER = 16  # writes at most: another process may wait for the end of the transaction

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Write(Generic[_Result]):
    """Something to be written.

    Attributes:
        work: writes it, in the thread.
        done: on the event loop, what ``work`` returned or raised.
    """

    work: Callable[[Connection], _Result]
    done: asyncio.Future[_Result]


class WritersTurn(asyncio.Lock):
    """Held by whoever writes; a task that has it is told so where it asks again, instead of waiting for itself."""

    def __init__(self) -> None:
        super().__init__()
        self._holder: asyncio.Task[Any] | None = None

    async def acquire(self) -> Literal[True]:
        """Wait for it. Raises RuntimeError where the present task has it."""
        self.refuse_holder()
        await super().acquire()
        self._holder = asyncio.current_task()
        return True

    def release(self) -> None:
        """Let the next one write."""
        self._holder = None
        super().release()

    def refuse_holder(self) -> None:
        """Raises RuntimeError where the present task has it."""
        if self._holder is not None and self._holder is asyncio.current_task():
            raise RuntimeError("A transaction is open in this task, and another would wait for its end.")


class WriteQueue:
    """Does writes in a thread of its own.

    Args:
        connections: where the thread's connection comes from.
        writing: held while something is written; whoever else writes holds it too.
    """

    def __init__(self, connections: ThreadConnections, writing: WritersTurn) -> None:
        self._connections = connections
        self._writing = writing
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._waiting: list[_Write[Any]] = []
        self._taking: asyncio.Task[None] | None = None
        self._closed = False

    def add(self, work: Callable[[Connection], _Result]) -> asyncio.Future[_Result]:
        """Have something written, after all that waits already.

        Args:
            work: is called in the thread within a write transaction.

        Returns:
            what ``work`` returned or raised, once it is committed or taken back. Not to be cancelled: see ``withdraw``.

        Raises:
            RuntimeError: the queue is closed, or the present task has a transaction open.
        """
        if self._closed:
            raise RuntimeError("The database is closed.")
        self._writing.refuse_holder()
        write = _Write(work=work, done=asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._taking is None or self._taking.done():
            self._begin()
        return write.done

    def withdraw(self, done: asyncio.Future[Any]) -> bool:
        """Take back a write that waits still; False for one that has begun."""
        still = [write for write in self._waiting if write.done is not done]
        waited = len(still) < len(self._waiting)
        self._waiting = still
        return waited

    async def close(self) -> None:
        """End the thread, after what waits."""
        self._closed = True
        while self._taking is not None and not self._taking.done():
            await asyncio.wait([self._taking])
        await asyncio.to_thread(self._thread.shutdown)

    def _begin(self) -> None:
        self._taking = asyncio.create_task(self._take(), name="writes")
        self._taking.add_done_callback(self._go_on)

    def _go_on(self, ended: asyncio.Task[None]) -> None:
        """Whoever cancels the task cancels nobody's write: a new one takes what waits still."""
        if self._waiting and self._taking is ended:
            self._begin()

    async def _take(self) -> None:
        while self._waiting:
            async with self._writing:
                together, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
                if not together:  # withdrawn meanwhile
                    return
                writing = asyncio.get_running_loop().run_in_executor(self._thread, self._written, together)
                writing.add_done_callback(partial(_tell, together))
                await asyncio.wait([writing])

    def _written(self, together: Sequence[_Write[Any]]) -> list[_Part]:
        connection = self._connections.of_this_thread()
        with connection.begin():
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            if len(together) == 1:  # what it raises takes back everything
                return [_Part(result=together[0].work(connection))]
            return [_part(connection, write) for write in together]


@dataclass(slots=True, kw_only=True)
class _Part:
    """What became of one write of several.

    Attributes:
        result: what its work returned.
        error: what it raised, and took back what it had written; None where it did not.
    """

    result: Any = None
    error: BaseException | None = None


class _Savepoint:
    """What is written while the context is open is taken back where it raises, and the error is noted.

    Args:
        driver: the connection, in a transaction.
        part: where to note the error.
    """

    def __init__(self, driver: sqlite3.Connection, part: _Part) -> None:
        self._driver = driver
        self._part = part

    def __enter__(self) -> None:
        self._driver.execute("SAVEPOINT part")

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> bool:
        if error is not None:
            if not self._driver.in_transaction:  # SQLite gave it up, as where the disk is full
                return False
            self._driver.execute("ROLLBACK TO part")
        self._driver.execute("RELEASE part")
        self._part.error = error
        return True


def _part(connection: Connection, write: _Write[Any]) -> _Part:
    part = _Part()
    with _Savepoint(cast("sqlite3.Connection", connection.connection.driver_connection), part):
        part.result = write.work(connection)
    return part


def _tell(together: Sequence[_Write[Any]], writing: asyncio.Future[list[_Part]]) -> None:
    if writing.cancelled():  # what became of it is not known, but nobody must wait for it
        for write in together:
            write.done.cancel()
        return
    failure = writing.exception()
    parts = [_Part(error=failure)] * len(together) if failure is not None else writing.result()
    for write, part in zip(together, parts, strict=True):
        if write.done.cancelled():  # whoever waited gave up more than once
            continue
        if part.error is None:
            write.done.set_result(part.result)
        else:
            write.done.set_exception(part.error)
