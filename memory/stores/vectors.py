"""The vector indexes in memory, one for each scope and source, and the generation that says how new each one is.

An index is built from the rows when a search first needs it and may be thrown away at any time. Every change of
vectors moves the generation in the database, in the same transaction. A process that made the change carries its
own index along; any other sees the generation differ at its next search, and builds anew.

Invariants: a search uses an index at least as new as what was committed before it began, holding vectors of the
present embedder alone. All arithmetic on vectors runs in a thread.
"""

from __future__ import annotations

import heapq
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from weakref import WeakValueDictionary

import numpy as np
import structlog
from sqlalchemy import Select, and_, bindparam, select, tuple_
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.engine import Connection

from memory.database import Transaction
from memory.ids import IdSource
from memory.ports import Embedder, VectorIndex, Vectors
from memory.prepared import Prepared
from memory.records import Reach, Scope, Source
from memory.schema import index_generations, listed, search_entries
from memory.stores.scoped import (
    in_any_reach,
    in_any_scope,
    in_scope,
    reach_values,
    scope_of,
    scope_of_row,
    scope_values,
)

_log = structlog.get_logger(__name__)

_ROWS_PER_STATEMENT = 1_000  # larger pages are no faster, and hold up the event loop for longer
_EMPTY_INDEX_BYTES = 4_096
_STORED = np.dtype("<f2")

_GENERATIONS, _GENERATIONS_IN_AUDIENCES = (
    Prepared(
        select(index_generations).where(
            in_any_reach(index_generations, in_audiences=named), index_generations.c.source.in_(listed("sources"))
        )
    )
    for named in (False, True)
)
_INDEX = and_(in_any_scope(index_generations), index_generations.c.source == bindparam("of_source"))
_GENERATION = select(index_generations.c.generation).where(_INDEX)
_GENERATIONS_OF_PERSONS = select(index_generations).where(index_generations.c.person.in_(listed("persons")))
_move = insert(index_generations)
_MOVE = _move.on_conflict_do_update(
    index_elements=index_generations.primary_key.columns, set_={"generation": _move.excluded.generation}
)

IndexKey = tuple[Scope, Source]


def vector_to_bytes(vector: Vectors) -> bytes:
    """One vector as it is stored: float16, little endian."""
    return vector.astype(_STORED).tobytes()


def vectors_from_bytes(stored: Sequence[bytes], dimensions: int) -> Vectors:
    """Stored vectors as one array of shape (len(stored), dimensions), float32."""
    flat = np.frombuffer(b"".join(stored), dtype=_STORED)
    return flat.reshape(len(stored), dimensions).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorChange:
    """What one transaction did to the vectors of an index.

    Attributes:
        gone: entries that have no vector any more.
        added: entries that have one now.
        vectors: theirs, of shape (len(added), dimensions).
    """

    gone: Sequence[int]
    added: Sequence[int]
    vectors: Vectors

    @property
    def size_bytes(self) -> int:
        return int(self.vectors.nbytes)


class _CachedIndex:
    """An index, the generation it stands at, and the changes it has still to take in.

    ``counted_bytes`` is its size when the cache last looked.
    """

    def __init__(self, index: VectorIndex, generation: int) -> None:
        self.generation = generation
        self.counted_bytes = 0
        self._index = index
        self._changes: deque[VectorChange] = deque()
        self._lock = threading.Lock()

    @property
    def size_bytes(self) -> int:
        waiting = sum(change.size_bytes for change in tuple(self._changes))
        return _EMPTY_INDEX_BYTES + self._index.size_bytes + waiting

    def follow(self, change: VectorChange, generation: int) -> None:
        """Take note of a change; the next search, in its thread, takes it in."""
        self._changes.append(change)
        self.generation = generation

    def search(self, vector: Vectors, limit: int) -> list[tuple[int, float]]:
        with self._lock:
            while self._changes:
                change = self._changes[0]
                self._index.remove(change.gone)
                self._index.add(change.added, change.vectors)
                self._changes.popleft()  # only now: a change that failed half way is taken in again, as a whole
            return self._index.search(vector, limit)

    def vectors_of(self, ids: Collection[int]) -> tuple[list[int], Vectors]:
        """The vectors of those of these ids that the last search may have returned."""
        return self._index.vectors_of(ids)


