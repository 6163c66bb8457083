"""What full text and vectors bring up for a query: the entries that a search then looks at more closely.

The candidates of several sources are found with as many statements as those of one. Those that full text brings up are
found apart, since they are there before the query is embedded.

Invariant: a candidate was looked up in the rows and is within the reach, whatever an index says of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy.engine import Connection

from memory.ports import TextIndex, Vectors
from memory.records import Candidates, EntryScore, Reach, Source
from memory.stores.entry_rows import entries_within
from memory.stores.scoped import scope_of
from memory.stores.vectors import VectorCache

_OVERFETCH = 4  # what one index ranks low the other may rank high, and a long record has several entries
_LEAST = 40  # of either index, to be looked at more closely; 100 find as much
_MOST = 5_000

_SOURCES = {source.value: source for source in Source}  # in a tenth of the time that Source(value) takes

_Likeness = tuple[float, Vectors]
"""The cosine of an entry with the query, and the entry's own vector."""


class CandidateFinder:
    """Finds candidates.

    Args:
        text_index: finds them by their words.
        vectors: finds them by their meaning.
    """

    def __init__(self, text_index: TextIndex, vectors: VectorCache) -> None:
        self._text_index = text_index
        self._vectors = vectors

    def worded(self, connection: Connection, reach: Reach, query: str, limits: Mapping[Source, int]) -> Candidates:
        """By source, what full text brings up, with the score of its words.

        Args:
            connection: where to read; it must not be the event loop that calls.
            reach: what may be read.
            query: any text.
            limits: how many results of each source are wanted in the end. There are several times as many candidates;
                with 0 none.
        """
        found = self._text_index.search(connection, reach, query, _wide(limits))
        return Candidates(query=query, reach=reach, limits=limits, found=found)

    def compared(self, connection: Connection, worded: Candidates, vector: Vectors | None) -> Candidates:
        """Everything that full text or vectors bring up, with both scores, in no order.

        Args:
            connection: where to read; comparing takes time as well.
            worded: what full text brings up.
            vector: the query's, of length 1; None where the embedder failed.
        """
        if vector is None or not worded.found:
            return worded
        return replace(worded, found=self._with_likeness(connection, worded, vector))

    def _with_likeness(
        self, connection: Connection, candidates: Candidates, vector: Vectors
    ) -> dict[Source, list[EntryScore]]:
        reach, worded, wide = candidates.reach, candidates.found, _wide(candidates.limits)
        near = self._vectors.nearest(
            connection,
            reach,
            vector=vector,
            limits={source: wide[source] for source in worded if wide[source]},
            also={source: [entry.entry_id for entry in entries] for source, entries in worded.items()},
        )
        likeness = {source: _likeness(*some, vector) for source, some in near.items()}
        found = {
            source: [_compared(entry, likeness.get(source, {})) for entry in entries]
            for source, entries in worded.items()
        }
        known = {entry.entry_id for entries in worded.values() for entry in entries}
        others = {entry_id for some in likeness.values() for entry_id in some if entry_id not in known}
        for entry_id, person, audience, kind, record_id, _ in entries_within(connection, reach, others):
            source = _SOURCES[kind]
            entry = EntryScore(entry_id=entry_id, scope=scope_of(person, audience), source=source, record_id=record_id)
            found.setdefault(source, []).append(_compared(entry, likeness.get(source, {})))
        return found


def _wide(limits: Mapping[Source, int]) -> dict[Source, int]:
    return {source: min(max(limit * _OVERFETCH, _LEAST), _MOST) if limit else 0 for source, limit in limits.items()}


def _likeness(entry_ids: Sequence[int], vectors: Vectors, vector: Vectors) -> dict[int, _Likeness]:
    """Of each entry, all from the same vectors, so that this and the score of its words add up fairly."""
    cosines = np.clip(vectors @ vector, -1.0, 1.0).tolist()
    return dict(zip(entry_ids, zip(cosines, vectors, strict=True), strict=True))


def _compared(entry: EntryScore, likeness: Mapping[int, _Likeness]) -> EntryScore:
    """The entry with its likeness; one that has no vector yet stays as it is."""
    if (alike := likeness.get(entry.entry_id)) is None:
        return entry
    similarity, vector = alike
    return EntryScore(
        entry_id=entry.entry_id,
        scope=entry.scope,
        source=entry.source,
        record_id=entry.record_id,
        text_score=entry.text_score,
        similarity=similarity,
        vector=vector,
    )
