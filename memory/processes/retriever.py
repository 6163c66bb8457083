"""Finds what past conversations and stored documents have to say about a message.

Invariant: nothing below the relevance floor, nothing that stands in the window already, nothing twice. A source
that fails is reported as failing, never as empty.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import structlog

from memory.errors import EmbedderError
from memory.ports import Vectors
from memory.records import Reach, Scope, SearchHit
from memory.stores.archival import ArchivalStore
from memory.stores.recall import RecallStore
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

# A question is in its beginning or its end; the embedder reads 256 tokens at most.
_QUERY_CHARACTERS = 1_000


class Retriever:
    """Searches recall and archival memory at once for one message.

    Args:
        recall: the verbatim log.
        archival: the documents.
        search: embeds the query, once for all sources.
    """

    def __init__(self, recall: RecallStore, archival: ArchivalStore, search: SearchStore) -> None:
        self._recall = recall
        self._archival = archival
        self._search = search

    async def retrieve(
        self, scope: Scope, reach: Reach, query: str, *, limit: int, exclude: frozenset[int], floor: bool = True
    ) -> tuple[SearchHit, ...]:
        """The best hits, best first.

        Args:
            scope: the scope of the conversation.
            reach: what it may read.
            query: the person's message.
            limit: hits to return at most.
            exclude: messages that stand in the window already.
            floor: leave out what is not relevant enough to be shown unasked.
        """
        began = time.perf_counter()
        query = shortened(query)
        vector = await self.embedded(query)
        found = await asyncio.gather(
            self._recall.search(
                reach, query, limit=limit, evicted_only=False, exclude=exclude, vector=vector, floor=floor
            ),
            self._archival.search(scope, reach, query, limit=limit, vector=vector, floor=floor),
        )
        hits = _best(found, limit)
        _log.info(
            "memory_retrieval",
            seconds=round(time.perf_counter() - began, 3),
            hits=len(hits),
            vector=vector is not None,
        )
        return hits

    async def embedded(self, query: str) -> Vectors | None:
        """The query's vector, or None (with a log line) where the embedder fails: full text still answers."""
        try:
            return await self._search.embed_query(query)
        except EmbedderError as error:
            _log.warning("embedder_failed", error=str(error))
            return None


def shortened(query: str) -> str:
    """The beginning and the end of an overlong query."""
    if len(query) <= 2 * _QUERY_CHARACTERS:
        return query
    return f"{query[:_QUERY_CHARACTERS]}\n{query[-_QUERY_CHARACTERS:]}"


def _best(found: Sequence[Sequence[SearchHit]], limit: int) -> tuple[SearchHit, ...]:
    ranked = sorted((hit for hits in found for hit in hits), key=lambda hit: -hit.score)
    unique = {" ".join(hit.text.lower().split()): hit for hit in reversed(ranked)}
    return tuple(sorted(unique.values(), key=lambda hit: -hit.score))[:limit]