class VectorCache:
    """The indexes of the scopes searched lately.

    Args:
        embedder: whose vectors are searched.
        ids: gives generations, so that one is never used again after an erasure.
        new_index: makes an empty index for vectors of that many dimensions.
        capacity_bytes: memory that all indexes may take together; the one searched last always stays.
    """

    def __init__(
        self,
        embedder: Embedder,
        ids: IdSource,
        *,
        new_index: Callable[[int], VectorIndex],
        capacity_bytes: int,
    ) -> None:
        self._embedder = embedder
        self._ids = ids
        self._new_index = new_index
        self._capacity_bytes = capacity_bytes
        self._indexes: OrderedDict[IndexKey, _CachedIndex] = OrderedDict()
        self._held_bytes = 0
        self.builds = 0
        self._lock = threading.Lock()  # over the three above and the next one; never held while anything is read
        self._building: WeakValueDictionary[IndexKey, threading.Lock] = WeakValueDictionary()

    def nearest(
        self,
        connection: Connection,
        reach: Reach,
        *,
        vector: Vectors,
        limits: Mapping[Source, int],
        also: Mapping[Source, Collection[int]],
    ) -> dict[Source, tuple[list[int], Vectors]]:
        """Of each source the nearest entries within reach, and their vectors, of shape (entries, dimensions).

        Args:
            connection: where to read what is not in memory; called in a thread.
            vector: of shape (dimensions,), of length 1.
            limits: how many of each source are the nearest.
            also: entries of each source that are given besides, where they have a vector.
        """
        indexes: defaultdict[Source, list[_CachedIndex]] = defaultdict(list)
        for own in reach.of_each:
            for scope, source, generation in self._generations(connection, own, limits):
                indexes[source].append(self._at_least(connection, scope, source, generation))
        return {source: _nearest(some, vector, limits[source], also[source]) for source, some in indexes.items()}

    async def record_gone(self, scope: Scope, tx: Transaction, *, source: Source, gone: Sequence[int]) -> None:
        """Note that entries of one index have no vector any more; see ``record_changes``."""
        none = np.empty((0, self._embedder.dimensions), dtype=np.float32)
        await self.record_changes(tx, {(scope, source): VectorChange(gone=gone, added=(), vectors=none)})

    async def record_changes(self, tx: Transaction, changes: Mapping[IndexKey, VectorChange]) -> None:
        """Move the generations, and after commit each index in memory, where it stood at the one before."""
        persons = list({scope.person for scope, _ in changes})
        rows = (await tx.connection.execute(_GENERATIONS_OF_PERSONS, {"persons": persons})).all()
        before = {(scope_of_row(row), Source(row.source)): row.generation for row in rows}
        after = {key: max(self._ids.next(), before.get(key, 0) + 1) for key in changes}
        moved = [
            {"person": scope.person, "audience": scope.audience, "source": source.value, "generation": generation}
            for (scope, source), generation in after.items()
        ]
        await tx.connection.execute(_MOVE, moved)

        def follow() -> None:
            for key, change in changes.items():
                self._follow(key, change, before.get(key), after[key])

        tx.after_commit(follow)

    def forget(self, scope: Scope) -> None:
        """Drop every index of a scope."""
        with self._lock:
            for source in Source:
                self._drop((scope, source))

    def _follow(self, key: IndexKey, change: VectorChange, before: int | None, after: int) -> None:
        with self._lock:
            cached = self._indexes.get(key)
            if cached is None or cached.generation >= after:
                return
            if cached.generation == before:
                cached.follow(change, after)
                self._fit(cached)
            else:
                self._drop(key)

    def _generations(
        self, connection: Connection, reach: Reach, sources: Collection[Source]
    ) -> list[tuple[Scope, Source, int]]:
        query = _GENERATIONS if reach.audiences is None else _GENERATIONS_IN_AUDIENCES
        rows = query.rows(connection, {**reach_values(reach), "sources": list(sources)})
        return [(scope_of(person, audience), Source(kind), generation) for person, audience, kind, generation in rows]

    def _at_least(self, connection: Connection, scope: Scope, source: Source, generation: int) -> _CachedIndex:
        key = (scope, source)
        with self._lock:
            building = self._building.setdefault(key, threading.Lock())
        with building:
            cached = self._held(key)
            if cached is None or cached.generation < generation:
                cached = self._build(connection, scope, source)
                self._hold(key, cached)
        return cached

    def _held(self, key: IndexKey) -> _CachedIndex | None:
        with self._lock:
            cached = self._indexes.get(key)
            if cached is not None:
                self._indexes.move_to_end(key)
                self._fit(cached)
            return cached

    def _hold(self, key: IndexKey, built: _CachedIndex) -> None:
        with self._lock:
            self._drop(key)
            self._indexes[key] = built
            self._fit(built)

    def _build(self, connection: Connection, scope: Scope, source: Source) -> _CachedIndex:
        dimensions = self._embedder.dimensions
        index_of = {**scope_values(scope), "of_source": source.value}
        index = self._new_index(dimensions)
        place = (-1, -1)
        # The generation first: an index may hold more than its generation says, but never less.
        built_at = connection.execute(_GENERATION, index_of).scalar_one_or_none() or 0
        while rows := connection.execute(self._page(scope, source, place)).all():
            place = (rows[-1].record_id, rows[-1].chunk)
            index.add([row.id for row in rows], vectors_from_bytes([row.vector for row in rows], dimensions))
        self.builds += 1
        _log.info("vector_index_built", source=source.value, vectors=len(index))
        return _CachedIndex(index, built_at)

    def _page(self, scope: Scope, source: Source, place: tuple[int, int]) -> Select[tuple[int, int, int, bytes]]:
        entry = search_entries.c
        return (
            select(entry.record_id, entry.chunk, entry.id, entry.vector)
            .where(
                in_scope(search_entries, scope),
                entry.source == source.value,
                entry.embedder == self._embedder.name,
                tuple_(entry.record_id, entry.chunk) > tuple_(*place),
            )
            .order_by(entry.record_id, entry.chunk)
            .limit(_ROWS_PER_STATEMENT)
        )

    def _fit(self, changed: _CachedIndex) -> None:
        """Count an index that is held anew, and drop those searched longest ago until the rest fits."""
        size = changed.size_bytes
        self._held_bytes += size - changed.counted_bytes
        changed.counted_bytes = size
        while self._held_bytes > self._capacity_bytes and len(self._indexes) > 1:
            self._drop(next(iter(self._indexes)))

    def _drop(self, key: IndexKey) -> None:
        dropped = self._indexes.pop(key, None)
        if dropped is not None:
            self._held_bytes -= dropped.counted_bytes


def _nearest(
    indexes: Sequence[_CachedIndex], vector: Vectors, limit: int, also: Collection[int]
) -> tuple[list[int], Vectors]:
    found = [pair for index in indexes for pair in index.search(vector, limit)]
    wanted = {entry_id for entry_id, _ in heapq.nlargest(limit, found, key=itemgetter(1))}.union(also)
    each = [index.vectors_of(wanted) for index in indexes]
    return [entry_id for ids, _ in each for entry_id in ids], np.concatenate([vectors for _, vectors in each])
