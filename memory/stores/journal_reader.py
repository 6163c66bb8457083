"""The read side of the journal: events by date, the agent's work by number, by words and meaning, and by what made it.

Invariant: what went out of sight is found by its number alone, or by the session or job that took it away; by searching
only where a digest stands for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Select, Subquery, and_, bindparam, func, or_, select

from memory.database import Database, Transaction
from memory.policy.ranking import RankedEntry, Setting, candidates_of, rank, rerank, why_found
from memory.ports import EmbeddedQuery
from memory.records import (
    ArchiveReason,
    Change,
    DigestVersion,
    JournalCategory,
    JournalEntry,
    NumberedEntry,
    Origin,
    Reach,
    Scope,
    SearchHit,
    Source,
)
from memory.schema import journal_entries as table
from memory.stores.journal_rows import entry_of_row
from memory.stores.scoped import in_any_scope, in_reach, in_scope, made_by, scope_values, with_keys
from memory.stores.search import SearchStore

_STANDING = or_(table.c.archived_at.is_(None), table.c.archive_reason == ArchiveReason.DIGESTED.value)
_OVERFETCH = 2  # what was cleared or has expired is still found, and left out


def of_agent(rows: ColumnElement[bool]) -> ColumnElement[bool]:
    """Those of these rows that are about the agent's work."""
    return and_(rows, table.c.category != JournalCategory.EVENT.value)


# Made once, since making a statement takes longer than running it.
_AGENTS_IN_SIGHT = of_agent(in_any_scope(table)) & table.c.archived_at.is_(None)
_IN_SIGHT = select(table).where(_AGENTS_IN_SIGHT)
_TAIL = _IN_SIGHT.order_by(table.c.id.desc()).limit(bindparam("most"))
_COUNT = select(func.count()).where(_AGENTS_IN_SIGHT)


