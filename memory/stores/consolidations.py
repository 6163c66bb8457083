"""What consolidations did, and who is due for one.

Invariant: a report is written in the transaction of what it reports, so that a consolidation happened exactly where
there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, and_, delete, func, insert, select, tuple_, union

from memory.database import Database, Transaction
from memory.records import ConsolidationReport, Mode, Scope
from memory.schema import consolidations as table
from memory.schema import entries, facts
from memory.stores.scoped import as_stored, delete_scope, in_scope, restore_rows, rows_of_scope, scope_of_row

_KEPT = 100  # reports of a scope
_SIZES = ("hot_size_bytes", "tree_size_bytes", "tree_nodes", "warm_entries", "warm_bytes")
_APART = ("id", "mode", "scope", "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """By what is decided whether a scope is due.

    Attributes:
        last: when it was last consolidated in each mode, one that includes it counted too.
        oldest, newest: when anything of it was first kept, and last changed.
    """

    last: Mapping[Mode, datetime]
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSizes:
    """How large the tiers of everybody are together.

    Attributes:
        scopes: of how many.
        last: when one was last consolidated; None where none was.
    """

    scopes: int
    hot_size_bytes: int
    tree_size_bytes: int
    tree_nodes: int
    warm_entries: int
    warm_bytes: int
    last: datetime | None


class ConsolidationStore:
    """The table of reports.

    Args:
        database: where the rows are.
    """

    name = "consolidations"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, scope: Scope, tx: Transaction, *, report: ConsolidationReport) -> None:
        """Keep a report, and the newest hundred of a scope."""
        told = {name: value for name, value in asdict(report).items() if name not in _APART}
        row = {"id": report.id, "mode": report.mode.value, "at": as_stored(report.at), "report": told}
        await tx.connection.execute(insert(table).values(person=scope.person, audience=scope.audience, **row))
        newest = select(table.c.id).where(in_scope(table, scope)).order_by(table.c.id.desc()).offset(_KEPT).limit(1)
        oldest = (await tx.connection.execute(newest)).scalar_one_or_none()
        if oldest is not None:
            await tx.connection.execute(delete(table).where(in_scope(table, scope), table.c.id <= oldest))

    async def reports(self, scope: Scope, *, limit: int = 20) -> list[ConsolidationReport]:
        """The newest reports of a scope."""
        query = select(table).where(in_scope(table, scope)).order_by(table.c.id.desc()).limit(limit)
        async with self._database.read() as connection:
            return [_report(row) for row in await connection.execute(query)]

    async def scopes(self, *, after: Scope | None, limit: int) -> list[Scope]:
        """The scopes of everybody in which there is anything to consolidate, in the order of their keys.

        Args:
            after: the last of those seen before; None for the first ones.
            limit: how many at most.
        """
        some: list[Select[Any]] = []
        for each in (entries, facts):
            query = select(each.c.person, each.c.audience).distinct()
            if after is not None:
                query = query.where(tuple_(each.c.person, each.c.audience) > (after.person, after.audience))
            some.append(query.order_by(each.c.person, each.c.audience).limit(limit))
        found = union(*(select(query.subquery()) for query in some)).subquery()
        ordered = select(found).order_by(found.c.person, found.c.audience).limit(limit)
        async with self._database.read() as connection:
            return [scope_of_row(row) for row in await connection.execute(ordered)]

    async def count_scopes(self) -> int:
        """In how many scopes of everybody there is anything to consolidate."""
        kept = union(*(select(each.c.person, each.c.audience) for each in (entries, facts))).subquery()
        async with self._database.read() as connection:
            return (await connection.execute(select(func.count()).select_from(kept))).scalar_one()

    async def sizes(self) -> TierSizes:
        """How large the tiers of everybody are together, each as of its last consolidation."""
        newest = select(table.c.person, table.c.audience, func.max(table.c.id).label("id"))
        last = newest.group_by(table.c.person, table.c.audience).subquery()
        here = (table.c.person == last.c.person, table.c.audience == last.c.audience, table.c.id == last.c.id)
        told = (table.c.report[name].as_integer() for name in _SIZES)
        query = select(func.count(), *(func.coalesce(func.sum(size), 0) for size in told), func.max(table.c.at))
        async with self._database.read() as connection:
            scopes, *sizes, at = (await connection.execute(query.select_from(table).join(last, and_(*here)))).one()
        return TierSizes(scopes=scopes, last=at, **dict(zip(_SIZES, sizes, strict=True)))

    async def standing(self, scope: Scope) -> Standing:
        """By what is decided whether a scope is due."""
        last_of = select(table.c.mode, func.max(table.c.at)).where(in_scope(table, scope)).group_by(table.c.mode)
        spans = (
            select(func.min(entries.c.created_at), func.max(entries.c.touched_at)).where(in_scope(entries, scope)),
            select(func.min(facts.c.created_at), func.max(facts.c.updated_at)).where(in_scope(facts, scope)),
        )
        async with self._database.read() as connection:
            done = {Mode(mode): at for mode, at in await connection.execute(last_of)}
            found = [(await connection.execute(query)).one() for query in spans]
        last = {}
        for mode in Mode:
            times = [at for other, at in done.items() if other.includes(mode)]
            if times:
                last[mode] = max(times)
        oldest = [row[0] for row in found if row[0] is not None]
        newest = [row[1] for row in found if row[1] is not None]
        return Standing(last=last, oldest=min(oldest, default=None), newest=max(newest, default=None))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every report of a scope."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back reports of an export; how many were not there."""
        return len(await restore_rows(tx, table, scope, rows))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every report of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}


def _report(row: Row[Any]) -> ConsolidationReport:
    known = {field.name for field in fields(ConsolidationReport)}
    told = {name: value for name, value in row.report.items() if name in known}
    for name in ("tree_operations", "tree_findings"):
        told[name] = tuple(told.get(name, ()))
    return ConsolidationReport(id=row.id, mode=Mode(row.mode), scope=scope_of_row(row), at=row.at, **told)
