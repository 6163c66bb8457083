"""Reads the entries that a search looks at more closely: the best candidates, and those beside each of them.

Entries stand beside one another in the order of their scope's records: the turns of a conversation, the pieces of a
long text.

Invariant: an entry beside a candidate is of the candidate's own scope, and so as much within reach as it is.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sqlalchemy import ScalarSelect, Subquery, select, tuple_

from memory.database import Database
from memory.policy.late_interaction import best_matches
from memory.policy.ranking import Excerpt, RankedEntry
from memory.ports import EmbeddedQuery, Embedder, TokenEmbedder, Vectors
from memory.records import EntryScore, Reach, Source
from memory.schema import search_entries
from memory.stores.entry_rows import entries_of_ids, entries_within
from memory.stores.scoped import id_batches, in_reach, scope_of_row
from memory.stores.vectors import vectors_from_bytes


class ExcerptReader:
    """Reads excerpts.

    Args:
        database: where the rows are.
        embedder: the present embedder; what another one made is not compared.
    """

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    async def read(
        self, reach: Reach, source: Source, candidates: Sequence[RankedEntry], query: EmbeddedQuery | None
    ) -> list[Excerpt]:
        """The candidates and the entries beside them, with how well each answers the query.

        Args:
            reach: what may be read.
            source: the candidates' kind.
            candidates: what to look at more closely.
            query: the query; None where the embedder failed.
        """
        known = {ranked.entry.entry_id: ranked for ranked in candidates}
        beside = await self._beside(reach, source, known)
        rows = await self._rows(reach, source, beside)
        scores, matches = await asyncio.to_thread(self._compared, rows, query)
        return [
            Excerpt(
                entry=EntryScore(
                    entry_id=row.id,
                    scope=scope_of_row(row),
                    source=source,
                    record_id=row.record_id,
                    text_score=known[row.id].entry.text_score if row.id in known else 0.0,
                    similarity=scores.get(row.id),
                ),
                text_share=known[row.id].text_share if row.id in known else 0.0,
                matches=matches.get(row.id),
                beside=frozenset(beside[row.id]),
            )
            for row in rows
        ]

    async def _beside(self, reach: Reach, source: Source, entry_ids: Collection[int]) -> dict[int, set[int]]:
        """For each of the entries, and for those beside them, which of all these stand beside it."""
        beside: defaultdict[int, set[int]] = defaultdict(set)
        async with self._database.read() as connection:
            for some_ids in id_batches(entry_ids):
                entry = entries_of_ids(some_ids)
                query = select(entry.c.id, _next_to(entry, earlier=True), _next_to(entry, earlier=False)).where(
                    in_reach(entry, reach), entry.c.source == source.value
                )
                for entry_id, *neighbours in await connection.execute(query):
                    beside[entry_id].update(neighbour for neighbour in neighbours if neighbour is not None)
        pairs = [(entry_id, neighbour) for entry_id, around in beside.items() for neighbour in around]
        for entry_id, neighbour in pairs:
            beside[neighbour].add(entry_id)
        return beside

    async def _rows(self, reach: Reach, source: Source, entry_ids: Collection[int]) -> list[Any]:
        async with self._database.read() as connection:
            return [
                row
                for some_ids in id_batches(entry_ids)
                for row in await connection.execute(entries_within(reach, source, some_ids))
            ]

    def _compared(
        self, rows: Sequence[Any], query: EmbeddedQuery | None
    ) -> tuple[dict[int, float], dict[int, Vectors]]:
        """Of each embedded entry, its cosine similarity, and how well it answers each token of the query.

        Without token vectors the whole query counts as one token.
        """
        embedded = [row for row in rows if row.embedder == self._embedder.name]
        if query is None or not embedded:
            return {}, {}
        vectors = vectors_from_bytes([row.vector for row in embedded], self._embedder.dimensions)
        cosines = np.clip(vectors @ query.vector, -1.0, 1.0)
        similarity = {row.id: float(cosine) for row, cosine in zip(embedded, cosines, strict=True)}
        if query.tokens is None or not isinstance(self._embedder, TokenEmbedder):
            return similarity, {row.id: cosine for row, cosine in zip(embedded, cosines[:, None], strict=True)}
        width = self._embedder.token_dimensions
        worded = [row for row in embedded if row.tokens]
        tokens = [np.frombuffer(row.tokens, dtype=np.int8).reshape(-1, width) for row in worded]
        matches = best_matches(query.tokens, tokens)
        return similarity, {row.id: match for row, match in zip(worded, matches, strict=True)}


def _next_to(entry: Subquery, *, earlier: bool) -> ScalarSelect[int]:
    """The id of the entry before or after each one, in the order of its scope's records and their pieces."""
    other = search_entries.alias()
    own, place = tuple_(entry.c.record_id, entry.c.chunk), tuple_(other.c.record_id, other.c.chunk)
    order = [other.c.record_id, other.c.chunk]
    return (
        select(other.c.id)
        .where(
            other.c.person == entry.c.person,
            other.c.audience == entry.c.audience,
            other.c.source == entry.c.source,
            place < own if earlier else place > own,
        )
        .order_by(*(column.desc() for column in order) if earlier else order)
        .limit(1)
        .scalar_subquery()
    )
