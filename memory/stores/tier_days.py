"""How often the tiers of a scope were read, reinforced, evicted from and consolidated on each day.

Invariant: a count is written in the transaction of what it counts; a day is one of the installation's time zone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple
from datetime import datetime, tzinfo
from typing import Any

from sqlalchemy import func, insert, select, update

from memory.database import Database, Transaction
from memory.records import Scope, TierCounts
from memory.schema import tier_days as table
from memory.stores.scoped import delete_scope, in_scope, rows_of_scope

_COUNTED = (table.c.retrievals, table.c.reinforcements, table.c.evictions, table.c.consolidations)


class TierDayStore:
    """The table of days.

    Args:
        database: where the rows are.
        zone: in which days begin.

    Attributes:
        counted: what happened since the start of this process, by the name of the count.
    """

    name = "tier_days"

    def __init__(self, database: Database, *, zone: tzinfo) -> None:
        self._database = database
        self._zone = zone
        self.counted: Counter[str] = Counter()

    async def add(self, scope: Scope, tx: Transaction, *, counts: TierCounts, at: datetime) -> None:
        """Count what happened at a moment."""
        day = self._day(at)
        more = dict(zip((column.name for column in _COUNTED), astuple(counts), strict=True))
        mine = in_scope(table, scope) & (table.c.day == day)
        longer = {name: table.c[name] + count for name, count in more.items() if count}
        if not longer:
            return
        changed = await tx.connection.execute(update(table).where(mine).values(**longer))
        if changed.rowcount == 0:
            row = {"person": scope.person, "audience": scope.audience, "day": day, **more}
            await tx.connection.execute(insert(table).values(row))
        tx.after_commit(lambda: self.counted.update(more))

    async def total(self, scope: Scope) -> TierCounts:
        """What happened in a scope on all days."""
        return await self._sum(scope)

    async def of_day(self, scope: Scope, at: datetime) -> TierCounts:
        """What happened in a scope on the day of a moment."""
        return await self._sum(scope, table.c.day == self._day(at))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every day of a scope."""
        return await rows_of_scope(self._database, table, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every day of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}

    async def _sum(self, scope: Scope, *which: Any) -> TierCounts:
        query = select(*(func.coalesce(func.sum(column), 0) for column in _COUNTED))
        query = query.where(in_scope(table, scope), *which)
        async with self._database.read() as connection:
            retrievals, reinforcements, evictions, consolidations = (await connection.execute(query)).one()
        return TierCounts(
            retrievals=retrievals, reinforcements=reinforcements, evictions=evictions, consolidations=consolidations
        )

    def _day(self, at: datetime) -> str:
        return at.astimezone(self._zone).date().isoformat()
