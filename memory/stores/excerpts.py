"""Reads the entries that a search looks at more closely: the best candidates, and those beside each of them.

Entries stand beside one another in the order of their scope's records: the turns of a conversation, the pieces of a
long text.

Invariant: an entry beside a candidate is of the candidate's own scope, and so as much within reach as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy.engine import Connection

from memory.policy.late_interaction import best_matches
from memory.policy.ranking import Excerpt, RankedEntry
from memory.ports import EmbeddedQuery, Embedder, TokenEmbedder, Vectors
from memory.records import EntryScore, Reach, Source
from memory.stores.entry_rows import entries_around
from memory.stores.vectors import vectors_from_bytes

Embedded = tuple[int, str | None, bytes, bytes | None]
"""An entry's id, and its embedder, vector and tokens as they are stored."""


class Likeness(NamedTuple):
    """How much an entry is like a query.

    Attributes:
        similarity: its cosine similarity; None where it is not embedded.
        matches: how well it answers each token of the query, as ``Excerpt`` has it.
    """

    similarity: float | None = None
    matches: Vectors | None = None


_UNKNOWN = Likeness()


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
        rows = entries_around(connection, reach, source, known)
        beside: defaultdict[int, set[int]] = defaultdict(set)
        for entry_id, *_, before, after, _asked in rows:
            for neighbour in (before, after):
                if neighbour is not None:
                    beside[entry_id].add(neighbour)
                    beside[neighbour].add(entry_id)
        compared = self.compared([row[:4] for row in rows], query)
        excerpts = []
        for entry_id, _embedder, _vector, _tokens, record_id, text, _before, _after, asked in rows:
            candidate = known.get(entry_id)
            likeness = compared.get(entry_id, _UNKNOWN)
            entry = EntryScore(
                entry_id=entry_id,
                scope=known[asked].entry.scope,
                source=source,
                record_id=record_id,
                text_score=candidate.entry.text_score if candidate else 0.0,
                similarity=likeness.similarity,
            )
            excerpts.append(
                Excerpt(
                    entry=entry,
                    text_share=candidate.text_share if candidate else 0.0,
                    text=text,
                    matches=likeness.matches,
                    beside=frozenset(beside[entry_id]),
                )
            )
        return excerpts

    def compared(self, entries: Iterable[Embedded], query: EmbeddedQuery | None) -> dict[int, Likeness]:
        """How much each entry is like a query, by its id; one that is not embedded is left out.

        Without token vectors the whole query counts as one token.

        Args:
            entries: what is compared.
            query: the query; None where the embedder failed.
        """
        embedded = [(entry_id, vector, tokens) for entry_id, by, vector, tokens in entries if by == self._embedder.name]
        if query is None or query.vector is None or not embedded:
            return {}
        ids, stored, tokens = zip(*embedded, strict=True)
        vectors = vectors_from_bytes(stored, self._embedder.dimensions)
        cosines = np.clip(vectors @ query.vector, -1.0, 1.0)
        matches = self._matches(tokens, query.tokens)
        matches = cosines[:, None] if matches is None else matches
        return dict(zip(ids, map(Likeness, cosines.tolist(), matches), strict=True))

    def _matches(self, tokens: Sequence[bytes | None], query: Vectors | None) -> list[Vectors | None] | None:
        """How well each entry answers each token of a query; None without token vectors."""
        if query is None or not isinstance(self._embedder, TokenEmbedder):
            return None
        width = self._embedder.token_dimensions
        worded = [one for one in tokens if one]
        every = np.frombuffer(b"".join(worded), dtype=np.int8).reshape(-1, width)
        best = iter(best_matches(query, every, [len(one) // width for one in worded]))
        return [next(best) if one else None for one in tokens]
