"""The driver spares SQLite's thread what is not needed, and never a rollback that is."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from memory.database import Database, open_database
from memory.schema import token_calibration
from memory.sqlite_driver import Connection, Connector


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[Connection]:
    opened = await Connector(str(tmp_path / "any.db"), isolation_level=None).connect()
    yield opened
    await opened.close()


async def rows_of(connection: Connection, statement: str) -> list[tuple[object, ...]]:
    cursor = connection.cursor()
    await cursor.execute(statement)
    return list(await cursor.fetchall())


async def test_a_rollback_undoes_what_a_transaction_did_and_a_commit_keeps_it(connection: Connection) -> None:
    await rows_of(connection, "CREATE TABLE kept (word TEXT)")
    for end, word in ((connection.rollback, "lost"), (connection.commit, "kept")):
        await rows_of(connection, "BEGIN")
        await rows_of(connection, f"INSERT INTO kept VALUES ('{word}')")
        await end()
    assert await rows_of(connection, "SELECT word FROM kept") == [("kept",)]


async def test_a_failed_statement_leaves_a_transaction_that_can_be_rolled_back(connection: Connection) -> None:
    await rows_of(connection, "BEGIN")
    with pytest.raises(sqlite3.OperationalError):
        await rows_of(connection, "SELECT * FROM nothing")
    await connection.rollback()
    assert not connection.in_transaction


async def test_a_statement_cancelled_while_it_runs_can_be_rolled_back(connection: Connection) -> None:
    beginning = asyncio.create_task(rows_of(connection, "BEGIN"))
    await steps(1)
    beginning.cancel()
    with suppress(asyncio.CancelledError):
        await beginning
    await connection.rollback()
    await rows_of(connection, "BEGIN")  # SQLite refuses a second one in the same transaction
    await connection.rollback()


async def test_a_place_that_cannot_be_opened_is_an_error_of_sqlite(tmp_path: Path) -> None:
    connector = Connector(str(tmp_path / "missing" / "any.db"))
    with pytest.raises(sqlite3.OperationalError):
        await connector.connect()
    await connector.settle()


async def write(database: Database, model: str) -> None:
    async with database.transaction() as tx:
        for part in ("a", "b"):
            row = insert(token_calibration).values(model=f"{model}{part}", ratio=1.0, samples=1)
            await tx.connection.execute(row)


async def steps(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_a_write_cancelled_at_any_step_is_whole_or_not_there_and_holds_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "keepsake.db"
    database = await open_database(f"sqlite:///{path}")
    for number in range(40):
        task = asyncio.create_task(write(database, f"m{number}"))
        await steps(number)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
    async with database.read() as connection:
        models = set((await connection.execute(select(token_calibration.c.model))).scalars())
    await database.close()
    assert {f"{model[:-1]}{part}" for model in models for part in "ab"} == models


def test_however_many_want_a_write_ahead_log_of_a_new_database_at_once_all_get_it(tmp_path: Path) -> None:
    together = threading.Barrier(3)

    def open_all(_: int) -> list[object]:
        modes = []
        for number in range(40):
            connector = Connector(str(tmp_path / f"{number}.db"))
            together.wait(20)
            connector.write_ahead()
            with closing(connector.open()) as connection:
                modes += connection.execute("PRAGMA journal_mode").fetchone()
        return modes

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(open_all, range(3))) == [["wal"] * 40] * 3
