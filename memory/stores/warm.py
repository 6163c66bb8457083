"""The warm tier: what happened lately and is worth most, in distilled entries.

This store owns the table of entries, whose archived part ``stores.cold`` reads.

Invariant: the warm entries of a scope are never larger together than the limit; what leaves is archived in the same
transaction. Only what was given to somebody is reinforced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Row, and_, bindparam, delete, func, insert, select, update

from memory.database import Database, Transaction
from memory.policy.decay import frozen_at, score_at
from memory.policy.fact_text import text_hash
from memory.policy.metadata import metadata_of
from memory.policy.tiers import Eviction, WarmLimits, current_score, evictions, size_of_text
from memory.policy.word_overlap import overlap
from memory.records import Change, NewEntry, Reach, Scope, Source, Tier, TierCounts, TierEntry
from memory.schema import entries
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    in_any_scope,
    in_reach,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_of_row,
    scope_values,
    with_keys,
)
from memory.stores.search import SearchStore
from memory.stores.tier_days import TierDayStore
from memory.stores.tier_rows import entry_id, entry_of_row, kept, searchable_entry
from memory.stores.tier_search import EntryReader
from memory.stores.tree import TreeStore

_log = structlog.get_logger(__name__)

_CHANGING = (
    "tier",
    "category",
    "metadata",
    "bytes",
    "access_count",
    "touched_at",
    "frozen_at",
    "score",
    "archived_at",
    "archive_reason",
    "archived_by",
    "removed_at",
    "removed_by",
)

# Of one entry of many; the rest of its values are the columns that change.
_CHANGE = update(entries).where(in_any_scope(entries), entries.c.id == bindparam("of_id"))


class WarmStore(EntryReader):
    """The table of entries, and its warm part.

    Args:
        database: where the rows are.
        search: indexes their texts.
        tree: files them.
        days: counts what happens.
        limits: how much is warm.
    """

    name = "entries"

    def __init__(
        self, database: Database, search: SearchStore, tree: TreeStore, days: TierDayStore, *, limits: WarmLimits
    ) -> None:
        super().__init__(database, search)
        self._tree = tree
        self._days = days
        self.limits = limits

    async def add(
        self, scope: Scope, tx: Transaction, *, new: NewEntry, change: Change, at: datetime
    ) -> TierEntry | None:
        """Keep an entry and file it; None where the same words are kept already.

        Args:
            scope: whose.
            tx: the open transaction.
            new: what is kept; its text is not empty.
            change: who or what keeps it, and the message it was learned from.
            at: now.
        """
        same = select(entries.c.id).where(in_scope(entries, scope), entries.c.text_hash == text_hash(new.text), kept())
        if (await tx.connection.execute(same)).first() is not None:
            return None
        path = await self._tree.file(scope, tx, category=new.category, at=at)
        worth: dict[str, Any] = {"importance": new.importance, "created_at": as_stored(new.created_at)}
        row = {
            **worth,
            "person": scope.person,
            "audience": scope.audience,
            "id": await self._free_id(scope, tx, new),
            "tier": Tier.WARM.value,
            "text": new.text,
            "text_hash": text_hash(new.text),
            "category": path,
            "access_count": 0,
            "touched_at": as_stored(at),
            "frozen_at": frozen_at(**worth, access_count=0),
            "score": score_at(at, **worth, access_count=0),
            "bytes": size_of_text(new.text, new.metadata),
            "metadata": dict(new.metadata),
            "source_message": change.source_message,
            "session_id": change.session_id,
            "job": change.job,
        }
        await tx.connection.execute(insert(entries).values(**row))
        items = [(row["id"], piece) for piece in searchable_entry(new.text, row["created_at"])]
        await self._search.add(scope, tx, source=Source.ENTRY, items=items)
        await self._tree.recount(scope, tx, paths=[path], active_at=as_stored(at))
        _, size = await self.size_within(scope, tx)
        if size > self.limits.max_bytes:
            await self.evict(scope, tx, change=change, at=at)
        [kept_row] = await self._rows(scope, tx, [row["id"]])
        return kept_row

    async def evict(self, scope: Scope, tx: Transaction, *, change: Change, at: datetime) -> list[Eviction]:
        """Archive what must leave the warm tier; what left, and why."""
        query = select(entries).where(_warm_of(scope))
        warm = [entry_of_row(row) for row in await tx.connection.execute(query)]
        gone = evictions(warm, now=at, limits=self.limits)
        if gone:
            archived = {"tier": Tier.COLD.value, "archived_at": as_stored(at), "archived_by": change.job}
            rows = [
                {
                    **_key(eviction.entry),
                    **archived,
                    "score": current_score(eviction.entry, at),
                    "archive_reason": eviction.reason,
                }
                for eviction in gone
            ]
            await tx.connection.execute(_CHANGE, rows)
            await self._tree.recount(scope, tx, paths={eviction.entry.category for eviction in gone})
            await self._days.add(scope, tx, counts=TierCounts(evictions=len(gone)), at=at)
            tx.after_commit(lambda: _log.info("warm_evicted", entries=len(gone)))
        return gone

    async def rescore(self, scope: Scope, tx: Transaction, *, at: datetime) -> list[TierEntry]:
        """Write down what every warm entry is worth now; the entries, best first."""
        query = select(entries).where(_warm_of(scope))
        warm = [entry_of_row(row) for row in await tx.connection.execute(query)]
        scored = [replace(entry, score=current_score(entry, at)) for entry in warm]
        if scored:
            await tx.connection.execute(_CHANGE, [{**_key(entry), "score": entry.score} for entry in scored])
        return sorted(scored, key=lambda entry: (-entry.score, entry.id))

    async def reinforce(self, tx: Transaction, given: Collection[tuple[Scope, int]], *, at: datetime) -> None:
        """Count that these very entries, by their scopes and ids, were given to somebody by one search."""
        if not given:
            return
        found = (await tx.connection.execute(select(entries).where(with_keys(entries, given), kept()))).all()
        if not found:
            return
        await tx.connection.execute(_CHANGE, [_reinforced(row, at) for row in found])
        categories: defaultdict[Scope, list[str]] = defaultdict(list)
        for row in found:
            categories[scope_of_row(row)].append(row.category)
        for scope, paths in categories.items():
            await self._tree.note_use(scope, tx, paths=set(paths), at=as_stored(at))
            await self._days.add(scope, tx, counts=TierCounts(retrievals=1, reinforcements=len(paths)), at=at)

    async def all(self, scope: Scope) -> list[TierEntry]:
        """The warm entries of a scope, the best first as of their last scoring."""
        query = select(entries).where(_warm_of(scope))
        return await self._found(query.order_by(entries.c.score.desc(), entries.c.id))

    async def search(self, reach: Reach, query: str, *, limit: int, now: datetime) -> list[TierEntry]:
        """Warm entries that share words with a query: share of its words in text and category, times the score."""
        rows = select(entries).where(in_reach(entries, reach), entries.c.tier == Tier.WARM.value, kept())
        scored = [replace(entry, score=current_score(entry, now)) for entry in await self._found(rows)]
        ranked = [
            (share * entry.score, entry)
            for entry in scored
            if (share := overlap(query, f"{entry.text} {entry.category}"))
        ]
        ranked.sort(key=lambda found: (-found[0], found[1].id))
        return [entry for _, entry in ranked[:limit]]

    async def known(self, scope: Scope, texts: Sequence[str]) -> set[str]:
        """The hashes of those texts that are kept in either tier."""
        hashes = {text_hash(text) for text in texts}
        query = select(entries.c.text_hash).where(in_scope(entries, scope), entries.c.text_hash.in_(hashes), kept())
        async with self._database.read() as connection:
            return set((await connection.execute(query)).scalars())

    async def size(self, scope: Scope) -> tuple[int, int]:
        """How many warm entries a scope has, and their bytes."""
        async with self._database.read() as connection:
            row = (await connection.execute(_sizes(scope))).one()
        return int(row[0]), int(row[1])

    async def characters(self, scope: Scope) -> int:
        """How long the texts of all entries of a scope are together, of either tier."""
        query = select(func.coalesce(func.sum(func.length(entries.c.text)), 0))
        async with self._database.read() as connection:
            return int((await connection.execute(query.where(in_scope(entries, scope), kept()))).scalar_one())

    async def size_within(self, scope: Scope, tx: Transaction) -> tuple[int, int]:
        """The same within a transaction."""
        row = (await tx.connection.execute(_sizes(scope))).one()
        return int(row[0]), int(row[1])

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete, for good, what was learned from a message."""
        mine = in_scope(entries, scope) & (entries.c.source_message == source_message)
        found = (await tx.connection.execute(select(entries.c.id, entries.c.category).where(mine))).all()
        await tx.connection.execute(delete(entries).where(mine))
        await self._search.remove(scope, tx, source=Source.ENTRY, record_ids=[row.id for row in found])
        await self._tree.recount(scope, tx, paths={row.category for row in found})
        if found:
            await self._tree.without_cores(scope, tx)

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every entry of a scope, of both tiers."""
        return await rows_of_scope(self._database, entries, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back entries of an export, searchable; how many were not there. Before the tree, which counts them.

        What has no metadata is given that of its text.

        Raises:
            InvalidInput: another entry has the id of one of them.
        """
        new = await restore_rows(tx, entries, scope, list(map(_with_metadata, rows)), changing=_CHANGING)
        items = [
            (row["id"], piece)
            for row in new
            if row["removed_at"] is None
            for piece in searchable_entry(row["text"], row["created_at"])
        ]
        await self._search.add(scope, tx, source=Source.ENTRY, items=items)
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every entry of a scope (the search store erases its texts)."""
        return {entries.name: await delete_scope(tx, entries, scope)}

    async def _free_id(self, scope: Scope, tx: Transaction, new: NewEntry) -> int:
        taken = 0
        while True:
            drawn = entry_id(new.text, new.created_at, taken)
            known = select(entries.c.id).where(in_scope(entries, scope), entries.c.id == drawn)
            if (await tx.connection.execute(known)).first() is None:
                return drawn
            taken += 1

    async def _rows(self, scope: Scope, tx: Transaction, ids: Sequence[int]) -> list[TierEntry]:
        query = select(entries).where(in_scope(entries, scope), entries.c.id.in_(ids))
        return [entry_of_row(row) for row in await tx.connection.execute(query)]


def _key(entry: TierEntry) -> dict[str, Any]:
    return {**scope_values(entry.scope), "of_id": entry.id}


def _reinforced(row: Row[Any], at: datetime) -> dict[str, Any]:
    worth = {"importance": row.importance, "created_at": row.created_at, "access_count": row.access_count + 1}
    return {
        **scope_values(scope_of_row(row)),
        "of_id": row.id,
        "access_count": row.access_count + 1,
        "touched_at": as_stored(at),
        "frozen_at": frozen_at(**worth),
        "score": score_at(at, **worth),
    }


def _with_metadata(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if row["metadata"] or not (found := metadata_of(row["text"])):
        return row
    return {**row, "metadata": dict(found), "bytes": size_of_text(row["text"], found)}


def _warm_of(scope: Scope) -> ColumnElement[bool]:
    return and_(in_scope(entries, scope), entries.c.tier == Tier.WARM.value, kept())


def _sizes(scope: Scope) -> Any:
    total = func.coalesce(func.sum(entries.c.bytes), 0)
    return select(func.count(), total).select_from(entries).where(_warm_of(scope))
