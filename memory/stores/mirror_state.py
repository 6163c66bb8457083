"""What this database knows of itself as a device of its mirror: its name, where it is registered, how far it came.

Invariant: one value of each name.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.database import Database, Transaction
from memory.records import Scope
from memory.schema import mirror_state
from memory.stores.mirror_rows import records_of
from memory.stores.mirrored import NOBODY, Mirrored

_MIRROR, _REGISTERED_AT = "mirror", "registered_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """This device's place in the register of its mirror.

    Attributes:
        mirror: what the hosted database is called.
        at: when this device last left its word there, in milliseconds since 1970.
    """

    mirror: str
    at: int


class RegistrationStore:
    """Where this device is registered, and what the mirror has been told of it.

    Args:
        database: where the rows are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self) -> Registration | None:
        """Where this device is registered; None for nowhere yet."""
        async with self._database.read() as connection:
            mirror, at = await state_of(connection, _MIRROR), await state_of(connection, _REGISTERED_AT)
        return None if mirror is None or at is None else Registration(mirror=mirror, at=int(at))

    async def note(self, tx: Transaction, registration: Registration) -> None:
        """Note where this device is registered."""
        await set_state(tx, _MIRROR, registration.mirror)
        await set_state(tx, _REGISTERED_AT, str(registration.at))

    async def scopes_with(self, store: Mirrored) -> list[Scope]:
        """The scopes of everybody of whom a store has rows here."""
        if not store.of_people:
            return [NOBODY]
        scope = store.table.c.person, store.table.c.audience
        async with self._database.read() as connection:
            rows = await connection.execute(select(*scope).distinct().order_by(*scope))
            return [Scope(person=row.person, audience=row.audience) for row in rows]

    async def records(self, scope: Scope, store: Mirrored) -> set[str]:
        """The identities of what a store has of a scope, but for what was said off the record."""
        return await self._database.read_together(lambda connection: records_of(connection, scope, store))


async def state_of(connection: AsyncConnection, name: str) -> str | None:
    """What is known under a name; None for nothing."""
    return (await connection.execute(select(mirror_state.c.value).where(mirror_state.c.name == name))).scalar()


async def set_state(tx: Transaction, name: str, value: str) -> None:
    """Know something under a name, in the place of what was known."""
    await tx.connection.execute(delete(mirror_state).where(mirror_state.c.name == name))
    await tx.connection.execute(insert(mirror_state).values(name=name, value=value))
