"""SQLite's driver: aiosqlite, with one trip to the connection's thread for each statement.

aiosqlite goes there to open a cursor, to execute, to fetch and to close, and SQLAlchemy rolls back after every read;
each trip takes as long as a small query.

Invariant: only a connection that is known to be in no transaction is spared a commit or rollback. While a statement
is under way, or was cancelled, it is not known.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any
from weakref import WeakSet

import aiosqlite

_LONGEST_END = 1.0  # seconds; a statement may still wait for another process
_LONGEST_WAIT = 30.0  # seconds; for other processes that open the database
_PAUSE = 0.01  # seconds

_Execute = Callable[[sqlite3.Cursor], object]

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY_CODE = 0xFF  # the bits above it tell more of the same error


def tells_of_damage(error: BaseException | None) -> bool:
    """Whether an error says that the file itself is damaged, or no database at all."""
    code = getattr(error, "sqlite_errorcode", None)  # an error of the module itself, and not of SQLite, has none
    return code is not None and code & _PRIMARY_CODE in _DAMAGED


class Connector:
    """Opens the connections of one database.

    Args:
        path: the database file.
        options: as ``sqlite3.connect`` takes them.
    """

    def __init__(self, path: str, **options: Any) -> None:
        self._open = partial(sqlite3.connect, path, **options)
        self._stopping: WeakSet[Thread] = WeakSet()

    def write_ahead(self) -> None:
        """Have the database keep a write-ahead log from now on, as one that is a file does. To be called in a thread.

        Of two processes that ask for this at once SQLite refuses one, instead of letting it wait; that one asks again.

        Raises:
            sqlite3.Error: the database cannot be opened or written.
        """
        until = time.monotonic() + _LONGEST_WAIT
        while True:
            try:
                with closing(self._open()) as connection:
                    connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                code = getattr(error, "sqlite_errorcode", 0)
                if code & _PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(_PAUSE)

    async def connect(self) -> Connection:
        """An open connection, for SQLAlchemy's ``async_creator``. Raises sqlite3.Error where it cannot be opened."""
        connection = Connection(self._open, self._stopping)
        await connection
        return connection

    def open(self) -> sqlite3.Connection:
        """An open connection that any thread may use, one at a time. Raises sqlite3.Error where it cannot be opened."""
        return self._open(check_same_thread=False)

    async def settle(self) -> None:
        """Wait for the threads of connections that were given up: they speak to the event loop as they end."""
        for thread in tuple(self._stopping):
            await asyncio.to_thread(thread.join, _LONGEST_END)


class Connection(aiosqlite.Connection):
    """A connection with a thread of its own.

    Args:
        connector: opens the connection, in that thread.
        stopping: where to note the thread once it is told to end.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection], stopping: WeakSet[Thread]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        self._thread.daemon = True  # a connection that nobody closed must not keep the process from ending
        self._stopping = stopping
        self._may_be_in_transaction = False

    def stop(self) -> asyncio.Future[Any] | None:
        """Close the connection and end its thread, after what it has still to do."""
        self._stopping.add(self._thread)
        return super().stop()

    def cursor(self) -> Cursor:  # type: ignore[override]  # SQLAlchemy enters what this returns
        """A cursor; it takes no trip until it executes."""
        return Cursor(self)

    async def commit(self) -> None:
        """Commit, where there may be a transaction."""
        if self._may_be_in_transaction:
            await super().commit()
            self._may_be_in_transaction = False

    async def rollback(self) -> None:
        """Roll back, where there may be a transaction."""
        if self._may_be_in_transaction:
            await super().rollback()
            self._may_be_in_transaction = False

    async def run(self, execute: _Execute) -> Outcome:
        """Execute something on a new cursor, and fetch all of its rows."""
        self._may_be_in_transaction = True
        outcome: Outcome = await self._execute(_whole, self._conn, execute)  # type: ignore[no-untyped-call]  # aiosqlite's own trip
        self._may_be_in_transaction = outcome.in_transaction
        return outcome


class Cursor:
    """What SQLAlchemy's asyncio adapter wants of a cursor.

    All rows are fetched with the statement, so nothing can be streamed: a large table is read in pages.
    """

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._outcome = _NOTHING

    async def __aenter__(self) -> Cursor:
        return self

    @property
    def description(self) -> Any:
        """The columns of the rows; None after a statement without rows."""
        return self._outcome.description

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed; -1 where that makes no sense."""
        return self._outcome.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The id of the row inserted last."""
        return self._outcome.lastrowid

    async def execute(self, operation: str, parameters: Any = ()) -> None:
        """Run one statement."""
        self._outcome = await self._connection.run(lambda cursor: cursor.execute(operation, parameters))

    async def executemany(self, operation: str, parameters: Any) -> None:
        """Run one statement for each of several sets of parameters."""
        self._outcome = await self._connection.run(lambda cursor: cursor.executemany(operation, parameters))

    async def fetchall(self) -> Sequence[Any]:
        """The rows of the last statement."""
        return self._outcome.rows

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a statement left behind.

    Attributes:
        rows, description, rowcount, lastrowid: as a ``sqlite3.Cursor`` has them.
        in_transaction: whether the connection is in a transaction now.
    """

    rows: Sequence[Any]
    description: Any
    rowcount: int
    lastrowid: int | None
    in_transaction: bool


_NOTHING = Outcome(rows=(), description=None, rowcount=-1, lastrowid=None, in_transaction=False)


def _whole(connection: sqlite3.Connection, execute: _Execute) -> Outcome:
    with closing(connection.cursor()) as cursor:
        execute(cursor)
        return Outcome(
            rows=cursor.fetchall() if cursor.description else (),
            description=cursor.description,
            rowcount=cursor.rowcount,
            lastrowid=cursor.lastrowid,
            in_transaction=connection.in_transaction,
        )
