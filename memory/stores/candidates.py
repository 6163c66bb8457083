"""What full text and vectors bring up for a query: the entries that a search then looks at more closely.

The candidates of several sources are found with as many statements as those of one.

Invariant: a candidate was looked up in the rows and is within the reach, whatever an index says of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy.engine import Connection

from memory.ports import TextIndex, Vectors
from memory.records import EntryScore, Reach, Source
from memory.stores.entry_rows import entries_within
from memory.stores.scoped import scope_of_row
from memory.stores.vectors import VectorCache

_OVERFETCH = 4  # what one index ranks low the other may rank high, and a long record has several entries
_LEAST = 40  # of either index, to be looked at more closely; 100 find as much
_MOST = 5_000


class CandidateFinder:
    """Finds candidates.

    Args:
        text_index: finds them by their words.
        vectors: finds them by their meaning.
    """

    def __init__(self, text_index: TextIndex, vectors: VectorCache) -> None:
        self._text_index = text_index
        self._vectors = vectors

    def find(
        self, connection: Connection, reach: Reach, query: str, vector: Vectors | None, limits: Mapping[Source, int]
    ) -> dict[Source, list[EntryScore]]:
        """By source, everything that full text or vectors bring up, with both scores, in no order.

        A source of which there is nothing within reach is left out.

        Args:
            connection: where to read; comparing takes time as well, so it must not be the event loop that calls.
            reach: what may be read.
            query: any text.
            vector: the query's, of length 1; None where the embedder failed.
            limits: how many results of each source are wanted in the end. There are several times as many candidates;
                with 0 none.
        """
        wide = {source: min(max(limit * _OVERFETCH, _LEAST), _MOST) if limit else 0 for source, limit in limits.items()}
        worded = self._text_index.search(connection, reach, query, wide)
        if vector is None or not worded:
            return worded
        near = self._vectors.nearest(
            connection,
            reach,
            vector=vector,
            limits={source: wide[source] for source in worded if wide[source]},
            also={source: [entry.entry_id for entry in entries] for source, entries in worded.items()},
        )
        unknown = {entry_id for ids, _ in near.values() for entry_id in ids}
        unknown -= {entry.entry_id for entries in worded.values() for entry in entries}
        for row in entries_within(connection, reach, unknown):
            source = Source(row.source)
            worded[source].append(
                EntryScore(entry_id=row.id, scope=scope_of_row(row), source=source, record_id=row.record_id)
            )
        return {source: _compared(entries, near.get(source), vector) for source, entries in worded.items()}


def _compared(
    entries: Sequence[EntryScore], near: tuple[list[int], Vectors] | None, vector: Vectors
) -> list[EntryScore]:
    """The entries with their likeness, all from the same vectors, so that the two scores add up fairly."""
    ids, vectors = near or ([], np.empty((0, len(vector)), dtype=np.float32))
    cosines = np.clip(vectors @ vector, -1.0, 1.0).tolist()
    own = {entry_id: (cosines[place], vectors[place]) for place, entry_id in enumerate(ids)}
    return [_with(entry, *own.get(entry.entry_id, (None, None))) for entry in entries]


def _with(entry: EntryScore, similarity: float | None, vector: Vectors | None) -> EntryScore:
    return EntryScore(
        entry_id=entry.entry_id,
        scope=entry.scope,
        source=entry.source,
        record_id=entry.record_id,
        text_score=entry.text_score,
        similarity=similarity,
        vector=vector,
    )
