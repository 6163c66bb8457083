"""The cold tier: what left the warm one, for ten years, found by a query and never loaded as a whole.

Its rows are those of the table of entries that are archived. An entry worth less than 0.05 is frozen: kept, and left
out of searches.

Invariant: nothing is deleted at once. What is older than it is kept for and frozen is let go of, can be brought back
for a month, and only then goes for good.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import and_, delete, func, select, update

from memory.database import Database, Transaction
from memory.policy.tiers import current_score
from memory.records import Origin, Reach, Scope, Source, Tier, TierEntry
from memory.schema import entries
from memory.stores.scoped import as_stored, id_batches, in_reach, in_scope, made_by
from memory.stores.search import SearchStore
from memory.stores.tier_rows import entry_of_row, kept, searchable_entry
from memory.stores.tier_search import EntryReader
from memory.stores.tree import TreeStore

_log = structlog.get_logger(__name__)

_ASKED_WORDS = 3
_LET_GO_FOR = timedelta(days=31)
_COLD = entries.c.tier == Tier.COLD.value


class ColdStore(EntryReader):
    """The archived part of the table of entries.

    Args:
        database: where the rows are.
        search: finds them by their words.
        tree: counts them.
        retention: how long a frozen entry is kept, from when it happened.
    """

    def __init__(self, database: Database, search: SearchStore, tree: TreeStore, *, retention: timedelta) -> None:
        super().__init__(database, search)
        self._tree = tree
        self._retention = retention

    async def query(
        self, reach: Reach, text: str, *, now: datetime, limit: int = 10, frozen: bool = False
    ) -> list[TierEntry]:
        """Entries that hold the first three words of a text, the most important first, then the newest.

        Args:
            reach: what may be read.
            text: any text; without a word it finds nothing.
            now: the present moment.
            limit: entries at most.
            frozen: whether frozen ones are found too.
        """
        words = text.split()[:_ASKED_WORDS]
        if not words:
            return []
        holding = and_(*(entries.c.text.icontains(word, autoescape=True) for word in words))
        rows = select(entries).where(in_reach(entries, reach), _COLD, kept(), holding)
        if not frozen:
            rows = rows.where(entries.c.frozen_at > now)
        rows = rows.order_by(entries.c.importance.desc(), entries.c.created_at.desc()).limit(limit)
        async with self._database.read() as connection:
            found = [entry_of_row(row) for row in await connection.execute(rows)]
        return [replace(entry, score=current_score(entry, now)) for entry in found]

    async def search(self, reach: Reach, query: str, *, limit: int, now: datetime) -> list[TierEntry]:
        """Entries that answer a query best by the full-text index, best first; frozen ones are left out."""
        return await self.by_words(reach, query, limit=limit, now=now, tier=Tier.COLD)

    async def count(self, scope: Scope) -> int:
        """How many entries are archived."""
        query = select(func.count()).select_from(entries).where(in_scope(entries, scope), _COLD, kept())
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one()

    async def let_go(self, scope: Scope, tx: Transaction, *, job: str, at: datetime) -> int:
        """Let go of frozen entries older than they are kept for, and delete what was let go of long ago; how many."""
        await self._purge(scope, tx, before=at - _LET_GO_FOR)
        overdue = and_(_COLD, kept(), entries.c.frozen_at <= at, entries.c.created_at < at - self._retention)
        return await self._remove(scope, tx, overdue, job=job, at=at)

    async def remove_work(self, scope: Scope, tx: Transaction, *, origin: Origin, by: str, at: datetime) -> int:
        """Let go of what a session or a job made; how many."""
        return await self._remove(scope, tx, made_by(entries, origin), job=by, at=at)

    async def made_by(self, scope: Scope, tx: Transaction, *, origin: Origin) -> list[TierEntry]:
        """The entries that a session or a job made and that are kept."""
        return await self._rows(scope, tx, and_(made_by(entries, origin), kept()))

    async def archived_by(self, scope: Scope, tx: Transaction, *, job: str) -> list[TierEntry]:
        """The entries that a job archived and that are archived still."""
        return await self._rows(scope, tx, and_(_COLD, kept(), entries.c.archived_by == job))

    async def let_go_by(self, scope: Scope, tx: Transaction, *, job: str) -> list[TierEntry]:
        """The entries that a job let go of and that can be brought back."""
        return await self._rows(scope, tx, entries.c.removed_by == job)

    async def bring_back(self, scope: Scope, tx: Transaction, *, job: str) -> int:
        """Put what a job archived back among the warm, and what it let go of back into the archive; how many."""
        archived = await self.archived_by(scope, tx, job=job)
        let_go = await self.let_go_by(scope, tx, job=job)
        warm = {"tier": Tier.WARM.value, "archived_at": None, "archive_reason": "", "archived_by": None}
        await self._write(scope, tx, archived, warm)
        await self._write(scope, tx, let_go, {"removed_at": None, "removed_by": None})
        items = [(entry.id, piece) for entry in let_go for piece in searchable_entry(entry.text, entry.created_at)]
        await self._search.put(scope, tx, source=Source.ENTRY, items=items)
        await self._tree.recount(scope, tx, paths={entry.category for entry in (*archived, *let_go)})
        return len(archived) + len(let_go)

    async def _remove(self, scope: Scope, tx: Transaction, which: Any, *, job: str, at: datetime) -> int:
        gone = await self._rows(scope, tx, and_(which, kept()))
        await self._write(scope, tx, gone, {"removed_at": as_stored(at), "removed_by": job})
        await self._search.remove(scope, tx, source=Source.ENTRY, record_ids=[entry.id for entry in gone])
        await self._tree.recount(scope, tx, paths={entry.category for entry in gone})
        if gone:
            await self._tree.without_cores(scope, tx)
            tx.after_commit(lambda: _log.info("entries_let_go", entries=len(gone)))
        return len(gone)

    async def _purge(self, scope: Scope, tx: Transaction, *, before: datetime) -> None:
        await tx.connection.execute(delete(entries).where(in_scope(entries, scope), entries.c.removed_at < before))

    async def _rows(self, scope: Scope, tx: Transaction, which: Any) -> list[TierEntry]:
        query = select(entries).where(in_scope(entries, scope), which).order_by(entries.c.created_at, entries.c.id)
        return [entry_of_row(row) for row in await tx.connection.execute(query)]

    async def _write(self, scope: Scope, tx: Transaction, some: Collection[TierEntry], values: dict[str, Any]) -> None:
        for ids in id_batches([entry.id for entry in some]):
            mine = in_scope(entries, scope) & entries.c.id.in_(ids)
            await tx.connection.execute(update(entries).where(mine).values(**values))
