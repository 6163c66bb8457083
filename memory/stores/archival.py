"""Archival memory: the facts and documents that the agent saves for good, found again by searching.

Invariant: a passage is forgotten softly (its row stays, no search finds it) until it is erased, and only passages
that a search returned count as accessed.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Row, and_, delete, func, insert, select, update
from sqlalchemy.engine import Connection

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.parameters import Fading
from memory.policy.chunking import pieces
from memory.policy.fading import Worth, faded_score, first_accesses, is_let_go, why_let_go
from memory.policy.ranking import (
    RankedEntry,
    Setting,
    candidates_of,
    rank,
    rerank,
    why_found,
)
from memory.policy.relevance import above_floor, has_content
from memory.policy.text import spoken_date
from memory.ports import Clock, EmbeddedQuery
from memory.records import EntryScore, Passage, Reach, Scope, SearchHit, Source
from memory.schema import archival_stats, passages
from memory.stores.scoped import (
    as_stored,
    by_keys,
    delete_scope,
    id_batches,
    in_reach,
    in_scope,
    key_values,
    restore_rows,
    rows_of_scope,
    scope_of_row,
    with_keys,
)
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

_OVERFETCH = 3  # importance, age and use may lift a passage this far
_MANY = 500  # results asked for where types and importance leave too few of the first ones
_DAY = timedelta(days=1)
_BY_KEYS = by_keys(passages)
_CHANGING = ("last_accessed_at", "access_count", "forgotten_at", "forgotten_reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalStats:
    """The size of a scope's archival memory, and how its searches fared.

    Attributes:
        total: passages that a search can find.
        hits: searches that found something relevant.
        misses: searches that did not, though there was something to search. Small talk is not counted.
    """

    total: int
    hits: int
    misses: int


class Trace(Enum):
    """When to note that passages were accessed, and that a search was a hit or a miss."""

    NOW = "now"
    LATER = "later"  # when ``note_use`` is called; a person waits for the search, and not for the note
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """What a search leaves behind. ``hit`` is None where it does not count."""

    accessed: Sequence[SearchHit]
    at: datetime
    hit: bool | None


class ArchivalStore:
    """The table of passages.

    Args:
        database: where the rows are.
        search: indexes their texts.
        ids: draws the passages' ids.
        clock: says when a passage was stored and accessed.
        fading: by which rule passages fade.
    """

    name = "archival"

    def __init__(
        self,
        database: Database,
        search: SearchStore,
        ids: IdSource,
        clock: Clock,
        *,
        fading: Fading = Fading.REUSE,
    ) -> None:
        self._database = database
        self._search = search
        self._ids = ids
        self._clock = clock
        self._fading = fading
        self._unnoted: defaultdict[Scope, list[_Use]] = defaultdict(list)

    async def insert(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        content: str,
        memory_type: str = "fact",
        importance: float = 0.5,
        metadata: Mapping[str, Any] | None = None,
        source_message: int | None = None,
    ) -> Passage:
        """Store a passage and make it searchable under its date.

        Args:
            scope: whose.
            tx: the open transaction.
            content: the text, free of lone surrogates (``policy.text.clean``). What is stored already, and not
                forgotten, is returned as it stands and not stored again.
            memory_type: ``fact``, ``document``, ``preference``, ``episode`` or another word.
            importance: 0 to 1.
            metadata: anything that JSON can hold.
            source_message: the message it was learned from.

        Raises:
            InvalidInput: the text is empty, or the importance is out of range.
        """
        if not content.strip():
            raise InvalidInput("An empty text cannot be kept. Say what to keep.")
        if not 0.0 <= importance <= 1.0:
            raise InvalidInput(f"The importance {importance} is out of range. Give a number from 0 to 1.")
        digest = hashlib.sha256(content.encode()).hexdigest()
        same = select(passages).where(_alive(scope), passages.c.content_hash == digest)
        already = (await tx.connection.execute(same)).first()
        if already is not None:
            return _passage(already)
        now = as_stored(self._clock.now())
        values: dict[str, Any] = {
            "id": self._ids.next(),
            "content": content,
            "memory_type": memory_type,
            "importance": importance,
            "created_at": now,
            "last_accessed_at": now,
            "access_count": first_accesses(self._fading),
            "metadata": dict(metadata or {}),
            "source_message": source_message,
        }
        owner = {"person": scope.person, "audience": scope.audience}
        await tx.connection.execute(insert(passages).values(**owner, **values, content_hash=digest))
        passage = Passage(scope=scope, **values)
        texts = _searchable(content, now)
        await self._search.add(scope, tx, source=Source.ARCHIVAL, items=[(passage.id, text) for text in texts])
        tx.after_commit(
            lambda: _log.info("archival_insert", passage=passage.id, characters=len(content), entries=len(texts))
        )
        return passage

    async def search(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        *,
        limit: int = 5,
        memory_types: Collection[str] | None = None,
        min_importance: float = 0.0,
        recency_weight: float = 0.1,
        embedded: EmbeddedQuery | None = None,
        trace: Trace = Trace.NOW,
        floor: bool = False,
    ) -> list[SearchHit]:
        """The passages that answer a query best, best first.

        Args:
            scope: the scope of the conversation, which counts the hit or the miss.
            reach: what may be read.
            query: any text.
            limit: hits at most.
            memory_types: leave out passages of other types; None for all.
            min_importance: leave out less important ones.
            recency_weight: how fast a passage fades, per day since it was last returned.
            embedded: the query's vectors, where the caller has them already.
            trace: when to note that the returned passages were accessed, and to count the search.
            floor: leave out what is not relevant enough to be shown unasked.
        """
        now = as_stored(self._clock.now())
        wanted = [passages.c.forgotten_at.is_(None), passages.c.importance >= min_importance]
        if memory_types is not None:
            wanted.append(passages.c.memory_type.in_(memory_types))
        if embedded is None:
            embedded = await self._search.embedded(query)
        look = partial(self._candidates, reach=reach, query=query, limit=limit, embedded=embedded, wanted=and_(*wanted))
        ranked, found = await self._database.read_together(look)
        relevant = above_floor(ranked, query, floors=self._search.floors(Source.ARCHIVAL))
        hits = sorted(
            (
                self._hit(found[one.entry.record_id], one, now, recency_weight)
                for one in (relevant if floor else ranked)
            ),
            key=lambda hit: -hit.score,
        )[:limit]
        countable = bool(ranked) and has_content(query)
        if trace is not Trace.NEVER and (hits or countable):
            own = [
                hit for hit in hits if hit.scope.person == scope.person
            ]  # of a linked account looking changes nothing
            self._unnoted[scope].append(_Use(accessed=own, at=now, hit=bool(relevant) if countable else None))
        if trace is Trace.NOW:
            await self.note_use(scope)
        return hits

    async def note_use(self, scope: Scope) -> None:
        """Note what the searches of this scope's conversations left to be noted."""
        uses = self._unnoted.pop(scope, [])
        if not uses:
            return

        async def note(tx: Transaction) -> None:
            for use in uses:
                await self._touch(tx, use.accessed, use.at)
                if use.hit is not None:
                    await self._count(scope, tx, hit=use.hit)

        await self._database.write(note)

    async def forget(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        threshold_days: float = 90,
        min_importance: float = 0.3,
        min_accesses: int = 3,
    ) -> int:
        """Forget the passages that the rule in force lets go of; how many.

        Args:
            threshold_days: days since the last access above which a passage is old.
            min_importance: importance that keeps a passage.
            min_accesses: accesses that keep a passage. These three are for the rule ``reuse``.
        """
        now = as_stored(self._clock.now())
        alive = (await tx.connection.execute(select(passages).where(_alive(scope)))).all()
        gone = [
            row.id
            for row in alive
            if is_let_go(
                self._fading,
                _worth(row, now),
                threshold_days=threshold_days,
                min_importance=min_importance,
                min_accesses=min_accesses,
            )
        ]
        for some in id_batches(gone):
            which = update(passages).where(in_scope(passages, scope), passages.c.id.in_(some))
            values = {"forgotten_at": now, "forgotten_reason": why_let_go(self._fading)}
            await tx.connection.execute(which.values(**values))
        await self._search.remove(scope, tx, source=Source.ARCHIVAL, record_ids=gone)
        if gone:
            tx.after_commit(lambda: _log.info("archival_forget", passages=len(gone)))
        return len(gone)

    async def reinstate(self, scope: Scope, tx: Transaction, *, passage_id: int) -> Passage | None:
        """Bring a forgotten passage back, as if it had been read just now; None where there is none of that id."""
        mine = and_(in_scope(passages, scope), passages.c.id == passage_id)
        row = (await tx.connection.execute(select(passages).where(mine))).first()
        if row is None:
            return None
        now, accesses = as_stored(self._clock.now()), row.access_count + 1
        back = update(passages).where(mine).values(forgotten_at=None, forgotten_reason=None)
        await tx.connection.execute(back.values(last_accessed_at=now, access_count=accesses))
        items = [(row.id, text) for text in _searchable(row.content, row.created_at)]
        await self._search.put(scope, tx, source=Source.ARCHIVAL, items=items)
        back_again = replace(_passage(row), forgotten_at=None, forgotten_reason=None)
        return replace(back_again, last_accessed_at=now, access_count=accesses)

    async def idle_scopes(self, before: datetime) -> list[Scope]:
        """The scopes of everybody in which a passage was not read since a moment, for the sweep."""
        query = select(passages.c.person, passages.c.audience).where(
            passages.c.forgotten_at.is_(None), passages.c.last_accessed_at < before
        )
        async with self._database.read() as connection:
            rows = await connection.execute(query.distinct())
        return [Scope(person=row.person, audience=row.audience) for row in rows]

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete, for good, what was saved in answer to a message."""
        mine = in_scope(passages, scope) & (passages.c.source_message == source_message)
        found = (await tx.connection.execute(select(passages.c.id).where(mine))).scalars().all()
        await tx.connection.execute(delete(passages).where(mine))
        await self._search.remove(scope, tx, source=Source.ARCHIVAL, record_ids=found)

    async def stats(self, scope: Scope) -> ArchivalStats:
        """How many passages there are, and how searches fared."""
        total = select(func.count()).select_from(passages).where(_alive(scope))
        counts = select(archival_stats.c.hits, archival_stats.c.misses).where(in_scope(archival_stats, scope))
        async with self._database.read() as connection:
            passages_alive = (await connection.execute(total)).scalar_one()
            row = (await connection.execute(counts)).first()
        hits, misses = (0, 0) if row is None else (row.hits, row.misses)
        return ArchivalStats(total=passages_alive, hits=hits, misses=misses)

    async def all(self, scope: Scope) -> list[Passage]:
        """The passages that are not forgotten, oldest first."""
        query = select(passages).where(_alive(scope)).order_by(passages.c.id)
        async with self._database.read() as connection:
            return [_passage(row) for row in await connection.execute(query)]

    async def everything(self, reach: Reach) -> list[Passage]:
        """Every passage within reach, forgotten or not, the newest first."""
        query = select(passages).where(in_reach(passages, reach)).order_by(passages.c.id.desc())
        async with self._database.read() as connection:
            return [_passage(row) for row in await connection.execute(query)]

    async def get(self, reach: Reach, passage_ids: Collection[int]) -> list[Passage]:
        """The passages of these ids within reach, forgotten or not; unknown ids are left out."""
        query = select(passages).where(in_reach(passages, reach), passages.c.id.in_(passage_ids))
        async with self._database.read() as connection:
            return [_passage(row) for row in await connection.execute(query.order_by(passages.c.id))]

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every passage of a scope, the forgotten ones included, oldest first."""
        return await rows_of_scope(self._database, passages, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of an export, searchable but for the forgotten; how many were not there.

        Raises:
            InvalidInput: another passage has the id of one of them.
        """
        new = await restore_rows(tx, passages, scope, rows, changing=_CHANGING)
        items = [
            (row["id"], text)
            for row in new
            if row["forgotten_at"] is None
            for text in _searchable(row["content"], row["created_at"])
        ]
        await self._search.add(scope, tx, source=Source.ARCHIVAL, items=items)
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every passage of a scope (the search store erases its entries); rows deleted per table."""
        return {table.name: await delete_scope(tx, table, scope) for table in (passages, archival_stats)}

    def _candidates(
        self,
        connection: Connection,
        *,
        reach: Reach,
        query: str,
        limit: int,
        embedded: EmbeddedQuery | None,
        wanted: ColumnElement[bool],
    ) -> tuple[list[RankedEntry], dict[int, Row[Any]]]:
        """Passages of the wanted kind by words and meaning, several times ``limit`` if there are as many."""
        ranked: list[RankedEntry] = []
        for results in (limit * _OVERFETCH, _MANY):
            entries = self._search.find(
                connection, reach=reach, source=Source.ARCHIVAL, query=query, limit=results, embedded=embedded
            )
            if not entries:
                return [], {}
            usable = _usable(connection, entries, wanted)
            ranked = rank([entry for entry in entries if entry.record_id in usable])
            if len(ranked) >= limit or len(entries) < results:
                break
        candidates = ranked[: candidates_of(limit)]
        excerpts = self._search.excerpts(
            connection, reach=reach, source=Source.ARCHIVAL, candidates=candidates, embedded=embedded
        )
        keys = {(one.entry.scope, one.entry.record_id) for one in candidates}
        found = {row.id: row for row in connection.execute(_BY_KEYS, key_values(keys)).all()}
        settings = {row.id: Setting(group=row.id, at=row.created_at) for row in found.values()}
        late = embedded is not None and embedded.tokens is not None
        return rerank(excerpts, settings, query, late=late), found

    def _hit(self, passage: Row[Any], ranked: RankedEntry, now: datetime, recency_weight: float) -> SearchHit:
        score = faded_score(self._fading, ranked.score, _worth(passage, now), recency_weight=recency_weight)
        return _hit(passage, ranked, score)

    async def _touch(self, tx: Transaction, hits: Sequence[SearchHit], now: datetime) -> None:
        if hits:
            await tx.connection.execute(
                update(passages)
                .where(with_keys(passages, {(hit.scope, hit.record_id) for hit in hits}))
                .values(last_accessed_at=now, access_count=passages.c.access_count + 1)
            )

    async def _count(self, scope: Scope, tx: Transaction, *, hit: bool) -> None:
        column = archival_stats.c.hits if hit else archival_stats.c.misses
        counted = update(archival_stats).where(in_scope(archival_stats, scope)).values({column: column + 1})
        holds_any = select(passages.c.id).where(in_scope(passages, scope)).limit(1)
        if (await tx.connection.execute(counted)).rowcount or not (await tx.connection.execute(holds_any)).first():
            return  # an empty archive has nothing to hit or miss, and that of an erased person stays empty
        first = {"hits": int(hit), "misses": int(not hit)}
        await tx.connection.execute(
            insert(archival_stats).values(person=scope.person, audience=scope.audience, **first)
        )


def _usable(connection: Connection, entries: Sequence[EntryScore], wanted: ColumnElement[bool]) -> set[int]:
    """The ids of those passages that are of the wanted kind."""
    keys = {(entry.scope, entry.record_id) for entry in entries}
    query = _BY_KEYS.with_only_columns(passages.c.id).where(wanted)
    return set(connection.execute(query, key_values(keys)).scalars().all())


def _searchable(content: str, created_at: datetime) -> list[str]:
    return pieces(content, heading=f"({spoken_date(created_at)})")


def _alive(scope: Scope) -> ColumnElement[bool]:
    return and_(in_scope(passages, scope), passages.c.forgotten_at.is_(None))


def _worth(passage: Row[Any], now: datetime) -> Worth:
    return Worth(
        importance=passage.importance,
        idle_days=(now - passage.last_accessed_at) / _DAY,
        accesses=passage.access_count,
    )


def _hit(passage: Row[Any], ranked: RankedEntry, score: float) -> SearchHit:
    return SearchHit(
        source=Source.ARCHIVAL,
        scope=scope_of_row(passage),
        record_id=passage.id,
        score=score,
        text=passage.content,
        author=None,
        at=passage.created_at,
        reason=why_found(ranked),
        vector=ranked.entry.vector,
        message_ids=() if passage.source_message is None else (passage.source_message,),
    )


def _passage(row: Row[Any]) -> Passage:
    return Passage(
        id=row.id,
        scope=scope_of_row(row),
        content=row.content,
        memory_type=row.memory_type,
        importance=row.importance,
        created_at=row.created_at,
        last_accessed_at=row.last_accessed_at,
        access_count=row.access_count,
        metadata=row.metadata,
        source_message=row.source_message,
        forgotten_at=row.forgotten_at,
        forgotten_reason=row.forgotten_reason,
    )
