"""Reads the entries that a search looks at more closely: the candidates, and those beside the best of them.

Entries stand beside one another in the order of their scope's records: the turns of a conversation, the pieces of a
long text.

Invariant: an entry beside a candidate is of the candidate's own scope, and so as much within reach as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy.engine import Connection

from memory.policy.late_interaction import best_matches
from memory.policy.ranking import Excerpt, RankedEntry, seen_in_place
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
        # Asked once: to compare something with a protocol takes longer than what is done with it.
        self._token_dimensions = embedder.token_dimensions if isinstance(embedder, TokenEmbedder) else None

    def read(
        self,
        connection: Connection,
        reach: Reach,
        source: Source,
        candidates: Sequence[RankedEntry],
        query: EmbeddedQuery | None,
    ) -> list[Excerpt]:
        """The candidates and the entries beside the best of them, with how well each answers the query.

        Args:
            connection: where to read; comparing takes time as well, so it must not be the event loop that calls.
            reach: what may be read.
            source: the candidates' kind.
            candidates: what to look at more closely, best first.
            query: the query; None where the embedder failed.
        """
        known = {ranked.entry.entry_id: ranked for ranked in candidates}
        rows = entries_around(connection, reach, source, list(known), among=seen_in_place(len(known)))
        if not rows:
            return []
        ids, embedders, vectors, tokens, record_ids, texts, before, after, asked = zip(*rows, strict=True)
        earlier, later = _beside(ids, before, after)
        likenesses = self.compared(list(zip(ids, embedders, vectors, tokens, strict=True)), query)
        excerpts = []
        for entry_id, record_id, text, by, likeness in zip(ids, record_ids, texts, asked, likenesses, strict=True):
            candidate = known.get(entry_id)
            entry = EntryScore(
                entry_id=entry_id,
                scope=known[by].entry.scope,
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
                    before=earlier.get(entry_id),
                    after=later.get(entry_id),
                )
            )
        return excerpts

    def compared(self, entries: Sequence[Embedded], query: EmbeddedQuery | None) -> list[Likeness]:
        """How much each entry is like a query; of one that is not embedded nothing is known.

        Without token vectors the whole query counts as one token.

        Args:
            entries: what is compared.
            query: the query; None where the embedder failed.
        """
        found = [_UNKNOWN] * len(entries)
        known = [place for place, entry in enumerate(entries) if entry[1] == self._embedder.name]
        if query is None or query.vector is None or not known:
            return found
        _, _, stored, tokens = zip(*(entries[place] for place in known), strict=True)
        cosines = np.clip(vectors_from_bytes(stored, self._embedder.dimensions) @ query.vector, -1.0, 1.0)
        matches = self._matches(tokens, query.tokens)
        each = cosines[:, None] if matches is None else matches
        for place, likeness in zip(known, map(Likeness, cosines.tolist(), each), strict=True):
            found[place] = likeness
        return found

    def _matches(self, tokens: Sequence[bytes | None], query: Vectors | None) -> Sequence[Vectors | None] | None:
        """How well each entry answers each token of a query; None without token vectors."""
        if query is None or self._token_dimensions is None:
            return None
        width = self._token_dimensions
        worded = [one for one in tokens if one]
        every = np.frombuffer(b"".join(worded), dtype=np.int8).reshape(-1, width)
        best = best_matches(query, every, [len(one) // width for one in worded])
        if len(worded) == len(tokens):
            return list(best)
        following = iter(best)
        return [next(following) if one else None for one in tokens]


def _beside(
    ids: Sequence[int], before: Sequence[int | None], after: Sequence[int | None]
) -> tuple[dict[int, int], dict[int, int]]:
    """What stands before each entry and what after it, of the candidates and what stands beside one of these.

    Args:
        ids: the entries.
        before, after: what stands before and after each of those that are candidates.
    """
    earlier: dict[int, int] = {}
    later: dict[int, int] = {}
    for entry_id, one_before, one_after in zip(ids, before, after, strict=True):
        if one_before is not None:
            earlier[entry_id], later[one_before] = one_before, entry_id
        if one_after is not None:
            later[entry_id], earlier[one_after] = one_after, entry_id
    return earlier, later
