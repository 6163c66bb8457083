"""Finds what known facts, past conversations and stored documents have to say about a message.

Invariant: nothing below the relevance floor, nothing that stands in the window already, nothing twice. A source
that fails is reported as failing, never as empty.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable, Sequence
from zoneinfo import ZoneInfo

import structlog

from memory.policy.fact_text import normalised
from memory.policy.relevance import has_content
from memory.policy.time_expressions import Period, periods_in
from memory.ports import Clock, EmbeddedQuery
from memory.records import Reach, Scope, SearchHit, Source
from memory.stores.archival import ArchivalStore, Trace
from memory.stores.facts import FactStore
from memory.stores.recall import RecallStore
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

# A question is in its beginning or its end; the embedder reads 256 tokens at most.
_QUERY_CHARACTERS = 1_000


class Retriever:
    """Searches facts, recall and archival memory at once for one message.

    Args:
        recall: the verbatim log.
        archival: the documents.
        facts: what is lastingly true.
        search: embeds the query, once for all sources.
        clock: says what "yesterday" is in a query.
        zone: the time zone in which days begin.
    """

    def __init__(
        self,
        recall: RecallStore,
        archival: ArchivalStore,
        facts: FactStore,
        search: SearchStore,
        *,
        clock: Clock,
        zone: ZoneInfo,
    ) -> None:
        self._recall = recall
        self._archival = archival
        self._facts = facts
        self._search = search
        self._clock = clock
        self._zone = zone

    async def retrieve(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        *,
        limit: int,
        facts: int,
        exclude: frozenset[int] = frozenset(),
        floor: bool = True,
        embedded: EmbeddedQuery | None = None,
    ) -> tuple[SearchHit, ...]:
        """The best facts, best first, then the best messages and documents, best first.

        Args:
            scope: the scope of the conversation.
            reach: what it may read.
            query: the person's message.
            limit: messages and documents to return at most; with 0 they are not searched.
            facts: facts to return at most; with 0 they are not searched.
            exclude: messages that stand in the window already.
            floor: leave out what is not relevant enough to be shown unasked.
            embedded: the query's vectors, as ``embed`` gives them, where the caller has it already.
        """
        if not (limit or facts) or (floor and not has_content(query)):
            return ()
        began = time.perf_counter()
        query = shortened(query)
        if embedded is None:
            embedded = await self.embed(query)
        searches: list[Awaitable[list[SearchHit]]] = []
        if facts:
            searches.append(self._facts.search(reach, query, limit=facts, embedded=embedded, floor=floor))
        if limit:
            searches += [
                self._recall.search(
                    reach,
                    query,
                    limit=limit,
                    evicted_only=False,
                    exclude=exclude,
                    embedded=embedded,
                    periods=self.periods(query),
                    floor=floor,
                ),
                self._archival.search(
                    scope,
                    reach,
                    query,
                    limit=limit,
                    embedded=embedded,
                    trace=Trace.LATER if floor else Trace.NEVER,
                    floor=floor,
                ),
            ]
        found = [hit for hits in await asyncio.gather(*searches) for hit in hits]
        hits = _chosen(found, facts, limit)
        _log.info(
            "memory_retrieval",
            seconds=round(time.perf_counter() - began, 3),
            facts=sum(hit.source is Source.FACT for hit in hits),
            hits=len(hits),
            vector=embedded is not None,
        )
        return hits

    def periods(self, query: str) -> tuple[Period, ...]:
        """The times that a query asks about."""
        return periods_in(shortened(query), self._clock.now().astimezone(self._zone))

    async def embed(self, query: str) -> EmbeddedQuery | None:
        """The query's vectors, or None (with a log line) where the embedder fails: full text still answers."""
        return await self._search.embedded_or_none(shortened(query))


def shortened(query: str) -> str:
    """The beginning and the end of an overlong query."""
    if len(query) <= 2 * _QUERY_CHARACTERS:
        return query
    return f"{query[:_QUERY_CHARACTERS]}\n{query[-_QUERY_CHARACTERS:]}"


def _chosen(found: Sequence[SearchHit], facts: int, limit: int) -> tuple[SearchHit, ...]:
    """The best of either kind. Of hits with the same words the best stays, and a fact before any other."""
    known = _best(hit for hit in found if hit.source is Source.FACT)[:facts]
    told = {_words(hit) for hit in known}
    others = _best(hit for hit in found if hit.source is not Source.FACT and _words(hit) not in told)[:limit]
    return (*known, *others)


def _best(hits: Iterable[SearchHit]) -> list[SearchHit]:
    unique: dict[str, SearchHit] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        unique.setdefault(_words(hit), hit)
    return list(unique.values())


def _words(hit: SearchHit) -> str:
    return normalised(hit.text)
