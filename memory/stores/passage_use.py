"""Which passages searches returned, and how the searches fared.

Invariant: of a search that is to be noted later nothing is written before ``note``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sqlalchemy import func, insert, select, update

from memory.database import Database, Transaction
from memory.records import Scope, SearchHit
from memory.schema import archival_stats, passages
from memory.stores.passage_rows import alive
from memory.stores.scoped import in_scope, with_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivalStats:
    """The size of a scope's archival memory, and how its searches fared.

    Attributes:
        total: passages that a search can find.
        hits: searches that found something relevant.
        misses: searches that did not, though there was something to search. Small talk is not counted.
    """

    total: int
    hits: int
    misses: int


class Trace(Enum):
    """When to note that passages were accessed, and that a search was a hit or a miss."""

    NOW = "now"
    LATER = "later"  # when ``note_use`` is called; a person waits for the search, and not for the note
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """What a search leaves behind. ``hit`` is None where it does not count."""

    accessed: Sequence[SearchHit]
    at: datetime
    hit: bool | None


class PassageUse:
    """Notes the use of passages.

    Args:
        database: where the rows are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unnoted: defaultdict[Scope, list[_Use]] = defaultdict(list)

    def take(self, scope: Scope, hits: Sequence[SearchHit], *, relevant: bool | None, at: datetime) -> None:
        """Take down one search, to be noted later.

        Args:
            scope: the scope of the conversation that searched.
            hits: what it returned.
            relevant: whether it was a hit; None where it does not count.
            at: when.
        """
        if hits or relevant is not None:
            own = [hit for hit in hits if hit.scope.person == scope.person]  # to look into a linked account is no use
            self._unnoted[scope].append(_Use(accessed=own, at=at, hit=relevant))

    async def note(self, scope: Scope) -> None:
        """Note what the searches of this scope's conversations left to be noted."""
        uses = self._unnoted.pop(scope, [])
        if not uses:
            return

        async def note(tx: Transaction) -> None:
            for use in uses:
                await self._touch(tx, use.accessed, use.at)
                if use.hit is not None:
                    await self._count(scope, tx, hit=use.hit)

        await self._database.write(note)

    async def stats(self, scope: Scope) -> ArchivalStats:
        """How many passages there are, and how searches fared."""
        total = select(func.count()).select_from(passages).where(alive(scope))
        counts = select(archival_stats.c.hits, archival_stats.c.misses).where(in_scope(archival_stats, scope))
        async with self._database.read() as connection:
            passages_alive = (await connection.execute(total)).scalar_one()
            row = (await connection.execute(counts)).first()
        hits, misses = (0, 0) if row is None else (row.hits, row.misses)
        return ArchivalStats(total=passages_alive, hits=hits, misses=misses)

    async def _touch(self, tx: Transaction, hits: Sequence[SearchHit], now: datetime) -> None:
        if hits:
            await tx.connection.execute(
                update(passages)
                .where(with_keys(passages, {(hit.scope, hit.record_id) for hit in hits}))
                .values(last_accessed_at=now, access_count=passages.c.access_count + 1)
            )

    async def _count(self, scope: Scope, tx: Transaction, *, hit: bool) -> None:
        column = archival_stats.c.hits if hit else archival_stats.c.misses
        counted = update(archival_stats).where(in_scope(archival_stats, scope)).values({column: column + 1})
        holds_any = select(passages.c.id).where(in_scope(passages, scope)).limit(1)
        if (await tx.connection.execute(counted)).rowcount or not (await tx.connection.execute(holds_any)).first():
            return  # an empty archive has nothing to hit or miss, and that of an erased person stays empty
        first = {"hits": int(hit), "misses": int(not hit)}
        await tx.connection.execute(
            insert(archival_stats).values(person=scope.person, audience=scope.audience, **first)
        )
