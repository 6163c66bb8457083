"""The database: engine, pragmas, migrations at start, reading and transactions.

A search reads with a dozen statements, one after the other. On the event loop each costs half a millisecond of waiting
for its turn, in a thread of their own a fifth of that: hence ``read_together()``.

Invariants: every write happens inside ``transaction()`` or ``write()``, which take SQLite's write lock at once (BEGIN
IMMEDIATE), so that two processes never fail on upgrading a read to a write; nothing waits for a model meanwhile.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from memory.errors import DatabaseUnavailable
from memory.in_thread import ThreadConnections, by_trips, finished, immediate, present_connection, working_on
from memory.migrations import migrate
from memory.readers import Readers
from memory.sqlite_driver import Connector, tells_of_damage
from memory.write_queue import WriteQueue, WritersTurn

_BUSY_TIMEOUT_MS = 30_000
_CONNECTIONS = 8  # one turn reads on several at once; opening one costs more than most reads
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_OF_THE_DATABASE = (OperationalError, DatabaseError, sqlite3.OperationalError, sqlite3.DatabaseError)
_PRIMARY_CODE = 0xFF  # the bits above it tell more of the same error
_READERS = 4  # threads

_Result = TypeVar("_Result")


class Transaction:
    """One open write transaction. Obtained from ``Database.transaction()``.

    Attributes:
        connection: where the statements go.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self._after_commit: list[Callable[[], None]] = []

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call back once the transaction is committed; never if it is rolled back."""
        self._after_commit.append(callback)

    def committed(self) -> None:
        """Run the callbacks. Called by ``Database`` alone."""
        for callback in self._after_commit:
            callback()


class Database:
    """An open database, migrated to the newest schema. Made by ``open_database``.

    Attributes:
        name: of its file, without the folder.
    """

    def __init__(self, engine: AsyncEngine, direct: Engine, connector: Connector) -> None:
        self.engine = engine
        self.name = Path(engine.url.database or "").name
        self._connections = ThreadConnections(direct)
        self._readers = Readers(_READERS)
        self._connector = connector
        self._writing = WritersTurn()  # SQLite has one writer; waiting here is fair and does not poll
        self._writes = WriteQueue(self._connections, self._writing)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection for reading. Each statement sees what is committed when it begins."""
        with _said_plainly():
            present = present_connection()
            yield by_trips(self.read_together) if present is None else immediate(present)

    async def read_together(self, read: Callable[[Connection], _Result]) -> _Result:
        """Read with several statements, in a thread. Each sees what is committed when it begins.

        Args:
            read: is called in the thread with a connection, and must only read.

        Returns:
            what ``read`` returned.
        """
        with _said_plainly():
            if (present := present_connection()) is not None:
                return read(present)
            return await self._readers.run(partial(self._read_in_thread, read))

    async def read_in_one_trip(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Let stores read one after the other, in one thread. Each statement sees what is committed when it begins.

        Args:
            work: calls the stores' reading methods, and waits for nothing else.
        """

        def read(connection: Connection) -> _Result:
            with working_on(connection):
                return finished(work)

        return await self.read_together(read)

    def _read_in_thread(self, read: Callable[[Connection], _Result]) -> _Result:
        connection = self._connections.of_this_thread()
        try:
            return read(connection)
        finally:
            connection.rollback()  # SQLAlchemy begins something at the first statement, SQLite does not

    @property
    def file(self) -> Path | None:
        """The database's file; None for one that is only in memory."""
        name = self.engine.url.database
        return None if not name or name == ":memory:" else Path(name)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A write transaction: committed at the end, rolled back on any error."""
        async with self._writing:
            with _said_plainly():
                async with self.engine.connect() as connection:
                    await connection.execution_options(keepsake_writes=True)
                    async with connection.begin():
                        transaction = Transaction(connection)
                        yield transaction
        transaction.committed()

    async def write(self, work: Callable[[Transaction], Coroutine[Any, Any, _Result]]) -> _Result:
        """A write transaction as ``transaction()``, in one trip to a thread: for work that is brief and often done.

        It may be committed together with others that wait; where it fails it is taken back by itself.

        Args:
            work: calls the stores' methods, which then also read within the transaction, and waits for nothing else.
        """

        def written(connection: Connection) -> tuple[Transaction, _Result]:
            transaction = Transaction(immediate(connection))
            with working_on(connection):
                return transaction, finished(lambda: work(transaction))

        with _said_plainly():
            writing = self._writes.add(written)
            writing.add_done_callback(_call_back)  # before whoever waits goes on, and if nobody waits any more
            try:
                return (await asyncio.shield(writing))[1]
            except asyncio.CancelledError:
                if not self._writes.withdraw(writing):
                    await asyncio.wait([writing])
                raise

    async def checkpoint(self) -> bool:
        """Move SQLite's write-ahead log into the database file and empty it.

        Returns:
            Whether the log is empty now. It is not while a reader of another process still needs it.
        """
        async with self._outside_transactions() as driver:
            [[busy, *_]] = await driver.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        return not busy

    async def try_writing(self) -> None:
        """Write what is there already (a number that SQLite keeps for applications), so that all stays as it is.

        Raises:
            DatabaseUnavailable: nothing can be written, as on a full disk.
        """
        async with self._outside_transactions() as driver:
            [[version]] = await driver.execute_fetchall("PRAGMA user_version")
            try:
                await driver.execute_fetchall(f"PRAGMA user_version = {version:d}")
            except sqlite3.DatabaseError as error:
                raise unavailable(error) from error

    async def rebuild(self) -> None:
        """Write SQLite's file anew, with nothing but the present rows in it (VACUUM). Other writers wait meanwhile.

        Raises:
            DatabaseUnavailable: there is no room for a second copy, or another process keeps writing.
        """
        async with self._outside_transactions() as driver:
            await driver.execute_fetchall("PRAGMA temp_store = FILE")  # the copy may not fit into memory
            try:
                await driver.execute_fetchall("VACUUM")
            except sqlite3.OperationalError as error:
                raise unavailable(error) from error
            finally:
                await driver.execute_fetchall("PRAGMA temp_store = MEMORY")

    @asynccontextmanager
    async def _outside_transactions(self) -> AsyncIterator[Any]:
        # The driver's own connection: SQLAlchemy would begin a transaction first.
        async with self._writing, self.engine.connect() as connection:
            yield (await connection.get_raw_connection()).driver_connection

    async def close(self) -> None:
        """Close every connection, after what is being read."""
        await self._readers.close()
        await self._writes.close()
        self._connections.close()
        await self.engine.dispose()
        await self._connector.settle()


async def open_database(url: str) -> Database:
    """Open the database and bring it to the newest schema.

    Args:
        url: a SQLAlchemy address, ``sqlite+aiosqlite:///path`` (``sqlite:///path`` is taken too).

    Raises:
        DatabaseUnavailable: it cannot be opened or written.
        DatabaseTooNew: it was written by a newer version.
    """
    address = parsed(url)
    if address.drivername == "sqlite":
        address = address.set(drivername="sqlite+aiosqlite")
    if address.drivername != "sqlite+aiosqlite":
        raise DatabaseUnavailable(f"{address.drivername} databases are not supported. Write sqlite:///path/to/file.db.")
    if address.database:
        try:
            await asyncio.to_thread(Path(address.database).parent.mkdir, parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseUnavailable(
                f"The folder of the database {address.database} cannot be made: {error.strerror}. "
                "Choose another place with DATA_DIR or DATABASE_URL."
            ) from error
    [path], options = address.get_dialect()().create_connect_args(address)
    connector = Connector(path, **options)
    engine = create_async_engine(
        address,
        pool_use_lifo=True,  # the connection used last has its pages in memory still
        pool_size=_CONNECTIONS,
        max_overflow=_CONNECTIONS,
        hide_parameters=True,  # what people say must not stand in an error, and so in a log
        async_creator=connector.connect,
    )
    direct = create_engine(
        "sqlite://", pool_size=_READERS + 1, poolclass=QueuePool, hide_parameters=True, creator=connector.open
    )
    event.listen(direct, "connect", _on_connect)
    event.listen(engine.sync_engine, "connect", _on_connect)
    event.listen(engine.sync_engine, "begin", _on_begin)
    database = Database(engine, direct, connector)
    try:
        with _said_plainly():
            await asyncio.to_thread(connector.write_ahead)
        async with database.transaction() as transaction:
            await transaction.connection.run_sync(migrate)
    except DBAPIError as error:
        await database.close()
        raise unavailable(error) from error
    except BaseException:
        await database.close()
        raise
    return database


def parsed(url: str) -> URL:
    """The parts of a database's address. Raises DatabaseUnavailable, without the address, where it is none."""
    try:
        return make_url(url)
    except ArgumentError as error:  # its text may hold a password
        raise DatabaseUnavailable("DATABASE_URL is no address. Write sqlite:///path/to/file.db.") from error


def _call_back(writing: asyncio.Future[tuple[Transaction, Any]]) -> None:
    if not writing.cancelled() and writing.exception() is None:
        writing.result()[0].committed()


@contextmanager
def _said_plainly() -> Iterator[None]:
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        if type(error) not in _OF_THE_DATABASE:  # it is about the statement
            raise
        raise unavailable(error) from error


def unavailable(error: DBAPIError | sqlite3.Error) -> DatabaseUnavailable:
    """The plain sentence for a database error."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if tells_of_damage(cause):
        return DatabaseUnavailable(
            f"The database is damaged: {cause}. If DATA_DIR or DATABASE_URL names the right file, stop the bot and go "
            "back to a backup: keepsake restore --from FILE --replace."
        )
    return DatabaseUnavailable(
        f"The database cannot be used: {cause}.{_room_for_reading(cause)} Check that its file and folder exist, "
        "can be written and have room, and that no other program holds it (DATA_DIR, DATABASE_URL)."
    )


def _room_for_reading(cause: BaseException | None) -> str:
    """What helps where the disk takes nothing any more; empty for any other error."""
    if getattr(cause, "sqlite_errorcode", 0) & _PRIMARY_CODE not in _NO_ROOM:
        return ""
    return (
        " SQLite needs a little room beside the file even to read it: where its disk is full or read-only, copy it, "
        "with the -wal beside it if there is one, to another disk to look at it."
    )


def _on_connect(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves: see _on_begin
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout = {_BUSY_TIMEOUT_MS}",
        "synchronous = NORMAL",
        "secure_delete = ON",
        "foreign_keys = ON",
        "temp_store = MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _on_begin(connection: Connection) -> None:
    # A read goes without: its BEGIN would cost as much time as a small query.
    if connection.get_execution_options().get("keepsake_writes", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