class JournalReader:
    """Reads the table of journal entries. ``JournalStore`` adds the writes.

    Args:
        database: where the rows are.
        search: indexes their texts.
    """

    def __init__(self, database: Database, search: SearchStore) -> None:
        self._database = database
        self._search = search

    async def between(self, reach: Reach, start: datetime, end: datetime, *, limit: int) -> list[JournalEntry]:
        """Events by when they happened, both ends included, oldest first."""
        query = select(table).where(of_life(in_reach(table, reach)), table.c.at.between(start, end))
        return await self._found(query.order_by(table.c.at, table.c.id).limit(limit))

    async def latest(self, reach: Reach, *, until: datetime, limit: int) -> list[JournalEntry]:
        """The last events up to a moment, newest first."""
        query = select(table).where(of_life(in_reach(table, reach)), table.c.at <= until)
        return await self._found(query.order_by(table.c.at.desc(), table.c.id.desc()).limit(limit))

    async def noted_since(self, scope: Scope, start: datetime | None) -> list[JournalEntry]:
        """What was noted from a moment on, all without one, oldest first: what is in sight or stands in a digest.

        A digest itself is left out, for it tells of other days.
        """
        query = select(table).where(in_scope(table, scope), table.c.category != JournalCategory.DIGEST.value, _STANDING)
        if start is not None:
            query = query.where(table.c.noted_at >= start)
        return await self._found(query.order_by(table.c.noted_at, table.c.id))

    async def tail(self, scope: Scope, limit: int | None) -> list[JournalEntry]:
        """The newest entries in sight on the agent's work, all without a limit, oldest first."""
        if limit is None:
            return await self._found(_IN_SIGHT.order_by(table.c.id), scope_values(scope))
        return (await self._found(_TAIL, {**scope_values(scope), "most": limit}))[::-1]

    async def in_sight(self, scope: Scope, tx: Transaction) -> int:
        """How many entries on the agent's work are in sight, with what this transaction added."""
        return (await tx.connection.execute(_COUNT, scope_values(scope))).scalar_one()

    async def newest_id(self, scope: Scope, tx: Transaction) -> int:
        """The id of the newest entry, with what this transaction added; 0 where there is none."""
        query = select(func.max(table.c.id)).where(in_scope(table, scope))
        return (await tx.connection.execute(query)).scalar_one() or 0

    async def numbered(
        self, scope: Scope, *, number: int | None = None, limit: int | None = None
    ) -> list[NumberedEntry]:
        """Entries on the agent's work under their numbers, oldest first.

        Args:
            scope: whose.
            number: the one of this number, in sight or not; None for those in sight.
            limit: how many at most, the newest.
        """
        numbers = _numbers(scope)
        wanted = table.c.archived_at.is_(None) if number is None else numbers.c.number == number
        query = (
            select(table, numbers.c.number)
            .join(numbers, table.c.id == numbers.c.id)
            .where(in_scope(table, scope), wanted)
            .order_by(table.c.id.desc())
            .limit(limit)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        return [NumberedEntry(number=row.number, entry=entry_of_row(row)) for row in reversed(rows)]

    async def numbers_of(self, scope: Scope, entry_ids: Collection[int]) -> dict[int, int]:
        """The numbers of these entries by their ids; those of other scopes, and events, have none."""
        numbers = _numbers(scope)
        async with self._database.read() as connection:
            rows = await connection.execute(select(numbers).where(numbers.c.id.in_(entry_ids)))
            return {row.id: row.number for row in rows}

    async def search(
        self, reach: Reach, query: str, *, limit: int, embedded: EmbeddedQuery | None = None
    ) -> list[SearchHit]:
        """The entries that answer a query best, best first, each with the piece of it that does; also digested ones.

        Args:
            reach: what may be read.
            query: any text.
            limit: hits at most.
            embedded: the query's vectors, where the caller has them already.
        """
        if embedded is None:
            embedded = await self._search.embedded(query)
        found = await self._search.search(
            reach, source=Source.JOURNAL, query=query, limit=limit * _OVERFETCH, embedded=embedded
        )
        ranked = rank(found)
        keys = {(one.entry.scope, one.entry.record_id) for one in ranked}
        entries = {
            entry.id: entry for entry in await self._found(select(table).where(with_keys(table, keys), _STANDING))
        }
        usable = [one for one in ranked if one.entry.record_id in entries]
        look = partial(
            self._search.excerpts,
            reach=reach,
            source=Source.JOURNAL,
            candidates=usable[: candidates_of(limit)],
            embedded=embedded,
        )
        excerpts = await self._database.read_together(look)
        settings = {entry.id: Setting(group=entry.id, at=entry.noted_at) for entry in entries.values()}
        tokens = None if embedded is None else embedded.tokens
        best = rerank(excerpts, settings, query, tokens=tokens)[:limit]
        pieces = await self._search.texts(reach, [one.entry.entry_id for one in best])
        return [_hit(entries[one.entry.record_id], one, pieces.get(one.entry.entry_id, "")) for one in best]

    async def events(
        self, reach: Reach, query: str, *, limit: int, embedded: EmbeddedQuery | None = None
    ) -> list[SearchHit]:
        """The events most like a query, best first, each with when it happened.

        Args: as ``search`` takes them.
        """
        found = await self._search.search(
            reach, source=Source.JOURNAL, query=query, limit=limit * _OVERFETCH, embedded=embedded
        )
        keys = {(entry.scope, entry.record_id) for entry in found}
        entries = {entry.id: entry for entry in await self._found(select(table).where(of_life(with_keys(table, keys))))}
        best = rank([entry for entry in found if entry.record_id in entries])[:limit]
        hits = [(entries[one.entry.record_id], one) for one in best]
        return [replace(_hit(entry, one, entry.text), at=entry.at) for entry, one in hits]

    async def counts(self, scope: Scope) -> dict[str, int]:
        """How many entries there are, by category, and how many of all are out of sight (``archived``)."""
        query = (
            select(table.c.category, func.count(), func.count(table.c.archived_at))
            .where(in_scope(table, scope))
            .group_by(table.c.category)
        )
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        return {category: every for category, every, _ in rows} | {"archived": sum(archived for *_, archived in rows)}

    async def of_work(self, scope: Scope, *, origin: Origin) -> tuple[list[JournalEntry], list[JournalEntry]]:
        """What one session or job added and is still in sight, and what it took out of sight and still is."""
        added, archived = _by_work(origin)
        mine = in_scope(table, scope)
        return (
            await self._found(select(table).where(mine, added, table.c.archived_at.is_(None)).order_by(table.c.id)),
            await self._found(select(table).where(mine, archived).order_by(table.c.id)),
        )

    async def digests(self, scope: Scope) -> list[DigestVersion]:
        """The digests in sight, each as the change that it was, oldest first."""
        query = select(table).where(in_scope(table, scope), table.c.category == JournalCategory.DIGEST.value)
        async with self._database.read() as connection:
            rows = await connection.execute(query.where(table.c.archived_at.is_(None)).order_by(table.c.id))
            change = Change(actor="system", reason="a digest of the journal")
            return [DigestVersion(changed_at=row.noted_at, change=replace(change, job=row.job)) for row in rows]

    async def _found(self, query: Select[Any], values: Mapping[str, Any] | None = None) -> list[JournalEntry]:
        async with self._database.read() as connection:
            return [entry_of_row(row) for row in await connection.execute(query, values)]


def _numbers(scope: Scope) -> Subquery:
    """The ids and numbers of a scope's entries on the agent's work."""
    counted = func.row_number().over(order_by=table.c.id).label("number")
    return select(table.c.id, counted).where(of_agent(in_scope(table, scope))).subquery()


def of_life(rows: ColumnElement[bool]) -> ColumnElement[bool]:
    """Those of these rows that are events in sight."""
    return and_(rows, table.c.category == JournalCategory.EVENT.value, table.c.archived_at.is_(None))


def _by_work(origin: Origin) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """What a session or job added, and what it archived."""
    archived = (
        table.c.archived_by == origin.job if origin.session_id is None else table.c.archived_in == origin.session_id
    )
    return made_by(table, origin), archived


def _hit(entry: JournalEntry, ranked: RankedEntry, piece: str) -> SearchHit:
    """An entry with the piece that was found. A long result is found by its inside, which its line does not show."""
    _, _, inside = piece.partition("): ")
    return SearchHit(
        source=Source.JOURNAL,
        scope=entry.scope,
        record_id=entry.id,
        score=ranked.score,
        text=inside if inside.startswith(entry.text) else f"{entry.text}\n{inside}",
        author=None,
        at=entry.noted_at,
        reason=why_found(ranked),
        message_ids=() if entry.source_message is None else (entry.source_message,),
    )
