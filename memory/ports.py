"""The seams: a Protocol only where a vendor, a process or non-determinism sits.

Invariant: everything else in this package is concrete. The real SQLite in a temporary file is as fast as a fake.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memory.messages import ModelRequest, ModelResponse
from memory.records import Candidates, EntryScore, Reach, SearchEntry, Source

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

Vectors = NDArray[np.float32]
Tokens = NDArray[np.int8]
OnText = Callable[[str], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]
"""Waits for some seconds."""


class Clock(Protocol):
    """Where the time comes from. Nothing else reads the wall clock."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        return datetime.now(UTC)


class TokenCounter(Protocol):
    """Estimates tokens. ``calibrate`` learns from what the service really counted."""

    def count(self, text: str) -> int:
        """The estimated tokens of ``text``, calibration not applied.

        Never below 1 for a non-empty text, and never more than it has bytes in UTF-8.
        """
        ...

    def calibrated(self, tokens: int) -> int:
        """An estimate (a sum of ``count``s) corrected by what was learned, rounded up."""
        ...

    @property
    def calibration(self) -> tuple[float, int]:
        """The ratio applied now and the number of observations behind it, to be kept over a restart."""
        ...

    def resume(self, *, ratio: float, samples: int) -> None:
        """Go on from a calibration that was kept."""
        ...

    def calibrate(self, *, estimated: int, actual: int) -> None:
        """Take in one observation: the sum of counts of a request, and the input tokens the service counted."""
        ...


class ChatModel(Protocol):
    """The only door to a model.

    ``complete`` raises ``memory.errors.ModelError`` subclasses and nothing else, and keeps its own deadline.
    """

    @property
    def name(self) -> str:
        """The model's name, for logs and reports."""
        ...

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """One answer.

        Args:
            request: what to answer.
            on_text: awaited with each piece of text as it arrives, where the model streams.
        """
        ...

    async def close(self) -> None:
        """Release connections. Safe to call twice."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors. Vectors of two embedders are never compared."""

    @property
    def name(self) -> str:
        """The name stored beside every vector it makes."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimensions), float32, each of length 1.

        Work of any size leaves the event loop. Raises EmbedderError when the embedder cannot be run.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedText:
    """A text as a ``TokenEmbedder`` sees it.

    Attributes:
        vector: of the whole text, of shape (dimensions,).
        tokens: a shorter vector of each token, of shape (tokens, token_dimensions), of length 127 but for rounding.
        spans: where each token stands in the text: its first character, and the one after its last.
    """

    vector: Vectors
    tokens: Tokens
    spans: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedQuery:
    """What is compared with the vectors that are stored.

    Attributes:
        vector: of the whole query, of shape (dimensions,); None where the embedder failed, so that words alone decide.
        tokens: of its tokens, of shape (tokens, token_dimensions), each as long as its weight; None where the
            embedder gives none.
        candidates: what the indexes bring up for it, where that was looked up for several sources at once.
    """

    vector: Vectors | None = None
    tokens: Vectors | None = None
    candidates: Candidates | None = None


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives the vectors of single tokens, from the same pass, for late interaction."""

    @property
    def token_dimensions(self) -> int:
        """The length of a token's vector."""
        ...

    async def embed_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Every text with its tokens. Work of any size leaves the event loop. Raises EmbedderError as ``embed``."""
        ...


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that has to be told which texts are searched for."""

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """As ``embed``, of what is searched for rather than found."""
        ...


class VectorIndex(Protocol):
    """An in-memory index over the vectors of one scope and source. May be thrown away at any time."""

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add vectors of shape (len(ids), dimensions); an id already there is replaced."""
        ...

    def remove(self, ids: Sequence[int]) -> None:
        """Remove ids; unknown ones are ignored."""
        ...

    def search(self, vector: Vectors, limit: int) -> list[tuple[int, float]]:
        """The ``limit`` nearest ids with their cosine similarity, best first.

        ``vector`` has shape (dimensions,).
        """
        ...

    def vectors_of(self, ids: Iterable[int]) -> tuple[list[int], Vectors]:
        """Those of these ids that it holds, and their vectors, of shape (ids held, dimensions)."""
        ...

    def __len__(self) -> int: ...

    @property
    def size_bytes(self) -> int:
        """Roughly the memory it takes, in bytes."""
        ...


class TextIndex(Protocol):
    """Full text over search entries, inside the database: written in the caller's transaction, read in a thread."""

    async def add(self, connection: AsyncConnection, entries: Sequence[SearchEntry]) -> None:
        """Index entries."""
        ...

    async def remove(self, connection: AsyncConnection, entry_ids: Sequence[int]) -> None:
        """Remove entries; unknown ones are ignored."""
        ...

    async def index_older(self, connection: AsyncConnection) -> int:
        """Index anew some entries that a process of an earlier version has indexed in its own way; how many."""
        ...

    def search(
        self,
        connection: Connection,
        reach: Reach,
        query: str,
        limits: Mapping[Source, int],
    ) -> dict[Source, list[EntryScore]]:
        """The best entries within reach for a query of any content, best first, of each source; scores are above 0.

        A query without a single searchable word finds nothing and raises nothing. A source of which there is nothing
        within reach is left out.

        Args:
            limits: how many of each source, at most; with 0 it is only told whether anything is held.
        """
        ...
