"""A person's right over what is kept about them: to read all of it, and to have all of it erased.

Erasing deletes the rows of every store, then removes the words from the file itself: deleted rows are overwritten
(``secure_delete``), full-text segments are merged until the words of deleted entries are gone, the file is written
anew, since SQLite leaves pieces of moved rows in the gaps of its pages, and the write-ahead log is emptied. At last
the files are read, looking for what was erased.

Invariant: an erasure touches no row of anybody else, and its receipt counts what was really found in the files.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import structlog
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

from memory.channel_talk import ChannelTalk
from memory.database import Database, Transaction
from memory.errors import DatabaseUnavailable
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.note_files import NoteFiles
from memory.policy.export.json_rows import json_ready
from memory.policy.residue import Needles, fragments, word_middles
from memory.ports import Clock
from memory.records import Scope, check_person
from memory.schema import PERSONAL_TABLES, metadata, search_entries

_log = structlog.get_logger(__name__)

_SAMPLED_ROWS = 200  # of each table, by chance
_PIECES = 100  # to look for, of each table
_ROWS_AT_ONCE = 1_000
_READ_BYTES = 1 << 20
_SCRUB_STEPS = 10_000

# The table definitions stand in the file as well, each with its kind and names before it.
_SQLITE_SCHEMA = Table(
    "sqlite_master", MetaData(), *(Column(name, String) for name in ("type", "name", "tbl_name", "sql"))
)
_INDEXED_WORDS = Table("search_words", MetaData(), Column("words", String))


Due = Callable[[Transaction], Awaitable[Sequence[Scope]]]
"""Says within a transaction which scopes are to be erased next, some at a time."""


class PersonalStore(Protocol):
    """A store of people's data."""

    @property
    def name(self) -> str:
        """What an export calls it."""
        ...

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Everything of a scope that the person may read."""
        ...

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete everything of a scope; rows deleted per table."""
        ...


class Elsewhere(Protocol):
    """The mirror, as an erasure sees it."""

    async def note_erased(self, person: str, tx: Transaction) -> None:
        """Note, in the transaction of an erasure, that all of a person is to be erased there too."""
        ...

    async def erased(self) -> bool:
        """After an erasure: erase there; whether that is done already."""
        ...


class MirrorErasure(StrEnum):
    """What became of the rows in the mirror."""

    DONE = "done"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReceipt:
    """What an erasure did, and what the search for remains found.

    Attributes:
        person: who was erased.
        erased_at: when.
        rows: rows deleted, per table.
        files: the size in bytes of every file that was searched afterwards, by its name.
        pieces: how many pieces of the erased text were looked for.
        rewritten: whether the file was written anew and its log emptied. Where rows were deleted and it is False,
            there was no room for a second copy, or another process kept the log in use: pieces may be left that
            were not looked for.
        residue: how often one of them still stood in a file and in no row; 0 means that nothing is left.
        where: the places, as ``<file> at byte <offset>``.
        mirror: whether the rows are gone from the mirror too, or will be once it can be reached; None for no mirror.
    """

    person: str
    erased_at: datetime
    rows: Mapping[str, int]
    files: Mapping[str, int]
    pieces: int
    rewritten: bool
    residue: int
    where: tuple[str, ...]
    mirror: MirrorErasure | None = None


