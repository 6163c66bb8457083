"""Writes that wait for the one writer: they share a commit, and neither their failures nor their ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, insert, select, text

from memory.database import Database, Transaction, open_database
from memory.schema import token_calibration
from tests.new_database import database_in


class Held:
    """A write that keeps the writer busy until it is let go."""

    def __init__(self, database: Database) -> None:
        self._begun, self._let_go = threading.Event(), threading.Event()
        self._done = asyncio.create_task(database.write(self._wait))

    async def _wait(self, _tx: Transaction) -> None:
        self._begun.set()
        self._let_go.wait()

    async def begun(self) -> None:
        await asyncio.to_thread(self._begun.wait)

    async def let_go(self) -> None:
        self._let_go.set()
        await self._done


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(await database_in(tmp_path))
    yield opened
    await opened.close()


@pytest.fixture
async def held(database: Database) -> Held:
    held = Held(database)
    await held.begun()
    return held


async def add(tx: Transaction, model: str) -> None:
    await tx.connection.execute(insert(token_calibration), {"model": model, "ratio": 1.0, "samples": 1})


async def models(database: Database) -> list[str]:
    async with database.read() as connection:
        return list((await connection.execute(select(token_calibration.c.model))).scalars())


def noting(database: Database, model: str, then: Callable[[], object] = lambda: None) -> asyncio.Task[None]:
    """A write of one row, which calls something before it ends."""

    async def note(tx: Transaction) -> None:
        await add(tx, model)
        then()

    return asyncio.create_task(database.write(note))


async def test_what_waits_is_committed_together_in_its_order(database: Database, held: Held) -> None:
    commits = 0

    def count(_connection: Connection) -> None:
        nonlocal commits
        commits += 1

    event.listen(Engine, "commit", count)
    try:
        waiting = [noting(database, f"m{number}") for number in range(5)]
        await asyncio.sleep(0)
        await held.let_go()
        await asyncio.gather(*waiting)
    finally:
        event.remove(Engine, "commit", count)
    assert await models(database) == ["m0", "m1", "m2", "m3", "m4"]
    assert commits == 2  # of what held the writer, and of all the others


async def test_a_write_that_fails_is_taken_back_by_itself_and_calls_nobody_back(database: Database, held: Held) -> None:
    called: list[str] = []

    async def fail(tx: Transaction) -> None:
        tx.after_commit(lambda: called.append("failed"))
        await add(tx, "lost")
        raise ZeroDivisionError

    async def succeed(tx: Transaction) -> str:
        tx.after_commit(lambda: called.append("succeeded"))
        await add(tx, "kept")
        return "done"

    before, failing, after = (asyncio.create_task(database.write(work)) for work in (succeed, fail, note_after))
    await asyncio.sleep(0)
    await held.let_go()
    with pytest.raises(ZeroDivisionError):
        await failing
    assert (await before, await after) == ("done", ["kept"])
    assert await models(database) == ["kept", "after"]
    assert called == ["succeeded"]


async def note_after(tx: Transaction) -> list[str]:
    """What was written before, and one more."""
    there = list((await tx.connection.execute(select(token_calibration.c.model))).scalars())
    await add(tx, "after")
    return there


async def test_all_hear_of_it_where_sqlite_gives_up_their_transaction(database: Database, held: Held) -> None:
    async def give_up(tx: Transaction) -> None:
        await tx.connection.execute(text("ROLLBACK"))  # as SQLite does by itself on a full disk
        raise ZeroDivisionError

    writes = [noting(database, "before"), asyncio.create_task(database.write(give_up)), noting(database, "after")]
    await asyncio.sleep(0)
    await held.let_go()
    failures = await asyncio.gather(*writes, return_exceptions=True)
    assert [type(failure) for failure in failures] == [ZeroDivisionError] * 3
    assert await models(database) == []


async def test_a_write_that_nobody_waits_for_any_more_is_left_out_unless_it_has_begun(database: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go_on.wait()

    under_way = noting(database, "begun", hold)
    await asyncio.to_thread(begun.wait)
    waiting = noting(database, "waiting")
    await asyncio.sleep(0)
    under_way.cancel()
    waiting.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait([under_way, waiting])
    assert under_way.cancelled()
    assert waiting.cancelled()
    assert await models(database) == ["begun"]


async def test_whoever_gives_up_waiting_more_than_once_keeps_nobody_else_from_hearing(
    database: Database, held: Held
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        go_on.wait()

    called: list[str] = []

    async def note(tx: Transaction) -> None:
        tx.after_commit(lambda: called.append("impatient"))
        await add(tx, "impatient")
        hold()

    impatient, patient = asyncio.create_task(database.write(note)), noting(database, "patient")
    await asyncio.sleep(0)
    await held.let_go()
    await asyncio.to_thread(begun.wait)
    for _ in range(2):
        impatient.cancel()
        await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait_for(patient, 10)
    assert await models(database) == ["impatient", "patient"]
    assert called == ["impatient"]


async def test_a_write_that_fails_after_nobody_waits_for_it_any_more_leaves_its_task_cancelled(
    database: Database,
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def fail() -> None:
        begun.set()
        go_on.wait()
        raise ZeroDivisionError

    failing = noting(database, "failing", fail)
    await asyncio.to_thread(begun.wait)
    failing.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait([failing])
    assert failing.cancelled()
    assert await models(database) == []


async def test_what_waits_is_written_also_where_the_task_that_sees_to_it_is_cancelled(
    database: Database, held: Held
) -> None:
    waiting = [noting(database, f"m{number}") for number in range(3)]
    await asyncio.sleep(0)
    for _ in range(2):  # while it waits for what is being written, and while it waits for its turn
        [seeing_to_it] = [task for task in asyncio.all_tasks() if task.get_name() == "writes"]
        seeing_to_it.cancel()
        await asyncio.wait([seeing_to_it])
        await asyncio.sleep(0)
    await held.let_go()
    await asyncio.wait_for(asyncio.gather(*waiting), 10)
    assert await models(database) == ["m0", "m1", "m2"]


async def test_closing_writes_what_waits_and_takes_nothing_more(tmp_path: Path) -> None:
    database = await open_database(await database_in(tmp_path))
    writes = [noting(database, f"m{number}") for number in range(20)]
    await asyncio.sleep(0)
    await database.close()
    await asyncio.gather(*writes)
    with pytest.raises(RuntimeError, match="closed"):
        await noting(database, "late")
    again = await open_database(await database_in(tmp_path))
    assert len(await models(again)) == 20
    await again.close()


async def test_a_write_within_a_transaction_of_its_own_task_fails_instead_of_waiting_for_itself(
    database: Database,
) -> None:
    async with database.transaction() as tx:
        await add(tx, "first")
        with pytest.raises(RuntimeError, match="would wait for its end"):
            await database.write(note_after)
        with pytest.raises(RuntimeError, match="would wait for its end"):
            async with database.transaction():
                pass
        beside = noting(database, "beside")
    await asyncio.wait_for(beside, 10)
    assert await models(database) == ["first", "beside"]
