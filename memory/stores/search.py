"""What search holds for every record: its indexed text, in full text at once, and its vector as soon as it is made.

The rows of ``search_entries`` are the truth and the queue: an entry without a vector of the present embedder is
found by its words, and is embedded later. An entry id stands for one text for ever; changed text gets a new id.

Invariant: a search returns entries of its reach alone, whatever an index says: every candidate is looked up in the
rows, and what they do not hold is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import structlog
from sqlalchemy import delete, insert, select
from sqlalchemy.engine import Connection

from memory.database import Database, Transaction
from memory.errors import EmbedderError
from memory.ids import IdSource
from memory.policy.late_interaction import query_tokens
from memory.policy.ranking import Excerpt, RankedEntry
from memory.policy.relevance import Floors, floors_of
from memory.ports import EmbeddedQuery, Embedder, QueryEmbedder, TextIndex, TokenEmbedder, VectorIndex, Vectors
from memory.prepared import Row
from memory.records import Candidates, EmbeddingProgress, EntryScore, Reach, Scope, SearchEntry, Source
from memory.schema import index_generations, search_entries
from memory.stores.candidates import CandidateFinder
from memory.stores.embedding_queue import EmbeddingQueue
from memory.stores.entry_rows import entries_of
from memory.stores.excerpts import Embedded, ExcerptReader
from memory.stores.scoped import delete_scope, id_batches, in_reach, in_scope, scope_of, scope_of_row
from memory.stores.vectors import VectorCache, vectors_from_bytes

_log = structlog.get_logger(__name__)

_ADD = insert(search_entries)

EMBEDDED_AT_ONCE = 256
"""How many entries are embedded together."""


class SearchStore:
    """The searchable side of every record.

    Args:
        database: where the rows are.
        text_index: full text, in the same database.
        embedder: the present embedder.
        ids: where entry ids come from.
        new_index: makes an empty vector index for that many dimensions.
        cache_bytes: memory that vector indexes may take.
    """

    name = "search"

    def __init__(
        self,
        database: Database,
        text_index: TextIndex,
        embedder: Embedder,
        ids: IdSource,
        *,
        new_index: Callable[[int], VectorIndex],
        cache_bytes: int = 96 * 2**20,
    ) -> None:
        self._database = database
        self._text_index = text_index
        self._embedder = embedder
        # Asked once: to compare something with a protocol takes longer than what is done with it.
        self._query_embedder = embedder if isinstance(embedder, QueryEmbedder) else None
        self._token_embedder = embedder if isinstance(embedder, TokenEmbedder) else None
        self._ids = ids
        self._vectors = VectorCache(embedder, ids, new_index=new_index, capacity_bytes=cache_bytes)
        self._queue = EmbeddingQueue(database, embedder, self._vectors)
        self._finder = CandidateFinder(text_index, self._vectors)
        self._excerpts = ExcerptReader(embedder)

    @property
    def index_builds(self) -> int:
        """How often an index was built from the rows, since the start."""
        return self._vectors.builds

    async def put(self, scope: Scope, tx: Transaction, *, source: Source, items: Sequence[tuple[int, str]]) -> None:
        """Make records searchable, in place of whatever was searchable of them.

        Args:
            items: as ``add`` takes them.
        """
        await self.remove(scope, tx, source=source, record_ids={record_id for record_id, _ in items})
        await self.add(scope, tx, source=source, items=items)

    async def add(self, scope: Scope, tx: Transaction, *, source: Source, items: Sequence[tuple[int, str]]) -> None:
        """Make new records searchable.

        Args:
            items: record id and text, speaker and date included; a long text comes in several items of the same
                record (see ``policy.chunking``).
        """
        chunks: Counter[int] = Counter()
        entries = []
        for record_id, text in items:
            entries.append(
                SearchEntry(
                    id=self._ids.next(),
                    scope=scope,
                    source=source,
                    record_id=record_id,
                    chunk=chunks[record_id],
                    text=text,
                )
            )
            chunks[record_id] += 1
        if entries:
            await tx.connection.execute(_ADD, [_row(entry) for entry in entries])
            await self._text_index.add(tx.connection, entries)

    async def remove(self, scope: Scope, tx: Transaction, *, source: Source, record_ids: Collection[int]) -> None:
        """Make records unsearchable; unknown ones are ignored."""
        gone: list[int] = []
        embedded: list[int] = []
        for some_ids in id_batches(record_ids):
            which = (
                in_scope(search_entries, scope),
                search_entries.c.source == source.value,
                search_entries.c.record_id.in_(some_ids),
            )
            query = select(search_entries.c.id, search_entries.c.embedder).where(*which)
            found = (await tx.connection.execute(query)).all()
            if found:
                await tx.connection.execute(delete(search_entries).where(*which))
            gone += [row.id for row in found]
            embedded += [row.id for row in found if row.embedder is not None]
        if gone:
            await self._text_index.remove(tx.connection, gone)
        if embedded:
            await self._vectors.record_gone(scope, tx, source=source, gone=embedded)

    async def embed_query(self, text: str) -> EmbeddedQuery:
        """A query's vectors.

        Raises:
            EmbedderError: the embedder cannot be run.
        """
        if self._query_embedder is not None:
            return EmbeddedQuery(vector=(await self._query_embedder.embed_queries([text]))[0])
        if self._token_embedder is None:
            return EmbeddedQuery(vector=(await self._embedder.embed([text]))[0])
        [embedded] = await self._token_embedder.embed_tokens([text])
        return EmbeddedQuery(vector=embedded.vector, tokens=query_tokens(text, embedded))

    async def search(
        self, reach: Reach, *, source: Source, query: str, limit: int, embedded: EmbeddedQuery | None = None
    ) -> list[EntryScore]:
        """Everything that full text or vectors bring up for a query, with both scores, in no order.

        These are candidates, several times ``limit`` and possibly several of one record: ``policy.ranking.rank``
        them, then cut. Where the embedder fails, full text answers alone, and the log says so.

        Args:
            limit: how many results are wanted in the end.
            embedded: the query's vectors, where the caller has them already.
        """
        if embedded is None:
            embedded = await self.embedded(query)
        look = partial(self.find, reach=reach, source=source, query=query, limit=limit, embedded=embedded)
        return await self._database.read_together(look)

    async def worded(self, reach: Reach, query: str, limits: Mapping[Source, int]) -> Candidates:
        """The candidates that full text has for a query, of several sources: those that need not wait for its vector.

        Args:
            limits: how many results of each source are wanted in the end; with 0 there are no candidates.
        """
        return await self._database.read_together(partial(self._finder.worded, reach=reach, query=query, limits=limits))

    async def looked_up(self, worded: Candidates, embedded: EmbeddedQuery) -> EmbeddedQuery:
        """The query with all of its candidates, which take no more statements than those of one source."""
        look = partial(self._finder.compared, worded=worded, vector=embedded.vector)
        return replace(embedded, candidates=await self._database.read_together(look))

    def find(
        self,
        connection: Connection,
        *,
        reach: Reach,
        source: Source,
        query: str,
        limit: int,
        embedded: EmbeddedQuery | None,
        besides: Collection[int] = (),
    ) -> list[EntryScore]:
        """The same with a query that is embedded, for a search that goes on to read on that connection.

        Args:
            connection: from ``Database.read_together``.
            embedded: the query's vectors; None where the embedder failed.
            besides: records that are looked at whatever the indexes say.
        """
        known = None if embedded is None else embedded.candidates
        if known is None or not known.suffice(query, reach, source, limit):
            worded = self._finder.worded(connection, reach, query, {source: limit})
            known = self._finder.compared(connection, worded, None if embedded is None else embedded.vector)
        entries = known.found.get(source, ())
        present = {entry.entry_id for entry in entries}
        others = self.of_records(connection, reach=reach, source=source, record_ids=besides, embedded=embedded)
        return [*entries, *(entry for entry in others if entry.entry_id not in present)]

    def excerpts(
        self,
        connection: Connection,
        *,
        reach: Reach,
        source: Source,
        candidates: Sequence[RankedEntry],
        embedded: EmbeddedQuery | None,
    ) -> list[Excerpt]:
        """The best candidates and what stands beside them, for ``policy.ranking.rerank``.

        Args:
            connection: from ``Database.read_together``.
            candidates: what ``find`` found, ranked and cut.
            embedded: the query's vectors; None where the embedder failed.
        """
        return self._excerpts.read(connection, reach, source, candidates, embedded)

    def matches(self, entries: Sequence[Embedded], embedded: EmbeddedQuery | None) -> dict[int, Vectors]:
        """How well entries answer each token of a query, by their ids; those not embedded yet are left out.

        Args:
            entries: what is compared.
            embedded: the query's vectors; None where the embedder failed.
        """
        compared = zip(entries, self._excerpts.compared(entries, embedded), strict=True)
        return {entry_id: one.matches for (entry_id, *_), one in compared if one.matches is not None}

    def of_records(
        self,
        connection: Connection,
        *,
        reach: Reach,
        source: Source,
        record_ids: Collection[int],
        embedded: EmbeddedQuery | None,
    ) -> list[EntryScore]:
        """The entries of these records within reach, as ``find`` gives them."""
        vector = None if embedded is None else embedded.vector
        rows = entries_of(connection, reach, source, record_ids) if record_ids else ()
        return self._scored(rows, source, vector)

    async def texts(self, reach: Reach, entry_ids: Collection[int]) -> dict[int, str]:
        """The indexed texts of a few entries, those outside the reach left out."""
        query = select(search_entries.c.id, search_entries.c.text).where(
            search_entries.c.id.in_(entry_ids), in_reach(search_entries, reach)
        )
        async with self._database.read() as connection:
            return {row.id: row.text for row in await connection.execute(query)}

    def floors(self, source: Source) -> Floors:
        """What is close enough to a query to be shown unasked, by the present embedder."""
        return floors_of(self._embedder.name, source)

    async def embedded(self, query: str) -> EmbeddedQuery:
        """A query's vectors, or none (with a log line) where the embedder fails: full text still answers."""
        try:
            return await self.embed_query(query)
        except EmbedderError as error:
            _log.warning("embedder_failed", error=str(error))
            return EmbeddedQuery()

    async def embed_pending(self, *, limit: int = EMBEDDED_AT_ONCE) -> int:
        """Embed entries of anybody that have no vector of the present embedder yet.

        The model is called first; then one transaction writes the vectors of those entries that are still there.

        Args:
            limit: how many at most.

        Returns:
            how many were taken up; 0 when nothing is left to do.

        Raises:
            EmbedderError: the embedder cannot be run; nothing was written.
        """
        return await self._queue.embed(limit)

    async def embed_new(self, scope: Scope, *, source: Source) -> None:
        """Embed what is new of one kind in one scope, before what waits of everybody. Raises as ``embed_pending``."""
        await self._queue.embed_of(scope, source=source, limit=EMBEDDED_AT_ONCE)

    async def index_older(self) -> None:
        """Index anew what a process of an earlier version has written, while it and this one ran."""
        while await self._database.write(lambda tx: self._text_index.index_older(tx.connection)):
            pass

    async def progress(self) -> EmbeddingProgress:
        """How many entries of everybody have a vector of the present embedder."""
        return await self._queue.progress()

    async def newest_scope(self) -> Scope | None:
        """Whose the newest entry is; None where there is none."""
        query = select(search_entries).order_by(search_entries.c.id.desc()).limit(1)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else scope_of_row(row)

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Nothing: every text here is a copy of what its own store exports."""
        return []

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete everything of a scope; rows by table."""
        query = select(search_entries.c.id).where(in_scope(search_entries, scope))
        entry_ids = (await tx.connection.execute(query)).scalars().all()
        await self._text_index.remove(tx.connection, entry_ids)
        tx.after_commit(lambda: self._vectors.forget(scope))
        return {table.name: await delete_scope(tx, table, scope) for table in (search_entries, index_generations)}

    def _scored(self, rows: Sequence[Row], source: Source, vector: Vectors | None) -> list[EntryScore]:
        similarity: dict[int, float] = {}
        own: dict[int, Vectors] = {}
        embedded = [(entry_id, stored) for entry_id, *_, by, stored in rows if by == self._embedder.name]
        if vector is not None and embedded:
            ids, stored_vectors = zip(*embedded, strict=True)
            vectors = vectors_from_bytes(stored_vectors, self._embedder.dimensions)
            cosines = np.clip(vectors @ vector, -1.0, 1.0).tolist()
            similarity = dict(zip(ids, cosines, strict=True))
            own = dict(zip(ids, vectors, strict=True))
        return [
            EntryScore(
                entry_id=entry_id,
                scope=scope_of(person, audience),
                source=source,
                record_id=record_id,
                similarity=similarity.get(entry_id),
                vector=own.get(entry_id),
            )
            for entry_id, person, audience, record_id, *_ in rows
        ]


def _row(entry: SearchEntry) -> dict[str, Any]:
    return {
        "person": entry.scope.person,
        "audience": entry.scope.audience,
        "source": entry.source.value,
        "record_id": entry.record_id,
        "chunk": entry.chunk,
        "id": entry.id,
        "text": entry.text,
    }
