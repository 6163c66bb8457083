"""Archival memory: the facts and documents that the agent saves for good, found again by searching.

Invariant: a passage is forgotten softly (its row stays, no search finds it) until it is erased, and only passages
that a search returned count as accessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import and_, delete, insert, select, update

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.parameters import Fading
from memory.policy.fading import first_accesses, is_let_go, why_let_go
from memory.ports import Clock, EmbeddedQuery
from memory.records import Passage, Reach, Scope, SearchHit, Source
from memory.schema import archival_stats, passages
from memory.stores.passage_rows import alive, passage_of_row, searchable_passage, worth_of_row
from memory.stores.passage_search import PassageSearch
from memory.stores.passage_use import ArchivalStats, PassageUse, Trace
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    id_batches,
    in_reach,
    in_scope,
    restore_rows,
    rows_of_scope,
)
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

_CHANGING = ("last_accessed_at", "access_count", "forgotten_at", "forgotten_reason")


class ArchivalStore:
    """The table of passages.

    Args:
        database: where the rows are.
        search: indexes their texts.
        ids: draws the passages' ids.
        clock: says when a passage was stored and accessed.
        fading: by which rule passages fade.
    """

    name = "archival"

    def __init__(
        self,
        database: Database,
        search: SearchStore,
        ids: IdSource,
        clock: Clock,
        *,
        fading: Fading = Fading.REUSE,
    ) -> None:
        self._database = database
        self._search = search
        self._ids = ids
        self._clock = clock
        self._fading = fading
        self._use = PassageUse(database)

    async def insert(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        content: str,
        memory_type: str = "fact",
        importance: float = 0.5,
        metadata: Mapping[str, Any] | None = None,
        source_message: int | None = None,
    ) -> Passage:
        """Store a passage and make it searchable under its date.

        Args:
            scope: whose.
            tx: the open transaction.
            content: the text, free of lone surrogates (``policy.text.clean``). What is stored already, and not
                forgotten, is returned as it stands and not stored again.
            memory_type: ``fact``, ``document``, ``preference``, ``episode`` or another word.
            importance: 0 to 1.
            metadata: anything that JSON can hold.
            source_message: the message it was learned from.

        Raises:
            InvalidInput: the text is empty, or the importance is out of range.
        """
        if not content.strip():
            raise InvalidInput("An empty text cannot be kept. Say what to keep.")
        if not 0.0 <= importance <= 1.0:
            raise InvalidInput(f"The importance {importance} is out of range. Give a number from 0 to 1.")
        digest = hashlib.sha256(content.encode()).hexdigest()
        same = select(passages).where(alive(scope), passages.c.content_hash == digest)
        already = (await tx.connection.execute(same)).first()
        if already is not None:
            return passage_of_row(already)
        now = as_stored(self._clock.now())
        values: dict[str, Any] = {
            "id": self._ids.next(),
            "content": content,
            "memory_type": memory_type,
            "importance": importance,
            "created_at": now,
            "last_accessed_at": now,
            "access_count": first_accesses(self._fading),
            "metadata": dict(metadata or {}),
            "source_message": source_message,
        }
        owner = {"person": scope.person, "audience": scope.audience}
        await tx.connection.execute(insert(passages).values(**owner, **values, content_hash=digest))
        passage = Passage(scope=scope, **values)
        texts = searchable_passage(content, now)
        await self._search.add(scope, tx, source=Source.ARCHIVAL, items=[(passage.id, text) for text in texts])
        tx.after_commit(
            lambda: _log.info("archival_insert", passage=passage.id, characters=len(content), entries=len(texts))
        )
        return passage

    async def search(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        *,
        limit: int = 5,
        memory_types: Collection[str] | None = None,
        min_importance: float = 0.0,
        recency_weight: float = 0.1,
        embedded: EmbeddedQuery | None = None,
        trace: Trace = Trace.NOW,
        floor: bool = False,
    ) -> list[SearchHit]:
        """The passages that answer a query best, best first.

        Args:
            scope: the scope of the conversation, which counts the hit or the miss.
            reach: what may be read.
            query: any text.
            limit: hits at most.
            memory_types: leave out passages of other types; None for all.
            min_importance: leave out less important ones.
            recency_weight: how fast a passage fades, per day since it was last returned.
            embedded: the query's vectors, where the caller has them already.
            trace: when to note that the returned passages were accessed, and to count the search.
            floor: leave out what is not relevant enough to be shown unasked.
        """
        now = as_stored(self._clock.now())
        if embedded is None:
            embedded = await self._search.embedded(query)
        look = PassageSearch(
            search=self._search,
            reach=reach,
            query=query,
            embedded=embedded,
            limit=limit,
            memory_types=None if memory_types is None else frozenset(memory_types),
            min_importance=min_importance,
            floor=floor,
            fading=self._fading,
            recency_weight=recency_weight,
            now=now,
        )
        found = await self._database.read_together(look)
        if trace is not Trace.NEVER:
            self._use.take(scope, found.hits, relevant=found.relevant, at=now)
        if trace is Trace.NOW:
            await self._use.note(scope)
        return found.hits

    async def note_use(self, scope: Scope) -> None:
        """Note what the searches of this scope's conversations left to be noted."""
        await self._use.note(scope)

    async def stats(self, scope: Scope) -> ArchivalStats:
        """How many passages there are, and how searches fared."""
        return await self._use.stats(scope)

    async def forget(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        threshold_days: float = 90,
        min_importance: float = 0.3,
        min_accesses: int = 3,
    ) -> int:
        """Forget the passages that the rule in force lets go of; how many.

        Args:
            threshold_days: days since the last access above which a passage is old.
            min_importance: importance that keeps a passage.
            min_accesses: accesses that keep a passage. These three are for the rule ``reuse``.
        """
        now = as_stored(self._clock.now())
        present = (await tx.connection.execute(select(passages).where(alive(scope)))).all()
        gone = [
            row.id
            for row in present
            if is_let_go(
                self._fading,
                worth_of_row(row, now),
                threshold_days=threshold_days,
                min_importance=min_importance,
                min_accesses=min_accesses,
            )
        ]
        for some in id_batches(gone):
            which = update(passages).where(in_scope(passages, scope), passages.c.id.in_(some))
            values = {"forgotten_at": now, "forgotten_reason": why_let_go(self._fading)}
            await tx.connection.execute(which.values(**values))
        await self._search.remove(scope, tx, source=Source.ARCHIVAL, record_ids=gone)
        if gone:
            tx.after_commit(lambda: _log.info("archival_forget", passages=len(gone)))
        return len(gone)

    async def reinstate(self, scope: Scope, tx: Transaction, *, passage_id: int) -> Passage | None:
        """Bring a forgotten passage back, as if it had been read just now; None where there is none of that id."""
        mine = and_(in_scope(passages, scope), passages.c.id == passage_id)
        row = (await tx.connection.execute(select(passages).where(mine))).first()
        if row is None:
            return None
        now, accesses = as_stored(self._clock.now()), row.access_count + 1
        back = update(passages).where(mine).values(forgotten_at=None, forgotten_reason=None)
        await tx.connection.execute(back.values(last_accessed_at=now, access_count=accesses))
        items = [(row.id, text) for text in searchable_passage(row.content, row.created_at)]
        await self._search.put(scope, tx, source=Source.ARCHIVAL, items=items)
        back_again = replace(passage_of_row(row), forgotten_at=None, forgotten_reason=None)
        return replace(back_again, last_accessed_at=now, access_count=accesses)

    async def idle_scopes(self, before: datetime) -> list[Scope]:
        """The scopes of everybody in which a passage was not read since a moment, for the sweep."""
        query = select(passages.c.person, passages.c.audience).where(
            passages.c.forgotten_at.is_(None), passages.c.last_accessed_at < before
        )
        async with self._database.read() as connection:
            rows = await connection.execute(query.distinct())
        return [Scope(person=row.person, audience=row.audience) for row in rows]

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete, for good, what was saved in answer to a message."""
        mine = in_scope(passages, scope) & (passages.c.source_message == source_message)
        found = (await tx.connection.execute(select(passages.c.id).where(mine))).scalars().all()
        await tx.connection.execute(delete(passages).where(mine))
        await self._search.remove(scope, tx, source=Source.ARCHIVAL, record_ids=found)

    async def all(self, scope: Scope) -> list[Passage]:
        """The passages that are not forgotten, oldest first."""
        query = select(passages).where(alive(scope)).order_by(passages.c.id)
        async with self._database.read() as connection:
            return [passage_of_row(row) for row in await connection.execute(query)]

    async def everything(self, reach: Reach) -> list[Passage]:
        """Every passage within reach, forgotten or not, the newest first."""
        query = select(passages).where(in_reach(passages, reach)).order_by(passages.c.id.desc())
        async with self._database.read() as connection:
            return [passage_of_row(row) for row in await connection.execute(query)]

    async def get(self, reach: Reach, passage_ids: Collection[int]) -> list[Passage]:
        """The passages of these ids within reach, forgotten or not; unknown ids are left out."""
        query = select(passages).where(in_reach(passages, reach), passages.c.id.in_(passage_ids))
        async with self._database.read() as connection:
            return [passage_of_row(row) for row in await connection.execute(query.order_by(passages.c.id))]

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every passage of a scope, the forgotten ones included, oldest first."""
        return await rows_of_scope(self._database, passages, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of an export, searchable but for the forgotten; how many were not there.

        Raises:
            InvalidInput: another passage has the id of one of them.
        """
        new = await restore_rows(tx, passages, scope, rows, changing=_CHANGING)
        items = [
            (row["id"], text)
            for row in new
            if row["forgotten_at"] is None
            for text in searchable_passage(row["content"], row["created_at"])
        ]
        await self._search.add(scope, tx, source=Source.ARCHIVAL, items=items)
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every passage of a scope (the search store erases its entries); rows deleted per table."""
        return {table.name: await delete_scope(tx, table, scope) for table in (passages, archival_stats)}
