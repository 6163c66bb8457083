"""One search among passages: candidates by words and meaning, a closer look at the best, their age and their use.

Invariant: a forgotten passage is not found, and only what is returned is read as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.engine import Connection

from memory.parameters import Fading
from memory.policy.fading import Worth, faded_score
from memory.policy.ranking import RankedEntry, Setting, candidates_of, rank, rerank
from memory.policy.relevance import above_floor, has_content
from memory.ports import EmbeddedQuery
from memory.prepared import Prepared, Row
from memory.records import EntryScore, Reach, SearchHit, Source
from memory.schema import moment, passages
from memory.stores.passage_rows import SHOWN, hit_of_passage, worth
from memory.stores.scoped import by_keys, keys_of
from memory.stores.search import SearchStore

_MANY = 500  # results asked for where types and importance leave too few of the first ones

_passage = passages.c
_BY_KEYS = by_keys(passages)
_SHOWN = Prepared(_BY_KEYS.with_only_columns(*SHOWN))
_WORTHS = Prepared(
    _BY_KEYS.with_only_columns(
        _passage.id, _passage.memory_type, _passage.importance, _passage.last_accessed_at, _passage.access_count
    ).where(_passage.forgotten_at.is_(None))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagesFound:
    """What a search found.

    Attributes:
        hits: best first.
        relevant: whether any passage is close enough to be shown unasked; None where the query asks for nothing or
            there is nothing to be found.
    """

    hits: list[SearchHit]
    relevant: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageSearch:
    """A search, to be called with a connection in a thread (``Database.read_together``).

    Attributes:
        search: the searchable side of passages.
        reach: what may be read.
        query: the text that is searched for.
        embedded: its vectors; None where the embedder failed.
        limit: hits at most.
        memory_types: leave out passages of other types; None for all.
        min_importance: leave out less important ones.
        floor: leave out what is not relevant enough to be shown unasked.
        fading: by which rule passages fade.
        recency_weight: how fast, per day, by the rule ``reuse``.
        now: the present moment.
    """

    search: SearchStore
    reach: Reach
    query: str
    embedded: EmbeddedQuery | None
    limit: int
    memory_types: frozenset[str] | None
    min_importance: float
    floor: bool
    fading: Fading
    recency_weight: float
    now: datetime

    def __call__(self, connection: Connection) -> PassagesFound:
        """The passages that answer the query best, best first."""
        candidates, worths = self._candidates(connection)
        if not candidates:
            return PassagesFound(hits=[], relevant=None)
        ranked = self._closely(connection, candidates)
        relevant = above_floor(ranked, self.query, floors=self.search.floors(Source.ARCHIVAL))
        shown = relevant if self.floor else ranked
        scored = [(one, self._score(one, worths[one.entry.record_id])) for one in shown]
        best = sorted(scored, key=lambda pair: -pair[1])[: self.limit]
        rows = self._rows(connection, [one for one, _ in best])
        return PassagesFound(
            hits=[hit_of_passage(row, one, score) for one, score in best if (row := rows.get(one.entry.record_id))],
            relevant=bool(relevant) if has_content(self.query) else None,
        )

    def _candidates(self, connection: Connection) -> tuple[list[RankedEntry], dict[int, Worth]]:
        """Passages of the wanted kind by words and meaning, several times ``limit`` if there are as many.

        Importance, age and use then lift a passage among these.
        """
        ranked: list[RankedEntry] = []
        worths: dict[int, Worth] = {}
        for results in (self.limit, _MANY):
            entries = self.search.find(
                connection,
                reach=self.reach,
                source=Source.ARCHIVAL,
                query=self.query,
                limit=results,
                embedded=self.embedded,
            )
            worths = self._worths(connection, entries)
            ranked = rank([entry for entry in entries if entry.record_id in worths])
            if len(ranked) >= self.limit or len(entries) < results:
                break
        return ranked[: candidates_of(self.limit)], worths

    def _worths(self, connection: Connection, entries: Sequence[EntryScore]) -> dict[int, Worth]:
        """What those passages are worth by now that are of the wanted kind."""
        if not entries:
            return {}
        return {
            passage_id: worth(importance, moment(last_accessed_at), accesses, self.now)
            for passage_id, kind, importance, last_accessed_at, accesses in _WORTHS.rows(connection, keys_of(entries))
            if importance >= self.min_importance and (self.memory_types is None or kind in self.memory_types)
        }

    def _closely(self, connection: Connection, candidates: Sequence[RankedEntry]) -> list[RankedEntry]:
        excerpts = self.search.excerpts(
            connection, reach=self.reach, source=Source.ARCHIVAL, candidates=candidates, embedded=self.embedded
        )
        settings = {one.entry.record_id: Setting(group=one.entry.record_id) for one in candidates}
        tokens = None if self.embedded is None else self.embedded.tokens
        return rerank(excerpts, settings, self.query, tokens=tokens)

    def _score(self, ranked: RankedEntry, worth: Worth) -> float:
        return faded_score(self.fading, ranked.score, worth, recency_weight=self.recency_weight)

    def _rows(self, connection: Connection, best: Sequence[RankedEntry]) -> dict[int, Row]:
        rows = _SHOWN.rows(connection, keys_of(one.entry for one in best)) if best else ()
        return {row[0]: row for row in rows}
