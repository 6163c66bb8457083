"""What a person set for themselves, wherever they speak: the time zone in which they mean times.

Invariant: kept once for each person, under the audience ``person``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import delete, insert, select

from memory.database import Database, Transaction
from memory.policy.audience import SHARED_AUDIENCE
from memory.records import Scope
from memory.schema import preferences as table
from memory.stores.scoped import delete_scope, in_any_scope, in_scope, rows_of_scope, scope_values

# Made once, since making a statement takes longer than running it.
_ZONE = select(table.c.time_zone).where(in_any_scope(table))


class PreferenceStore:
    """The table of preferences.

    Args:
        database: where the rows are.
        zone: that of persons who set none.
    """

    name = "preferences"

    def __init__(self, database: Database, *, zone: ZoneInfo) -> None:
        self._database = database
        self._zone = zone

    async def zone(self, scope: Scope) -> ZoneInfo:
        """The time zone of the scope's person."""
        async with self._database.read() as connection:
            name = (await connection.execute(_ZONE, scope_values(_of_person(scope)))).scalar_one_or_none()
        return self._zone if name is None else ZoneInfo(name)

    async def set_zone(self, scope: Scope, tx: Transaction, *, name: str | None) -> None:
        """Keep the time zone of the scope's person, an IANA name; None for the installation's."""
        await tx.connection.execute(delete(table).where(in_scope(table, _of_person(scope))))
        if name is not None:
            row = {"person": scope.person, "audience": SHARED_AUDIENCE, "time_zone": name}
            await tx.connection.execute(insert(table).values(row))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """The preferences that are kept under a scope."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back the row of an export; how many were not there. What the person set here since stands."""
        there = (await tx.connection.execute(select(table).where(in_scope(table, scope)))).first()
        new = rows[:1] if there is None else ()
        for row in new:
            await tx.connection.execute(insert(table).values(person=scope.person, audience=scope.audience, **row))
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete the preferences that are kept under a scope."""
        return {table.name: await delete_scope(tx, table, scope)}


def _of_person(scope: Scope) -> Scope:
    return Scope(person=scope.person, audience=SHARED_AUDIENCE)