class Privacy:
    """Export and erasure over every store.

    Args:
        database: where the rows are.
        stores: every store of people's data, each table owned by one of them.
        text_index: holds words of its own, which it can be made to forget.
        clock: dates exports and receipts.
        talk: what was said lately in channels.
        files: notes that people can read.
        mirror: erases too; None for none.
    """

    def __init__(
        self,
        database: Database,
        stores: Sequence[PersonalStore],
        text_index: SqliteTextIndex,
        clock: Clock,
        *,
        talk: ChannelTalk,
        files: NoteFiles,
        mirror: Elsewhere | None = None,
    ) -> None:
        self._database = database
        self._files = files
        self._stores = stores
        self._text_index = text_index
        self._clock = clock
        self._talk = talk
        self._mirror = mirror

    async def scopes_of(self, person: str) -> list[Scope]:
        """Every scope in which anything is kept about a person. Raises InvalidInput."""
        check_person(person)
        async with self._database.read() as connection:
            return await _scopes(connection, person)

    async def export(self, person: str) -> dict[str, Any]:
        """Everything kept about a person, ready to be written as JSON. Raises InvalidInput.

        Returns:
            ``format``, ``person``, ``exported_at`` and ``scopes``: audience -> store -> rows. Ids are strings,
            times ISO 8601.
        """
        from memory.policy.export.file import FORMAT  # its models take a while to make

        scopes = {}
        for scope in await self.scopes_of(person):
            rows = {store.name: await store.export(scope) for store in self._stores}
            scopes[scope.audience] = {name: list(map(json_ready, found)) for name, found in rows.items() if found}
        exported_at = self._clock.now().isoformat()
        return {"format": FORMAT, "person": person, "exported_at": exported_at, "scopes": scopes}

    async def erase(self, person: str) -> ErasureReceipt:
        """Erase a person for good: the rows in one transaction, then the words from the files.

        What others wrote about the person is theirs and stays. The search for remains looks for the person's key
        and some hundred pieces of the erased text, those left out that stand in somebody else's rows too. It
        misses a piece that runs over the border of two pages of the file. The caller sees to it that nothing is
        written for the person meanwhile. Erasing a person twice, or one never seen, gives a receipt of zeros.

        Writing the file anew takes about 3 seconds for 100 MB, in which everybody's writes wait.

        Raises:
            InvalidInput: ``person`` names nobody.
            DatabaseUnavailable: the database cannot be written. Where its rows are gone already, words may be
                left in the file until the next erasure.
            NotesUnavailable: the notes cannot be deleted. The rows are gone; erase again once they can be.
        """
        check_person(person)
        rows = {table.name: 0 for table in PERSONAL_TABLES}
        async with self._database.transaction() as tx:
            scopes = await _scopes(tx.connection, person)
            pieces = _keys(person, scopes) + await _pieces_of(tx.connection, person)
            for scope in scopes:
                for store in self._stores:
                    for table, deleted in (await store.erase(scope, tx)).items():
                        rows[table] = rows.get(table, 0) + deleted
            if self._mirror is not None:
                await self._mirror.note_erased(person, tx)
        self._talk.forget(person)
        await self._files.erase(person)
        needles = Needles(pieces)
        rewritten = any(rows.values()) and await self._scrub()
        files, where = await self._remains(needles)
        if where:
            rewritten = await self._scrub()
            files, where = await self._remains(needles)
        _log.info("person_erased", scopes=len(scopes), rows=sum(rows.values()), rewritten=rewritten, residue=len(where))
        return ErasureReceipt(
            person=person,
            erased_at=self._clock.now(),
            rows=rows,
            files=files,
            pieces=len(needles),
            rewritten=rewritten,
            residue=len(where),
            where=where,
            mirror=await self._in_mirror(),
        )

    async def _in_mirror(self) -> MirrorErasure | None:
        if self._mirror is None:
            return None
        return MirrorErasure.DONE if await self._mirror.erased() else MirrorErasure.WAITING

    async def erase_due(self, due: Due) -> int:
        """Erase scopes for good, as many as fall due; how many.

        Args:
            due: the scopes to be erased next, some at a time, asked within the transaction that erases them.
        """
        erased = 0
        while True:
            async with self._database.transaction() as tx:
                scopes = await due(tx)
                for scope in scopes:
                    for store in self._stores:
                        await store.erase(scope, tx)
            for scope in scopes:
                await self._files.erase_scope(scope)
            if not scopes:
                break
            erased += len(scopes)
        if erased:
            await self._scrub()
            _log.info("scopes_erased", scopes=erased)
        return erased

    async def _scrub(self) -> bool:
        """Remove the words of deleted rows from the files; whether all of it could be done."""
        async with self._database.transaction() as tx:
            await self._text_index.begin_scrub(tx.connection)
        for _ in range(_SCRUB_STEPS):
            async with self._database.transaction() as tx:
                if not await self._text_index.scrub_step(tx.connection):
                    break
        try:
            await self._database.rebuild()
        except DatabaseUnavailable as error:
            _log.warning("rebuild_failed", error=str(error))
            return False
        return await self._database.checkpoint()

    async def _remains(self, needles: Needles) -> tuple[dict[str, int], tuple[str, ...]]:
        """The size of every file, and the places that hold a piece which stands in no row."""
        path = self._database.file
        paths = [] if path is None else [path.with_name(path.name + end) for end in ("", "-wal", "-journal")]
        files, found = await asyncio.to_thread(_search_files, paths, needles)
        elsewhere = await self._standing_in_rows(found)
        return files, tuple(place for piece in found if piece not in elsewhere for place in found[piece])

    async def _standing_in_rows(self, pieces: Collection[str]) -> set[str]:
        """Which of the pieces stand, in either case, in a row that is still there or in a table's definition."""
        missing = {piece.lower() for piece in pieces}
        async with self._database.read() as connection:
            for table in (*metadata.sorted_tables, _INDEXED_WORDS, _SQLITE_SCHEMA):
                if not missing:
                    break
                async for rows in _rows_of(connection, table):
                    missing -= await asyncio.to_thread(_pieces_in_rows, rows, Needles(missing))
        return {piece for piece in pieces if piece.lower() not in missing}


async def _scopes(connection: AsyncConnection, person: str) -> list[Scope]:
    query = union(*(select(table.c.audience).where(table.c.person == person) for table in PERSONAL_TABLES))
    audiences = (await connection.execute(query)).scalars()
    return [Scope(person=person, audience=audience) for audience in sorted(audiences)]


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


async def _pieces_of(connection: AsyncConnection, person: str) -> list[str]:
    pieces: list[str] = []
    for table in PERSONAL_TABLES:
        query = select(*_texts(table)).where(table.c.person == person).order_by(func.random()).limit(_SAMPLED_ROWS)
        texts = [value for row in await connection.execute(query) for value in row if value]
        pieces += fragments(texts, limit=_PIECES)
        if table is search_entries:
            pieces += word_middles(texts, limit=_PIECES)
    return pieces


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
