"""The erasures that the mirror has to be told, and those it told of, which are done here too.

Invariant: who was erased is known by a digest alone. An erasure stays noted until the mirror has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.mirror.replica import digest_of, digests_of
from memory.ports import Clock
from memory.records import Scope, scope_slug
from memory.schema import PERSONAL_TABLES, mirror_erasures


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorErasure:
    """A scope, or a person with all scopes, that was erased here, and is not yet in the mirror.

    Attributes:
        digest: of the scope's slug, or of its part that names the person, since names are not to be kept.
        id: drawn when it was erased, and anew whenever the mirror is told.
        erased_at: when.
        follows: whether another device told of it, which is to know that this one has done it too.
    """

    digest: str
    id: int
    erased_at: datetime
    follows: bool


class MirrorErasureStore:
    """The table of erasures. ``MirrorChangeStore`` adds the changes.

    Args:
        database: where the rows are.
        ids: numbers the erasures.
        clock: dates them.
    """

    def __init__(self, database: Database, ids: IdSource, clock: Clock) -> None:
        self._database = database
        self._ids = ids
        self._clock = clock
        self._followed: frozenset[str] = frozenset()

    async def erasures(self) -> list[MirrorErasure]:
        """The erasures that the mirror does not have yet."""
        async with self._database.read() as connection:
            return await _erasures(connection)

    async def numbered_erasures(self, tx: Transaction) -> list[MirrorErasure]:
        """The erasures that the mirror is to be told now, each with a number above those of all rows told so far."""
        for erasure in await _erasures(tx.connection):
            one = mirror_erasures.c.digest == erasure.digest
            await tx.connection.execute(update(mirror_erasures).where(one).values(id=self._ids.next()))
        return await _erasures(tx.connection)

    async def follow(self, tx: Transaction, digests: Collection[str]) -> None:
        """Note that what other devices erased is erased here too; an erasure of this one that waits says more."""
        waiting = {erasure.digest for erasure in await _erasures(tx.connection)}
        for digest in sorted(set(digests) - waiting):
            await self._note_erasure(tx, digest, follows=True)

    async def erased_there(self, tx: Transaction, erasures: Collection[MirrorErasure]) -> None:
        """Note that the mirror has these erasures."""
        ids = [erasure.id for erasure in erasures]
        await tx.connection.execute(delete(mirror_erasures).where(mirror_erasures.c.id.in_(ids)))

    async def scopes_known_by(self, tx: Transaction, digests: Collection[str]) -> list[Scope]:
        """The scopes of which something is kept here and whose slug has one of these digests."""
        found: set[Scope] = set()
        for table in PERSONAL_TABLES:
            rows = await tx.connection.execute(select(table.c.person, table.c.audience).distinct())
            found |= {Scope(person=row.person, audience=row.audience) for row in rows}
        return sorted((scope for scope in found if not digests_of_scope(scope).isdisjoint(digests)), key=str)

    @contextmanager
    def following(self, digests: Collection[str]) -> Iterator[None]:
        """Erasures that the mirror told of, while they are done here too: it need not be told of them."""
        self._followed = frozenset(digests)
        try:
            yield
        finally:
            self._followed = frozenset()

    async def erase_person(self, person: str, tx: Transaction) -> None:
        """Note that all of a person is to be erased in the mirror, also what never came here."""
        await self._erased_here(tx, digest_of(_person_slug(person)))

    async def _erased_here(self, tx: Transaction, digest: str) -> None:
        await tx.connection.execute(delete(mirror_erasures).where(mirror_erasures.c.digest == digest))
        await self._note_erasure(tx, digest, follows=False)

    async def _note_erasure(self, tx: Transaction, digest: str, *, follows: bool) -> None:
        row = {"digest": digest, "id": self._ids.next(), "erased_at": self._clock.now(), "follows": follows}
        await tx.connection.execute(insert(mirror_erasures).values(row))


def digests_of_scope(scope: Scope) -> set[str]:
    """What a scope is known by once it, or its person, is erased."""
    return set(digests_of(scope_slug(scope)))


def _person_slug(person: str) -> str:
    """The part that the slugs of all of a person's scopes begin with."""
    return scope_slug(Scope(person=person, audience=""))


async def _erasures(connection: AsyncConnection) -> list[MirrorErasure]:
    rows = await connection.execute(select(mirror_erasures).order_by(mirror_erasures.c.id))
    return [MirrorErasure(digest=row.digest, id=row.id, erased_at=row.erased_at, follows=row.follows) for row in rows]
