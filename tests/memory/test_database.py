"""A database is brought to the newest schema as a whole or not at all, and says plainly why it cannot be used."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, inspect, select
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from memory.database import Database, open_database
from memory.errors import DatabaseTooNew, DatabaseUnavailable
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.policy.audience import reach_of_person
from memory.records import Source
from memory.schema import channels, metadata, sessions, token_calibration
from tests.fakes import START


def first_schema(path: Path) -> None:
    """A database as the first version left it, with a person's row in it."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine

    engine = create_engine(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", "memory:migrations")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    with closing(sqlite3.connect(path)) as old, old:
        columns = "person, audience, id, conversation, started_at, last_activity_at, window_summary"
        old.execute(f"INSERT INTO sessions ({columns}) VALUES ('console:ann', 'dm', 1, 'console:c', 0, 0, 'Of tea.')")


def all_of(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def columns_of(connection: Connection) -> dict[str, set[str]]:
    found = inspect(connection)
    return {table: {column["name"] for column in found.get_columns(table)} for table in found.get_table_names()}


async def test_the_migrations_make_the_tables_that_the_program_uses(database: Database) -> None:
    async with database.read() as connection:
        made = await connection.run_sync(columns_of)
    declared = {table.name: {column.name for column in table.columns} for table in metadata.sorted_tables}
    assert {name: made.get(name) for name in declared} == declared


async def test_rows_of_the_first_schema_are_kept_through_every_migration(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first_schema(path)
    database = await open_database(f"sqlite:///{path}")
    await database.close()
    assert all_of(path, "SELECT person, window_summary, kept FROM sessions") == [("console:ann", "Of tea.", 1)]


async def test_full_text_of_an_older_version_is_found_in_the_spelling_that_is_compared_now(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first_schema(path)
    texts = ["Ещё ёлка, eine Straße, أَحْمَد", "", *["nothing"] * 1_000, "at last"]  # more than are read at once
    with closing(sqlite3.connect(path)) as old, old:
        rows = [(number, number, words) for number, words in enumerate(texts, start=1)]
        entry = "INSERT INTO search_entries (person, audience, source, chunk, record_id, id, text) "
        old.executemany(entry + "VALUES ('console:ann', 'dm', 'recall', 0, ?, ?, ?)", rows)
        old.executemany("INSERT INTO search_text (owner, rowid, body) VALUES ('?', ?, ?)", [row[1:] for row in rows])
    database = await open_database(f"sqlite:///{path}")
    async with database.read() as connection:
        for query, found in {"елка": 1, "Strasse": 1, "احمد": 1, "last": len(texts)}.items():
            hits = await connection.run_sync(
                SqliteTextIndex().search, reach_of_person("console:ann"), query, {Source.RECALL: 5}
            )
            assert [hit.entry_id for hit in hits[Source.RECALL]] == [found], query
    await database.close()


async def test_a_failed_migration_leaves_nothing_behind_and_can_be_made_up_for(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first_schema(path)
    with closing(sqlite3.connect(path)) as foreign, foreign:
        foreign.execute("CREATE TABLE jobs (not_ours TEXT)")  # a later migration wants this name
    before = all_of(path, "SELECT name, sql FROM sqlite_master ORDER BY name")

    with pytest.raises(DatabaseUnavailable):
        await open_database(f"sqlite:///{path}")

    assert all_of(path, "SELECT name, sql FROM sqlite_master ORDER BY name") == before
    assert all_of(path, "SELECT version_num FROM alembic_version") == [("0001",)]
    with closing(sqlite3.connect(path)) as foreign, foreign:
        foreign.execute("DROP TABLE jobs")
    await (await open_database(f"sqlite:///{path}")).close()


async def test_two_processes_that_open_a_new_database_at_once_both_can(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\nfrom memory.database import open_database\n"
        "async def main():\n    await (await open_database(sys.argv[1])).close()\n"
        "asyncio.run(main())"
    )
    url = f"sqlite:///{tmp_path}/new/keepsake.db"
    processes = [await asyncio.create_subprocess_exec(sys.executable, "-c", program, url) for _ in range(2)]
    assert [await process.wait() for process in processes] == [0, 0]


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    await (await open_database(f"sqlite:///{path}")).close()
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DatabaseTooNew, match="9999"):
        await open_database(f"sqlite:///{path}")
    assert all_of(path, "SELECT version_num FROM alembic_version") == [("9999",)]


def a_file_in_the_way(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("in the way")
    return tmp_path / "file" / "keepsake.db"


def a_folder_in_its_place(tmp_path: Path) -> Path:
    (tmp_path / "keepsake.db").mkdir()
    return tmp_path / "keepsake.db"


def no_database(tmp_path: Path) -> Path:
    (tmp_path / "keepsake.db").write_bytes(b"This is a letter to Ann. " * 100)
    return tmp_path / "keepsake.db"


@pytest.mark.parametrize("spoil", [a_file_in_the_way, a_folder_in_its_place, no_database])
async def test_a_place_that_cannot_hold_a_database_is_a_sentence_that_says_what_to_do(
    tmp_path: Path, spoil: Any
) -> None:
    with pytest.raises(DatabaseUnavailable, match="DATA_DIR"):
        await open_database(f"sqlite:///{spoil(tmp_path)}")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    tmp_path.chmod(0o500)
    yield tmp_path
    tmp_path.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
async def test_a_folder_that_cannot_be_written_is_a_sentence_that_says_what_to_do(read_only: Path) -> None:
    with pytest.raises(DatabaseUnavailable, match="DATA_DIR"):
        await open_database(f"sqlite:///{read_only}/keepsake.db")


@pytest.mark.parametrize("url", ["no address", "mysql://me:secret@host/db"])
async def test_an_address_that_cannot_be_used_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="sqlite:///") as refused:
        await open_database(url)
    assert "secret" not in str(refused.value)


async def test_a_transaction_that_fails_writes_nothing_and_calls_nobody_back(database: Database) -> None:
    called: list[str] = []

    async def fail() -> None:
        async with database.transaction() as tx:
            tx.after_commit(lambda: called.append("committed"))
            await tx.connection.execute(insert(token_calibration).values(model="any", ratio=1.0, samples=1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    async with database.read() as connection:
        assert (await connection.execute(select(token_calibration))).all() == []
    assert called == []


async def test_writers_take_turns(database: Database) -> None:
    async def write(number: int) -> None:
        async with database.transaction() as tx:
            await tx.connection.execute(insert(token_calibration).values(model=f"m{number}", ratio=1.0, samples=number))

    await asyncio.gather(*map(write, range(20)))
    async with database.read() as connection:
        assert len((await connection.execute(select(token_calibration))).all()) == 20


async def test_a_damaged_file_is_a_sentence_that_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "keepsake.db"
    first_schema(path)
    [[page]] = all_of(path, "SELECT rootpage FROM sqlite_master WHERE name = 'sessions'")
    [[size]] = all_of(path, "PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"rubbish " * (size // 8))
    database = await open_database(f"sqlite:///{path}")
    with pytest.raises(DatabaseUnavailable, match="malformed"):
        async with database.read() as connection:
            await connection.execute(select(sessions))
    with pytest.raises(DatabaseUnavailable, match="malformed"):
        async with database.transaction() as tx:
            await tx.connection.execute(delete(sessions))
    await database.close()


async def test_an_error_never_shows_what_was_said(database: Database) -> None:
    async def silence(times: int) -> None:
        row = {"conversation": "what was said", "community": "guild:1", "silenced_at": START}
        async with database.transaction() as tx:
            await tx.connection.execute(insert(channels), [row] * times)

    with pytest.raises(DBAPIError) as caught:
        await silence(2)
    assert "what was said" not in str(caught.value)


async def test_reading_together_sees_what_is_committed_and_says_plainly_what_fails(tmp_path: Path) -> None:
    database = await open_database(f"sqlite:///{tmp_path}/keepsake.db")
    channel = {"conversation": "discord:1", "community": "guild:1", "silenced_at": START}

    def named(connection: Connection) -> list[str]:
        return list(connection.execute(select(channels.c.conversation)).scalars())

    async with database.transaction() as tx:
        await tx.connection.execute(insert(channels).values(**channel))
        assert await database.read_together(named) == []
    assert await database.read_together(named) == ["discord:1"]
    async with database.transaction() as tx:
        await tx.connection.run_sync(channels.drop)
    with pytest.raises(DatabaseUnavailable, match="cannot be used"):
        await database.read_together(named)
    await database.close()


async def test_closing_waits_for_what_is_being_read(tmp_path: Path) -> None:
    database = await open_database(f"sqlite:///{tmp_path}/keepsake.db")
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> int:
        begun.set()
        go_on.wait()
        return connection.execute(select(func.count()).select_from(sessions)).scalar_one()

    reading = asyncio.create_task(database.read_together(slow))
    await asyncio.to_thread(begun.wait)
    closing_it = asyncio.create_task(database.close())
    go_on.set()
    assert await reading == 0
    await closing_it
