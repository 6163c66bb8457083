"""What can be searched, and what a search finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memory.records.scopes import Reach, Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of archival memory.

    Attributes:
        memory_type: ``fact``, ``document``, ``preference``, ``episode`` or another word of the caller's.
        importance: 0 to 1.
        access_count: how often a search returned it.
        forgotten_at, forgotten_reason: when and why it was forgotten (it stays, but no search finds it).
    """

    id: int
    scope: Scope
    content: str
    memory_type: str
    importance: float
    created_at: datetime
    last_accessed_at: datetime
    access_count: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_message: int | None = None
    forgotten_at: datetime | None = None
    forgotten_reason: str | None = None


class Source(StrEnum):
    """The kinds of record that can be searched."""

    RECALL = "recall"
    ARCHIVAL = "archival"
    FACT = "fact"
    EPISODE = "episode"
    PROCEDURE = "procedure"
    JOURNAL = "journal"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """What the search indexes hold for one record (or one chunk of a long one).

    Attributes:
        id: the entry's own id, unique in the database; full text and vectors are keyed by it.
        record_id: the id of the record in its store.
        chunk: 0, or the number of the chunk of a long text.
        text: the indexed text, speaker and date included.
    """

    id: int
    scope: Scope
    source: Source
    record_id: int
    chunk: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryScore:
    """What the indexes say of one entry for one query.

    Attributes:
        text_score: full-text score, higher is better, 0 where full text did not find it.
        similarity: cosine similarity, None where the vector index did not return it.
        vector: the entry's own, of unit length, where it has one of the present embedder.
    """

    entry_id: int
    scope: Scope
    source: Source
    record_id: int
    text_score: float = 0.0
    similarity: float | None = None
    vector: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What the indexes bring up for one query within one reach, of several sources.

    Attributes:
        query: its text.
        limits: for how many results of each source they suffice.
        found: by source; one of which there is nothing within reach is left out.
    """

    query: str
    reach: Reach
    limits: Mapping[Source, int]
    found: Mapping[Source, Sequence[EntryScore]]

    def suffice(self, query: str, reach: Reach, source: Source, limit: int) -> bool:
        """Whether a search for that many results finds its candidates here."""
        return limit <= self.limit_of(query, reach, source)

    def limit_of(self, query: str, reach: Reach, source: Source) -> int:
        """For how many results of a search these suffice; 0 where they are of another one."""
        return self.limits.get(source, 0) if query == self.query and reach == self.reach else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One result of a search, ready to be shown.

    Attributes:
        source: the kind of record.
        record_id: its id in that store.
        score: the ranking score; comparable within one search only.
        text: the record's own text.
        author: who said it (recall), or None.
        at: when it was said or stored.
        reason: why it was found, in a few words.
        message_ids: the messages it comes from.
        vector: that of the entry that was found, by which two hits are told to say the same.
    """

    source: Source
    scope: Scope
    record_id: int
    score: float
    text: str
    author: str | None
    at: datetime
    reason: str
    message_ids: tuple[int, ...] = ()
    vector: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)

    def seen_from(self, zone: tzinfo | None) -> SearchHit:
        """The same with its time told in a time zone."""
        return replace(self, at=self.at.astimezone(zone))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProgress:
    """How many entries have a vector of the present embedder.

    Attributes:
        embedder: its name.
        done: entries that have one.
        outdated: entries with a vector of another embedder, which no search uses; they are embedded anew.
        missing: entries with none.
    """

    embedder: str
    done: int
    outdated: int
    missing: int

    @property
    def waiting(self) -> int:
        """Entries that are found by their words alone until their turn comes."""
        return self.outdated + self.missing

    @property
    def total(self) -> int:
        """All entries."""
        return self.done + self.waiting

    def __str__(self) -> str:
        if not self.waiting:
            return f"all {self.total:,} texts are embedded"
        return f"{'re-embedding' if self.outdated else 'embedding'} {self.done:,} of {self.total:,}"
