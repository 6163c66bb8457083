"""The journal: what happened or was decided in a person's life, by date.

Invariant: an event stands in it once; entries are only ever added, and go with the message they were learned from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Row, Select, delete, insert, select

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.policy.fact_text import text_hash
from memory.records import Change, Reach, Scope
from memory.schema import journal_entries as table
from memory.stores.scoped import as_stored, delete_scope, in_reach, in_scope, restore_rows, rows_of_scope, scope_of_row

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """An event.

    Attributes:
        at: when it happened, as far as that was said, else when it was told.
        text: one short standalone sentence, in the language it was told in.
        importance: 0 to 1.
        noted_at: when it was told.
        source_message: the person's message it was learned from.
    """

    id: int
    scope: Scope
    at: datetime
    text: str
    importance: float
    noted_at: datetime
    source_message: int | None = None


class JournalStore:
    """The table of events.

    Args:
        database: where the rows are.
        ids: draws the entries' ids.
    """

    name = "journal"

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def add(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        text: str,
        change: Change,
        at: datetime,
        happened_at: datetime | None = None,
        importance: float = 0.5,
    ) -> JournalEntry | None:
        """Note an event; None where the same words stand there already for that moment or that message.

        Args:
            scope: whose journal.
            tx: the open transaction.
            text: what happened.
            change: who or what notes it, and the message it was learned from.
            at: when it was told.
            happened_at: when it happened; None for when it was told.
            importance: 0 to 1.

        Raises:
            InvalidInput: the text is empty.
        """
        if not text.strip():
            raise InvalidInput("An empty text is no event. Say what happened.")
        entry = JournalEntry(
            id=self._ids.next(),
            scope=scope,
            at=as_stored(happened_at or at),
            text=text,
            importance=importance,
            noted_at=as_stored(at),
            source_message=change.source_message,
        )
        same_words = select(table).where(in_scope(table, scope), table.c.text_hash == text_hash(text))
        for row in await tx.connection.execute(same_words):
            if row.at == entry.at or (row.source_message is not None and row.source_message == entry.source_message):
                return None
        await tx.connection.execute(
            insert(table).values(
                person=scope.person,
                audience=scope.audience,
                id=entry.id,
                at=entry.at,
                text=text,
                text_hash=text_hash(text),
                importance=importance,
                noted_at=entry.noted_at,
                source_message=change.source_message,
                session_id=change.session_id,
                job=change.job,
            )
        )
        tx.after_commit(lambda: _log.info("journal_entry", entry=entry.id, session_id=change.session_id))
        return entry

    async def between(self, reach: Reach, start: datetime, end: datetime, *, limit: int) -> list[JournalEntry]:
        """Events by when they happened, both ends included, oldest first."""
        query = select(table).where(in_reach(table, reach), table.c.at.between(start, end))
        return await self._found(query.order_by(table.c.at, table.c.id).limit(limit))

    async def latest(self, reach: Reach, *, until: datetime, limit: int) -> list[JournalEntry]:
        """The last events up to a moment, newest first."""
        query = select(table).where(in_reach(table, reach), table.c.at <= until)
        return await self._found(query.order_by(table.c.at.desc(), table.c.id.desc()).limit(limit))

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete the events that were learned from a message."""
        mine = in_scope(table, scope) & (table.c.source_message == source_message)
        await tx.connection.execute(delete(table).where(mine))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every event of a scope, in the order they were noted."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back events of an export; how many were not there. Raises InvalidInput where another one is."""
        return len(await restore_rows(tx, table, scope, rows))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every event of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}

    async def _found(self, query: Select[Any]) -> list[JournalEntry]:
        async with self._database.read() as connection:
            return [_entry(row) for row in await connection.execute(query)]


def _entry(row: Row[Any]) -> JournalEntry:
    return JournalEntry(
        id=row.id,
        scope=scope_of_row(row),
        at=row.at,
        text=row.text,
        importance=row.importance,
        noted_at=row.noted_at,
        source_message=row.source_message,
    )
