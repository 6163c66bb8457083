"""Async work on the database that runs from its beginning to its end in one thread.

A store's methods are coroutines that wait for nothing but the database. On the event loop each statement costs a trip
to the connection's thread and back, several times what SQLite takes for it; here a whole piece of work is one trip.

Invariant: work that would wait for anything else fails at once, and says so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any, TypeVar, cast

from sqlalchemy.engine import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncConnection

_Result = TypeVar("_Result")

_here = local()  # not a context variable: what a thread hands to the event loop would carry it along


class ThreadConnections:
    """A connection for each thread that asks for one, kept open: it still has in memory what it read or wrote last.

    Args:
        engine: opens them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._of_thread = local()
        self._opened: list[Connection] = []

    def of_this_thread(self) -> Connection:
        """The connection of the present thread. Raises what the engine does where it cannot be opened."""
        connection: Connection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = self._engine.connect()
            self._opened.append(connection)
        return connection

    def close(self) -> None:
        """Close all of them, once no thread uses its own any more."""
        for connection in self._opened:
            connection.close()
        self._engine.dispose()


class _Immediate:
    """A connection in the words of ``AsyncConnection``, of which nothing has to be waited for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def execute(self, statement: Any, parameters: Any = None) -> Any:
        """Run one statement."""
        return self._connection.execute(statement, parameters)

    async def scalar(self, statement: Any, parameters: Any = None) -> Any:
        """Run one statement; the first column of its first row, or None."""
        return self._connection.scalar(statement, parameters)


class _ByTrips:
    """A connection in the words of ``AsyncConnection``, of which each statement is a trip to a reader's thread."""

    def __init__(self, trip: Callable[[Callable[[Connection], Any]], Awaitable[Any]]) -> None:
        self._trip = trip

    async def execute(self, statement: Any, parameters: Any = None) -> Any:
        """Run one statement and fetch all of its rows."""
        fetched = await self._trip(lambda connection: connection.execute(statement, parameters).freeze())
        return fetched()

    async def run_sync(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Call something with a connection, in the thread."""
        return await self._trip(lambda connection: work(connection, *arguments))


def by_trips(trip: Callable[[Callable[[Connection], Any]], Awaitable[Any]]) -> AsyncConnection:
    """A connection for the stores' reading methods on the event loop.

    Args:
        trip: has something done with a connection in a thread.
    """
    return cast("AsyncConnection", _ByTrips(trip))


def immediate(connection: Connection) -> AsyncConnection:
    """A connection for the stores' methods, used in this thread."""
    return cast("AsyncConnection", _Immediate(connection))


def present_connection() -> Connection | None:
    """The connection of the work that runs in this thread; None on the event loop."""
    return getattr(_here, "connection", None)


@contextmanager
def working_on(connection: Connection) -> Iterator[None]:
    """Let whatever reads in this thread read on this connection, for as long as the context is open."""
    _here.connection = connection
    try:
        yield
    finally:
        _here.connection = None


def finished(work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """What the work returns.

    Raises:
        RuntimeError: it waits for something that only comes on the event loop.
    """
    coroutine = work()
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast("_Result", end.value)
    coroutine.close()
    raise RuntimeError("Work in a database thread may wait for the database alone.")
