"""What is left of a person's words: pieces of them before an erasure, and where those still stand after it.

Invariant: a piece that stands in a row which is still there is nobody's remains.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from pathlib import Path

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    MetaData,
    String,
    Table,
    func,
    literal_column,
    select,
    type_coerce,
    union,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.database import Database
from memory.policy.residue import Needles, fragments, word_middles
from memory.records import Scope
from memory.schema import PERSONAL_TABLES, metadata, search_entries

_SAMPLED_ROWS = 200  # of each table, by chance
_PIECES = 100  # to look for, of each table
_ROWS_AT_ONCE = 1_000
_READ_BYTES = 1 << 20

# The table definitions stand in the file as well, each with its kind and names before it.
_SQLITE_SCHEMA = Table(
    "sqlite_master", MetaData(), *(Column(name, String) for name in ("type", "name", "tbl_name", "sql"))
)
_INDEXED_WORDS = Table("search_words", MetaData(), Column("words", String))


async def scopes_of_person(connection: AsyncConnection, person: str) -> list[Scope]:
    """Every scope in which anything is kept about a person."""
    query = union(*(select(table.c.audience).where(table.c.person == person) for table in PERSONAL_TABLES))
    audiences = (await connection.execute(query)).scalars()
    return [Scope(person=person, audience=audience) for audience in sorted(audiences)]


async def pieces_of(connection: AsyncConnection, person: str) -> list[str]:
    """The person's key and some hundred pieces of what is kept about them, by chance."""
    pieces = _keys(person, await scopes_of_person(connection, person))
    for table in PERSONAL_TABLES:
        query = select(*_texts(table)).where(table.c.person == person).order_by(func.random()).limit(_SAMPLED_ROWS)
        texts = [value for row in await connection.execute(query) for value in row if value]
        pieces += fragments(texts, limit=_PIECES)
        if table is search_entries:
            pieces += word_middles(texts, limit=_PIECES)
    return pieces


async def remains_of(database: Database, needles: Needles) -> tuple[dict[str, int], tuple[str, ...]]:
    """Look through the database's files for pieces of what was erased.

    Args:
        database: whose files.
        needles: the pieces.

    Returns:
        the size in bytes of every file by its name; and the places, ``<file> at byte <offset>``, that hold a piece
        which stands in no row.
    """
    path = database.file
    paths = [] if path is None else [path.with_name(path.name + end) for end in ("", "-wal", "-journal")]
    files, found = await asyncio.to_thread(_search_files, paths, needles)
    elsewhere = await _standing_in_rows(database, found)
    return files, tuple(place for piece in found if piece not in elsewhere for place in found[piece])


async def _standing_in_rows(database: Database, pieces: Collection[str]) -> set[str]:
    """Which of the pieces stand, in either case, in a row that is still there or in a table's definition."""
    missing = {piece.lower() for piece in pieces}
    async with database.read() as connection:
        for table in (*metadata.sorted_tables, _INDEXED_WORDS, _SQLITE_SCHEMA):
            if not missing:
                break
            async for rows in _rows_of(connection, table):
                missing -= await asyncio.to_thread(_pieces_in_rows, rows, Needles(missing))
    return {piece for piece in pieces if piece.lower() not in missing}


def _keys(person: str, scopes: Sequence[Scope]) -> list[str]:
    """The person's key as it stands in a file: before the audience in a row, between quotes in JSON, or alone."""
    return [person, f'"{person}"', *(f"{person}{scope.audience}" for scope in scopes)]


def _texts(table: Table) -> list[ColumnElement[str]]:
    return [type_coerce(column, String) for column in table.columns if isinstance(column.type, String | JSON)]


async def _rows_of(connection: AsyncConnection, table: Table) -> AsyncIterator[list[Sequence[str | None]]]:
    """The texts of every row, some rows at a time: a whole table may not fit into memory."""
    rowid = literal_column("rowid", BigInteger)
    query = select(rowid, *_texts(table)).select_from(table).order_by(rowid).limit(_ROWS_AT_ONCE)
    last = 0
    while rows := (await connection.execute(query.where(rowid > last))).all():
        yield [row[1:] for row in rows]
        last = rows[-1][0]


def _pieces_in_rows(rows: Sequence[Sequence[str | None]], needles: Needles) -> set[str]:
    # The columns of a row stand side by side in the file; a line end between rows is in no piece.
    data = "\n".join("".join(value for value in row if value) for row in rows).lower().encode(errors="replace")
    return {piece for _, piece in needles.find(data)}


def _search_files(paths: Sequence[Path], needles: Needles) -> tuple[dict[str, int], dict[str, list[str]]]:
    """The size of each file, and for each piece found in one, its places. Blocking."""
    sizes: dict[str, int] = {}
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        if path.exists():
            sizes[path.name] = path.stat().st_size
            for offset, piece in _search_file(path, needles):
                places[piece].append(f"{path.name} at byte {offset}")
    return sizes, places


def _search_file(path: Path, needles: Needles) -> Iterator[tuple[int, str]]:
    # Read, not mapped: a mapped file that another process truncates kills this one.
    with path.open("rb") as file:
        start, kept = 0, b""
        while block := file.read(_READ_BYTES):
            data = kept + block
            overlap = min(len(data), needles.longest - 1)
            for position, piece in needles.find(data):
                if position + len(piece.encode()) > len(kept):  # else the block before reported it
                    yield start + position, piece
            kept = data[len(data) - overlap :]
            start += len(data) - overlap
