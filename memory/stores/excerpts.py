"""Reads the entries that a search looks at more closely: the best candidates, and those beside each of them.

Entries stand beside one another in the order of their scope's records: the turns of a conversation, the pieces of a
long text.

Invariant: an entry beside a candidate is of the candidate's own scope, and so as much within reach as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Row
from sqlalchemy.engine import Connection

from memory.policy.chunking import without_heading
from memory.policy.late_interaction import best_matches
from memory.policy.ranking import Excerpt, RankedEntry
from memory.ports import EmbeddedQuery, Embedder, TokenEmbedder, Vectors
from memory.records import EntryScore, Reach, Source
from memory.stores.entry_rows import entries_around
from memory.stores.scoped import scope_of_row
from memory.stores.vectors import vectors_from_bytes


class ExcerptReader:
    """Reads excerpts.

    Args:
        embedder: the present embedder; what another one made is not compared.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def read(
        self,
        connection: Connection,
        reach: Reach,
        source: Source,
        candidates: Sequence[RankedEntry],
        query: EmbeddedQuery | None,
    ) -> list[Excerpt]:
        """The candidates and the entries beside them, with how well each answers the query.

        Args:
            connection: where to read; comparing takes time as well, so it must not be the event loop that calls.
            reach: what may be read.
            source: the candidates' kind.
            candidates: what to look at more closely.
            query: the query; None where the embedder failed.
        """
        known = {ranked.entry.entry_id: ranked for ranked in candidates}
        rows: dict[int, Row[Any]] = {}
        beside: defaultdict[int, set[int]] = defaultdict(set)
        for row in entries_around(connection, reach, source, known):
            rows[row.id] = row
            for neighbour in (row.before, row.after):
                if neighbour is not None:
                    beside[row.id].add(neighbour)
                    beside[neighbour].add(row.id)
        similarity, matches = self.compared(list(rows.values()), query)
        excerpts = []
        for entry_id, row in rows.items():
            candidate = known.get(entry_id)
            entry = EntryScore(
                entry_id=entry_id,
                scope=scope_of_row(row),
                source=source,
                record_id=row.record_id,
                text_score=candidate.entry.text_score if candidate else 0.0,
                similarity=similarity.get(entry_id),
            )
            excerpts.append(
                Excerpt(
                    entry=entry,
                    text_share=candidate.text_share if candidate else 0.0,
                    text=without_heading(row.text),
                    matches=matches.get(entry_id),
                    beside=frozenset(beside[entry_id]),
                )
            )
        return excerpts

    def compared(
        self, rows: Sequence[Row[Any]], query: EmbeddedQuery | None
    ) -> tuple[dict[int, float], dict[int, Vectors]]:
        """Of each embedded entry, its cosine similarity, and how well it answers each token of the query.

        Without token vectors the whole query counts as one token.

        Args:
            rows: entries with their ``embedder``, ``vector`` and ``tokens``.
            query: the query; None where the embedder failed.
        """
        embedded = [row for row in rows if row.embedder == self._embedder.name]
        if query is None or query.vector is None or not embedded:
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
