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
from sqlalchemy import ColumnElement, Row, Select, bindparam, func, or_, select, update

from memory.database import Database, Transaction
from memory.ports import Embedder, TokenEmbedder, Vectors
from memory.records import EmbeddingProgress, Scope, Source
from memory.schema import search_entries
from memory.stores.scoped import id_batches, in_any_scope, scope_of_row, scope_values
from memory.stores.vectors import IndexKey, VectorCache, VectorChange, vector_to_bytes

_log = structlog.get_logger(__name__)

_Stored = tuple[Vectors, bytes | None]
"""The vector of a text, and its token vectors as they are stored."""

# Made once, since making a statement takes longer than running it.
_EMBEDDED = (
    update(search_entries)
    .where(in_any_scope(search_entries), search_entries.c.id == bindparam("of_entry"))
    .values(embedder=bindparam("new_embedder"), vector=bindparam("new_vector"), tokens=bindparam("new_tokens"))
)


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
        self._token_embedder = embedder if isinstance(embedder, TokenEmbedder) else None
        self._vectors = vectors
        entry, pending = search_entries.c, _is_pending(embedder.name)
        self._pending = select(entry.id, entry.text).where(pending).limit(bindparam("most"))
        self._pending_of_scope = self._pending.where(
            in_any_scope(search_entries), entry.source == bindparam("of_source")
        )
        self._still_pending = select(entry.id, entry.person, entry.audience, entry.source).where(
            entry.id.in_(bindparam("ids", expanding=True)), pending
        )

    async def embed(self, limit: int) -> int:
        """Embed at most ``limit`` entries; how many were taken up.

        Raises:
            EmbedderError: the embedder cannot be run; nothing was written.
        """
        return await self._embed_found(self._pending, {"most": limit})

    async def embed_of(self, scope: Scope, *, source: Source, limit: int) -> int:
        """The same for the entries of one kind in one scope, which come before all others then. Raises as ``embed``."""
        values = {**scope_values(scope), "of_source": source, "most": limit}
        return await self._embed_found(self._pending_of_scope, values)

    async def _embed_found(self, query: Select[Any], values: Mapping[str, Any]) -> int:
        pending = await self._database.read_together(lambda connection: connection.execute(query, values).all())
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

    async def _embed(self, texts: Sequence[str]) -> list[_Stored]:
        if self._token_embedder is not None:
            return [(one.vector, one.tokens.tobytes()) for one in await self._token_embedder.embed_tokens(texts)]
        return [(vector, None) for vector in await self._embedder.embed(texts)]

    async def _write(self, tx: Transaction, stored: Mapping[int, _Stored]) -> int:
        """Write the vectors of the entries that are there and still pending; how many."""
        rows: list[Any] = []
        for some_ids in id_batches(stored):
            rows += (await tx.connection.execute(self._still_pending, {"ids": some_ids})).all()
        if not rows:
            return 0
        await tx.connection.execute(_EMBEDDED, [self._values(row, stored[row.id]) for row in rows])
        added: defaultdict[IndexKey, list[int]] = defaultdict(list)
        for row in rows:
            added[scope_of_row(row), Source(row.source)].append(row.id)
        changes = {
            key: VectorChange(gone=(), added=ids, vectors=np.stack([stored[entry_id][0] for entry_id in ids]))
            for key, ids in added.items()
        }
        await self._vectors.record_changes(tx, changes)
        return len(rows)

    def _values(self, row: Row[Any], stored: _Stored) -> dict[str, Any]:
        """What ``_EMBEDDED`` is run with."""
        vector, tokens = stored
        return {
            **scope_values(scope_of_row(row)),
            "of_entry": row.id,
            "new_embedder": self._embedder.name,
            "new_vector": vector_to_bytes(vector),
            "new_tokens": tokens,
        }


def _is_pending(embedder: str) -> ColumnElement[bool]:
    """The entries without a vector of this embedder."""
    # Two ranges in place of <>, which no index can answer.
    column = search_entries.c.embedder
    return or_(column.is_(None), column < embedder, column > embedder)
