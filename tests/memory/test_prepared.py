"""Statements that are written once."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy import bindparam, event, insert, select
from sqlalchemy.engine import Connection, Engine

from memory.database import Database
from memory.errors import DatabaseUnavailable
from memory.prepared import Prepared
from memory.schema import index_generations, listed

_table = index_generations
_GENERATIONS = Prepared(
    select(_table.c.audience, _table.c.generation)
    .where(_table.c.person == bindparam("person"), _table.c.source.in_(listed("sources")))
    .order_by(_table.c.generation)
    .limit(2)
)


async def test_it_reads_what_its_parameters_ask_for_and_keeps_what_it_was_written_with(database: Database) -> None:
    async with database.transaction() as tx:
        rows = [
            {"person": "console:ann", "audience": "dm", "source": source, "generation": number}
            for number, source in enumerate(("fact", "recall", "archival", "episode"), start=1)
        ]
        await tx.connection.execute(insert(_table), rows)

    def read(connection: Connection) -> list[list[tuple[object, ...]]]:
        asked = (["recall"], ["episode", "fact", "archival"], [])
        return [_GENERATIONS.rows(connection, {"person": "console:ann", "sources": list(some)}) for some in asked]

    assert await database.read_together(read) == [[("dm", 2)], [("dm", 1), ("dm", 3)], []]


async def test_who_listens_to_the_engine_hears_of_it(database: Database) -> None:
    heard: list[tuple[str, dict[str, object]]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: dict[str, object], *_: object) -> None:
        heard.append((statement, parameters))

    values = {"person": "console:ann", "sources": ["recall"]}
    event.listen(Engine, "before_cursor_execute", note)
    try:
        await database.read_together(lambda connection: _GENERATIONS.rows(connection, values))
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    [(statement, parameters)] = heard
    assert "FROM index_generations" in statement
    assert (parameters["person"], parameters["sources"]) == ("console:ann", '["recall"]')


async def test_a_database_that_cannot_be_read_is_told_of_in_plain_words(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.connection.exec_driver_sql("ALTER TABLE index_generations RENAME TO elsewhere")
    values = {"person": "console:ann", "sources": ["recall"]}
    with pytest.raises(DatabaseUnavailable, match=r"cannot be used: no such table: index_generations"):
        await database.read_together(lambda connection: _GENERATIONS.rows(connection, values))


async def test_a_value_that_sqlite_does_not_know_is_no_fault_of_the_database(database: Database) -> None:
    values = {"person": {"console:ann"}, "sources": []}
    with pytest.raises(sqlite3.ProgrammingError):
        await database.read_together(lambda connection: _GENERATIONS.rows(connection, values))
