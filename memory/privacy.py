"""A person's right over what is kept about them: to read all of it, and to have all of it erased.

Erasing deletes the rows of every store, then removes the words from the file itself: deleted rows are overwritten
(``secure_delete``), full-text segments are merged until the words of deleted entries are gone, the file is written
anew, since SQLite leaves pieces of moved rows in the gaps of its pages, and the write-ahead log is emptied. At last
the files are read, looking for what was erased.

Invariant: an erasure touches no row of anybody else, and its receipt counts what was really found in the files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import structlog

from memory.channel_talk import ChannelTalk
from memory.database import Database, Transaction
from memory.errors import DatabaseUnavailable
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.note_files import NoteFiles
from memory.policy.export.json_rows import json_ready
from memory.policy.residue import Needles
from memory.ports import Clock
from memory.records import Scope, check_person
from memory.schema import PERSONAL_TABLES
from memory.stores.remains import pieces_of, remains_of, scopes_of_person

_log = structlog.get_logger(__name__)

_SCRUB_STEPS = 10_000


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


class ErasureInMirror(StrEnum):
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
    mirror: ErasureInMirror | None = None


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
            return await scopes_of_person(connection, person)

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
            scopes = await scopes_of_person(tx.connection, person)
            pieces = await pieces_of(tx.connection, person)
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
        files, where = await remains_of(self._database, needles)
        if where:
            rewritten = await self._scrub()
            files, where = await remains_of(self._database, needles)
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

    async def _in_mirror(self) -> ErasureInMirror | None:
        if self._mirror is None:
            return None
        return ErasureInMirror.DONE if await self._mirror.erased() else ErasureInMirror.WAITING

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
