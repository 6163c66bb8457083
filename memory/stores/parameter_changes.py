"""What the operator changed at run time: every change of a number, so that it is known who changed what and when.

Invariant: rows are only ever added; the newest row of a name is in force. Holds nothing about people but who changed
something.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, insert, select

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.schema import parameter_changes as table


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterChange:
    """One change.

    Attributes:
        name: the setting, in small letters.
        value: as it was typed; None for what is configured.
        actor: who changed it.
    """

    name: str
    value: str | None
    changed_at: datetime
    actor: str


class ParameterChangeStore:
    """The table of changes.

    Args:
        database: where the rows are.
        ids: draws the rows' ids.
    """

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def in_force(self) -> dict[str, ParameterChange]:
        """The last change of each name that stands, by name."""
        newest = select(func.max(table.c.id)).group_by(table.c.name)
        query = select(table).where(table.c.id.in_(newest), table.c.value.is_not(None)).order_by(table.c.name)
        async with self._database.read() as connection:
            return {
                row.name: ParameterChange(name=row.name, value=row.value, changed_at=row.changed_at, actor=row.actor)
                for row in await connection.execute(query)
            }

    async def history(self, name: str, limit: int) -> list[ParameterChange]:
        """The last changes of a name, newest first."""
        query = select(table).where(table.c.name == name).order_by(table.c.id.desc()).limit(limit)
        async with self._database.read() as connection:
            return [
                ParameterChange(name=row.name, value=row.value, changed_at=row.changed_at, actor=row.actor)
                for row in await connection.execute(query)
            ]

    async def add(self, tx: Transaction, change: ParameterChange) -> None:
        """Note a change, which is in force from now on."""
        await tx.connection.execute(
            insert(table).values(
                id=self._ids.next(),
                name=change.name,
                value=change.value,
                changed_at=change.changed_at,
                actor=change.actor,
            )
        )
