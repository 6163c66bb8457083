"""The read side of facts: those that are true now, by likeness, by words, by triple, and their history.

Invariant: only current facts that have not expired are returned, but for ``get`` and ``history``, which know all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import structlog
from sqlalchemy import Select, bindparam, func, select
from sqlalchemy.engine import Connection

from memory.database import Database
from memory.errors import EmbedderError
from memory.policy.audience import reach_of_scope
from memory.policy.fact_changes import outdated
from memory.policy.fact_text import nested
from memory.policy.ranking import RankedEntry, Setting, candidates_of, rank, rerank, why_found
from memory.policy.relevance import above_floor
from memory.ports import Clock, EmbeddedQuery, Vectors
from memory.records import EntryScore, Fact, FactRevision, Reach, Scope, SearchHit, Source
from memory.schema import facts
from memory.stores.fact_revisions import FactRevisionStore
from memory.stores.fact_table import fact_of_row, true_at
from memory.stores.scoped import by_keys, in_reach, in_scope, keys_of, with_keys
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

_OVERFETCH = 2  # what has expired is still found, and left out

_TRUE_BY_KEYS = by_keys(facts).where(true_at(bindparam("now", type_=facts.c.expires_at.type)))


class FactReader:
    """Reads the table of facts. ``FactStore`` adds the writes.

    Args:
        database: where the rows are.
        search: indexes their texts.
        revisions: keeps their history.
        clock: says what has expired.
    """

    def __init__(self, database: Database, search: SearchStore, revisions: FactRevisionStore, clock: Clock) -> None:
        self._database = database
        self._search = search
        self._revisions = revisions
        self._clock = clock

    async def current(self, scope: Scope) -> list[Fact]:
        """Every fact of a scope that is true now, in the order they were learned."""
        return await self._found(select(facts).where(in_scope(facts, scope), self._true()))

    async def within(self, reach: Reach) -> list[Fact]:
        """Every fact within reach that is true now, in the order they were learned."""
        return await self._found(select(facts).where(in_reach(facts, reach), self._true()))

    async def get(self, reach: Reach, fact_ids: Collection[int]) -> list[Fact]:
        """The facts of these ids within reach, whatever their state; unknown ids are left out."""
        return await self._found(select(facts).where(in_reach(facts, reach), facts.c.id.in_(fact_ids)))

    async def learned_from(self, scope: Scope, message_ids: Collection[int]) -> list[Fact]:
        """The facts of a scope that are true now and were learned from these messages."""
        query = select(facts).where(in_scope(facts, scope), facts.c.source_message.in_(message_ids), self._true())
        return await self._found(query)

    async def count(self, scope: Scope) -> int:
        """How many facts of a scope are true now."""
        query = select(func.count()).select_from(facts).where(in_scope(facts, scope), self._true())
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one()

    async def similar(
        self,
        scope: Scope,
        text: str,
        *,
        limit: int,
        floor: float = 0.0,
        subject: str = "",
        predicate: str = "",
    ) -> list[Fact]:
        """The facts of exactly this scope that a statement may repeat, detail or contradict, most similar first.

        What was learned a moment ago is embedded first. Where the embedder fails, words alone decide.

        Args:
            scope: whose facts.
            text: the statement.
            limit: facts at most by likeness, and as many again of the same subject and predicate, which always
                count as similar: a contradiction often looks unlike.
            floor: least cosine similarity of those found by likeness.
            subject, predicate: the statement's, where it has them.
        """
        await self._embed_new(scope)
        reach = reach_of_scope(scope)
        entries = await self._search.search(reach, source=Source.FACT, query=text, limit=limit * _OVERFETCH)
        nearest = sorted(entries, key=lambda entry: (-_likeness(entry), -entry.record_id))
        found = await self._load([entry for entry in nearest if _likeness(entry) >= floor])
        by_likeness = dict.fromkeys(entry.record_id for entry in nearest)
        alike = [found[fact_id] for fact_id in by_likeness if fact_id in found][:limit]
        slot = await self.by_triple(reach, subject, predicate) if subject and predicate else []
        others = [fact for fact in reversed(slot) if fact not in alike]
        return [*alike, *others[:limit]]

    async def search(
        self, reach: Reach, query: str, *, limit: int, floor: bool = False, embedded: EmbeddedQuery | None = None
    ) -> list[SearchHit]:
        """The facts that answer a query best, by words and meaning, best first.

        What another audience was told later about the same thing (where one lives) takes the place of the older.

        Args:
            reach: what may be read.
            query: any text.
            limit: hits at most.
            floor: leave out what is not relevant enough to be shown unasked.
            embedded: the query's vectors, where the caller has them already.
        """
        if embedded is None:
            embedded = await self._search.embedded(query)
        look = partial(self._look, reach=reach, query=query, limit=limit, floor=floor, embedded=embedded)
        return await self._database.read_together(look)

    def _look(
        self,
        connection: Connection,
        *,
        reach: Reach,
        query: str,
        limit: int,
        floor: bool,
        embedded: EmbeddedQuery | None,
    ) -> list[SearchHit]:
        entries = self._search.find(
            connection, reach=reach, source=Source.FACT, query=query, limit=limit * _OVERFETCH, embedded=embedded
        )
        if not entries:
            return []
        true_now = connection.execute(_TRUE_BY_KEYS, {**keys_of(entries), "now": self._clock.now()}).all()
        rows = {row.id: row for row in true_now}
        if len({entry.scope for entry in entries}) > 1:  # within an audience learning sees to it
            for fact_id in outdated([fact_of_row(row) for row in true_now]):
                del rows[fact_id]
        ranked = rank([entry for entry in entries if entry.record_id in rows])
        if embedded is not None and embedded.tokens is not None:
            ranked = self._closely(connection, ranked[: candidates_of(limit)], reach, query, embedded)
        if floor:
            ranked = above_floor(ranked, query, floors=self._search.floors(Source.FACT))
        vectors = {entry.entry_id: entry.vector for entry in entries}
        return [
            _hit(fact_of_row(rows[one.entry.record_id]), one, vectors.get(one.entry.entry_id)) for one in ranked[:limit]
        ]

    def _closely(
        self,
        connection: Connection,
        candidates: Sequence[RankedEntry],
        reach: Reach,
        query: str,
        embedded: EmbeddedQuery,
    ) -> list[RankedEntry]:
        """The candidates ranked by how well they answer each token of the query."""
        excerpts = self._search.excerpts(
            connection, reach=reach, source=Source.FACT, candidates=candidates, embedded=embedded
        )
        settings = {one.entry.record_id: Setting(group=one.entry.record_id) for one in candidates}
        return rerank(excerpts, settings, query, tokens=embedded.tokens)

    async def by_triple(self, reach: Reach, subject: str = "", predicate: str = "") -> list[Fact]:
        """The facts of exactly this subject and predicate, in the order they were learned.

        Args:
            subject: any where empty.
            predicate: any where empty; with neither nothing is found.
        """
        wanted = {facts.c.subject: subject, facts.c.predicate: predicate}
        conditions = [column == value for column, value in wanted.items() if value]
        if not conditions:
            return []
        return await self._found(select(facts).where(in_reach(facts, reach), *conditions, self._true()))

    async def profile(self, reach: Reach, entity: str) -> dict[str, str | list[str]]:
        """What is known of a subject: predicate to object, a list where there are several."""
        return nested(await self.by_triple(reach, entity)).get(entity, {})

    async def history(self, reach: Reach, *, fact_id: int | None = None, limit: int = 50) -> list[FactRevision]:
        """The newest changes within reach, newest first; of one fact where its id is given."""
        return await self._revisions.history(reach, fact_id=fact_id, limit=limit)

    async def _embed_new(self, scope: Scope) -> None:
        try:
            await self._search.embed_new(scope, source=Source.FACT)
        except EmbedderError as error:
            _log.warning("embedder_failed", error=str(error))

    async def _load(self, entries: Sequence[EntryScore]) -> dict[int, Fact]:
        keys = {(entry.scope, entry.record_id) for entry in entries}
        found = await self._found(select(facts).where(with_keys(facts, keys), self._true()))
        return {fact.id: fact for fact in found}

    async def _found(self, query: Select[Any]) -> list[Fact]:
        async with self._database.read() as connection:
            return [fact_of_row(row) for row in await connection.execute(query.order_by(facts.c.id))]

    def _true(self) -> Any:
        return true_at(self._clock.now())


def _likeness(entry: EntryScore) -> float:
    return entry.similarity or 0.0


def _hit(fact: Fact, ranked: RankedEntry, vector: Vectors | None) -> SearchHit:
    return SearchHit(
        source=Source.FACT,
        scope=fact.scope,
        record_id=fact.id,
        score=ranked.score,
        text=fact.text,
        author=None,
        at=fact.valid_from or fact.updated_at,
        reason=why_found(ranked),
        vector=vector,
        message_ids=() if fact.source_message is None else (fact.source_message,),
    )
