"""Embeds the entries that lack a vector of the present embedder.

Invariant: the model is called first; then one transaction writes the vectors of those entries that are still there
and still lack one, and moves the generation of every index it touches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import structlog
from sqlalchemy import ColumnElement, bindparam, func, or_, select, update

from memory.database import Database, Transaction
from memory.ports import Embedder, TokenEmbedder, Vectors
from memory.records import EmbeddingProgress, Scope, Source
from memory.schema import search_entries
from memory.stores.scoped import id_batches, in_scope, scope_of_row
from memory.stores.vectors import VectorCache, vector_to_bytes

_log = structlog.get_logger(__name__)

_Stored = tuple[Vectors, bytes | None]
"""The vector of a text, and its token vectors as they are stored."""


class EmbeddingQueue:
    """The entries of anybody that are still to be embedded.

    Args:
        database: where the rows are.
        embedder: the present embedder; of one that gives token vectors these are kept too.
        vectors: the indexes that follow each change.
    """

    def __init__(self, database: Database, embedder: Embedder, vectors: VectorCache) -> None:
        self._database = database
        self._embedder = embedder
        self._vectors = vectors

    async def embed(self, limit: int) -> int:
        """Embed at most ``limit`` entries; how many were taken up.

        Raises:
            EmbedderError: the embedder cannot be run; nothing was written.
        """
        query = select(search_entries.c.id, search_entries.c.text).where(self._is_pending()).limit(limit)
        async with self._database.read() as connection:
            pending = (await connection.execute(query)).all()
        if not pending:
            return 0
        embedded = await self._embed([row.text for row in pending])
        vectors = {row.id: stored for row, stored in zip(pending, embedded, strict=True)}
        written = await self._database.write(lambda tx: self._write(tx, vectors))
        _log.info("entries_embedded", entries=written, embedder=self._embedder.name)
        return len(pending)

    async def progress(self) -> EmbeddingProgress:
        """How far it is, counted over everybody."""
        query = select(search_entries.c.embedder, func.count().label("entries")).group_by(search_entries.c.embedder)
        async with self._database.read() as connection:
            entries = {row.embedder: row.entries for row in await connection.execute(query)}
        done, missing = entries.pop(self._embedder.name, 0), entries.pop(None, 0)
        return EmbeddingProgress(
            embedder=self._embedder.name, done=done, outdated=sum(entries.values()), missing=missing
        )

    def _is_pending(self) -> ColumnElement[bool]:
        # Two ranges in place of <>, which no index can answer.
        embedder, name = search_entries.c.embedder, self._embedder.name
        return or_(embedder.is_(None), embedder < name, embedder > name)

    async def _embed(self, texts: Sequence[str]) -> list[_Stored]:
        if isinstance(self._embedder, TokenEmbedder):
            return [(one.vector, one.tokens.tobytes()) for one in await self._embedder.embed_tokens(texts)]
        return [(vector, None) for vector in await self._embedder.embed(texts)]

    async def _write(self, tx: Transaction, stored: Mapping[int, _Stored]) -> int:
        """Write the vectors of the entries that are there and still pending; how many."""
        entry = search_entries.c
        rows: list[Any] = []
        for some_ids in id_batches(stored):
            query = select(entry.id, entry.person, entry.audience, entry.source).where(
                entry.id.in_(some_ids), self._is_pending()
            )
            rows += (await tx.connection.execute(query)).all()
        added: defaultdict[tuple[Scope, Source], list[int]] = defaultdict(list)
        for row in rows:
            added[scope_of_row(row), Source(row.source)].append(row.id)
        for (scope, source), entry_ids in added.items():
            statement = (
                update(search_entries)
                .where(in_scope(search_entries, scope), entry.id == bindparam("entry_id"))
                .values(embedder=self._embedder.name, vector=bindparam("new_vector"), tokens=bindparam("new_tokens"))
            )
            vectors = np.stack([stored[entry_id][0] for entry_id in entry_ids])
            await tx.connection.execute(
                statement,
                [
                    {"entry_id": one, "new_vector": vector_to_bytes(stored[one][0]), "new_tokens": stored[one][1]}
                    for one in entry_ids
                ],
            )
            await self._vectors.record_change(scope, tx, source=source, added=entry_ids, vectors=vectors)
        return len(rows)
