"""The journal: what happened in a person's life, by date, and what the agent did: tool results, notes, digests.

Invariant: an event stands in it once. Nothing is changed or deleted but by erasure or with the message that it comes
from: an entry goes out of sight with a reason, stays there, and can be brought back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import and_, insert, select, update

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.policy.fact_text import text_hash
from memory.records import ArchiveReason, Change, JournalCategory, JournalEntry, Origin, ResultPlace, Scope, Source
from memory.schema import journal_entries as table
from memory.stores.journal_reader import JournalReader, of_agent, of_life
from memory.stores.journal_rows import OF_OLDER_EXPORTS, row_of_entry, searchable_pieces
from memory.stores.scoped import as_stored, delete_scope, id_batches, in_scope, restore_rows, rows_of_scope
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

_CHANGING = ("archived_at", "archive_reason", "archived_in", "archived_by", "replaced_by")


class JournalStore(JournalReader):
    """The table of journal entries.

    Args:
        database: where the rows are.
        search: indexes their texts.
        ids: draws the entries' ids.
    """

    name = "journal"

    def __init__(self, database: Database, search: SearchStore, ids: IdSource) -> None:
        super().__init__(database, search)
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
        same_words = select(table).where(of_life(in_scope(table, scope)), table.c.text_hash == text_hash(text))
        for row in await tx.connection.execute(same_words):
            if row.at == entry.at or (row.source_message is not None and row.source_message == entry.source_message):
                return None
        return await self._insert(scope, tx, entry, change, content="")

    async def append(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        category: JournalCategory,
        text: str,
        change: Change,
        at: datetime,
        result: ResultPlace | None = None,
        content: str = "",
    ) -> JournalEntry:
        """Add a line on the agent's work, as often as it comes.

        Args:
            scope: whose journal.
            tx: the open transaction.
            category: what it is about.
            text: its printed form without the time.
            change: who or what adds it.
            at: when it happened.
            result: of a tool's result, where the whole of it is.
            content: of a tool's result, its text: found by searching, and not stored a second time.

        Raises:
            InvalidInput: the text is empty.
        """
        if not text.strip():
            raise InvalidInput("An empty text is no entry. Say what to note.")
        entry = JournalEntry(
            id=self._ids.next(),
            scope=scope,
            at=as_stored(at),
            text=text,
            importance=0.5,
            noted_at=as_stored(at),
            source_message=change.source_message,
            category=category,
            result=result,
        )
        return await self._insert(scope, tx, entry, change, content=content)

    async def archive(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        entry_ids: Collection[int],
        reason: ArchiveReason,
        change: Change,
        at: datetime,
        replaced_by: int | None = None,
    ) -> int:
        """Take entries out of sight; how many were in sight.

        Args:
            scope: whose journal.
            tx: the open transaction.
            entry_ids: of this scope.
            reason: why.
            change: who or what does it; by its session and job it can be undone.
            at: when.
            replaced_by: the entry that stands in their place from now on.
        """
        archived = 0
        for some_ids in id_batches(entry_ids):
            changed = await tx.connection.execute(
                update(table)
                .where(in_scope(table, scope), table.c.id.in_(some_ids), table.c.archived_at.is_(None))
                .values(
                    archived_at=at,
                    archive_reason=reason.value,
                    archived_in=change.session_id,
                    archived_by=change.job,
                    replaced_by=replaced_by,
                )
            )
            archived += changed.rowcount
        if archived:
            tx.after_commit(lambda: _log.info("journal_archive", reason=reason.value, entries=archived))
        return archived

    async def expire(self, tx: Transaction, *, before: datetime, at: datetime) -> int:
        """Take everybody's entries on the agent's work out of sight that are older than a moment; how many."""
        old = and_(of_agent(table.c.noted_at < before), table.c.archived_at.is_(None))
        gone = {"archived_at": at, "archive_reason": ArchiveReason.EXPIRED.value}
        expired = (await tx.connection.execute(update(table).where(old).values(**gone))).rowcount
        if expired:
            tx.after_commit(lambda: _log.info("journal_expired", entries=expired))
        return expired

    async def undo(self, scope: Scope, tx: Transaction, *, origin: Origin, change: Change, at: datetime) -> None:
        """Bring back what one session or job took out of sight, and take what it added out of sight."""
        added, archived = await self.of_work(scope, origin=origin)
        await self.archive(
            scope, tx, entry_ids=[one.id for one in added], reason=ArchiveReason.UNDONE, change=change, at=at
        )
        for some_ids in id_batches([one.id for one in archived]):
            back = dict.fromkeys(_CHANGING)
            await tx.connection.execute(
                update(table).where(in_scope(table, scope), table.c.id.in_(some_ids)).values(**back)
            )

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every entry of a scope, in the order they were noted."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back entries of an export, searchable; how many were not there.

        Raises:
            InvalidInput: another entry has the id of one of them.
        """
        whole = [{**OF_OLDER_EXPORTS, **row} for row in rows]
        new = await restore_rows(tx, table, scope, whole, changing=_CHANGING)
        items = [(row["id"], piece) for row in new for piece in searchable_pieces(row["text"], row["noted_at"])]
        await self._search.add(scope, tx, source=Source.JOURNAL, items=items)
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every entry of a scope (the search store erases its texts)."""
        return {table.name: await delete_scope(tx, table, scope)}

    async def _insert(
        self, scope: Scope, tx: Transaction, entry: JournalEntry, change: Change, *, content: str
    ) -> JournalEntry:
        await tx.connection.execute(insert(table).values(row_of_entry(entry, change)))
        items = [(entry.id, piece) for piece in searchable_pieces(entry.text, entry.noted_at, content)]
        await self._search.add(scope, tx, source=Source.JOURNAL, items=items)
        tx.after_commit(
            lambda: _log.info(
                "journal_entry", entry=entry.id, category=entry.category.value, session_id=change.session_id
            )
        )
        return entry
