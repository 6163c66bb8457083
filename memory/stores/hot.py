"""The hot state of a scope, in versions; the newest one is the state.

Invariant: every version is within the limits and says who made it and why. What a fact or entry taught is shown only
as long as that fact is true and that entry is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.policy.hot_state import HotLimits, as_value, from_value, items_of, pruned, size_of, without
from memory.policy.hot_updates import updated
from memory.records import Change, FactState, HotItem, HotState, HotVersion, Scope
from memory.schema import entries, facts, hot_versions
from memory.stores.scoped import (
    as_stored,
    change_columns,
    change_of_row,
    delete_scope,
    in_any_scope,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_values,
)

_log = structlog.get_logger(__name__)

_FACT = "fact:"
_ENTRY = "entry:"
_VERSIONS_KEPT = 50  # of a scope

# Made once, since making a statement takes longer than running it.
_NEWEST = select(hot_versions).where(in_any_scope(hot_versions)).order_by(hot_versions.c.version.desc()).limit(1)


class HotStore:
    """The table of hot states.

    Args:
        database: where the rows are.
        limits: how much a state holds.
    """

    name = "hot"

    def __init__(self, database: Database, *, limits: HotLimits) -> None:
        self._database = database
        self.limits = limits

    async def load(self, scope: Scope) -> HotState:
        """The newest state; an empty one of version 0 where there is none."""
        async with self._database.read() as connection:
            return await _newest(connection, scope)

    async def shown(self, scope: Scope) -> HotState:
        """The same without what has been forgotten or let go of since."""
        async with self._database.read() as connection:
            return await still_true(connection, scope, await _newest(connection, scope))

    async def standing(self, scope: Scope, tx: Transaction) -> HotState:
        """The same within a transaction."""
        return await still_true(tx.connection, scope, await _newest(tx.connection, scope))

    async def newest_row(self, scope: Scope) -> dict[str, Any] | None:
        """The newest version as ``export`` has it; None where there is none."""
        columns = [column for column in hot_versions.columns if column.name not in ("person", "audience")]
        query = select(*columns).where(in_scope(hot_versions, scope)).order_by(hot_versions.c.version.desc()).limit(1)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().first()
        return None if row is None else dict(row)

    async def changed_at(self, scope: Scope, tx: Transaction) -> datetime | None:
        """When the newest state was made, within a transaction; None where there is none."""
        query = select(func.max(hot_versions.c.changed_at)).where(in_scope(hot_versions, scope))
        newest: datetime | None = (await tx.connection.execute(query)).scalar()
        return newest

    async def write(self, scope: Scope, tx: Transaction, *, state: HotState, change: Change, at: datetime) -> HotState:
        """Keep a state, pruned, as a new version; the state it is already makes none.

        Raises:
            MemoryRefusal: it is too large even when pruned.
        """
        before = await _newest(tx.connection, scope)
        after = pruned(state, self.limits)
        if after == before:
            return before
        written = replace(after, version=before.version + 1, last_updated=as_stored(at))
        await tx.connection.execute(
            insert(hot_versions).values(
                person=scope.person,
                audience=scope.audience,
                version=written.version,
                state=as_value(written),
                changed_at=at,
                **change_columns(change),
            )
        )
        too_old = hot_versions.c.version <= written.version - _VERSIONS_KEPT
        await tx.connection.execute(delete(hot_versions).where(in_scope(hot_versions, scope), too_old))
        tx.after_commit(
            lambda: _log.info(
                "memory_write",
                memory="hot",
                version=written.version,
                bytes_before=size_of(before),
                bytes_after=size_of(written),
            )
        )
        return written

    async def update(
        self, scope: Scope, tx: Transaction, *, key: str, value: Mapping[str, Any], change: Change, at: datetime
    ) -> HotState:
        """Write something by hand; see ``policy.hot_updates``.

        Raises:
            InvalidInput: the key or the value is wrong.
            MemoryRefusal: it does not fit.
        """
        state = updated(await self.standing(scope, tx), key, value, at=at)
        return await self.write(scope, tx, state=state, change=change, at=at)

    async def rollback(self, scope: Scope, tx: Transaction, *, version: int, change: Change, at: datetime) -> HotState:
        """Make an earlier version the state again, as a new version; 0 is the empty state.

        Raises:
            InvalidInput: it is not kept.
        """
        mine = in_scope(hot_versions, scope) & (hot_versions.c.version == version)
        row = (await tx.connection.execute(select(hot_versions).where(mine))).first()
        if row is None and version != 0:
            raise InvalidInput(f"Version {version} of the hot state is not kept.")
        state = HotState() if row is None else from_value(row.state)
        return await self.write(scope, tx, state=state, change=change, at=at)

    async def versions(self, scope: Scope) -> list[HotVersion]:
        """Every version that is kept, the newest first."""
        query = select(hot_versions).where(in_scope(hot_versions, scope)).order_by(hot_versions.c.version.desc())
        async with self._database.read() as connection:
            return [_version(row) for row in await connection.execute(query)]

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Take what a message taught out of every version."""
        rows = (await tx.connection.execute(select(hot_versions).where(in_scope(hot_versions, scope)))).all()
        for row in rows:
            state = from_value(row.state)
            left = without(state, lambda item: item.message == source_message)
            if left != state:
                mine = in_scope(hot_versions, scope) & (hot_versions.c.version == row.version)
                await tx.connection.execute(update(hot_versions).where(mine).values(state=as_value(left)))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every version of a scope."""
        return await rows_of_scope(self._database, hot_versions, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back versions of an export; how many were not there. Raises InvalidInput where others are."""
        return len(await restore_rows(tx, hot_versions, scope, rows))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every version of a scope."""
        return {hot_versions.name: await delete_scope(tx, hot_versions, scope)}


async def _newest(connection: AsyncConnection, scope: Scope) -> HotState:
    row = (await connection.execute(_NEWEST, scope_values(scope))).first()
    return HotState() if row is None else _version(row).state


async def still_true(connection: AsyncConnection, scope: Scope, state: HotState) -> HotState:
    """A state without what a fact taught that is not true any more, or an entry that was let go of."""
    facts_named = {int(item.source.removeprefix(_FACT)) for item in items_of(state) if item.source.startswith(_FACT)}
    entries_named = {
        int(item.source.removeprefix(_ENTRY)) for item in items_of(state) if item.source.startswith(_ENTRY)
    }
    standing: set[str] = set()
    if facts_named:
        true = (facts.c.id.in_(facts_named), facts.c.state == FactState.CURRENT.value)
        rows = await connection.execute(select(facts.c.id).where(in_scope(facts, scope), *true))
        standing |= {f"{_FACT}{fact_id}" for fact_id in rows.scalars()}
    if entries_named:
        kept = (entries.c.id.in_(entries_named), entries.c.removed_at.is_(None))
        rows = await connection.execute(select(entries.c.id).where(in_scope(entries, scope), *kept))
        standing |= {f"{_ENTRY}{entry_id}" for entry_id in rows.scalars()}

    def gone(item: HotItem) -> bool:
        return bool(item.source) and item.source not in standing

    return without(state, gone)


def stored_state(value: Mapping[str, Any], *, version: int, changed_at: datetime) -> HotState:
    """The state of a version, from the value that is kept of it."""
    return replace(from_value(value), version=version, last_updated=changed_at)


def _version(row: Row[Any]) -> HotVersion:
    return HotVersion(
        version=row.version,
        state=stored_state(row.state, version=row.version, changed_at=row.changed_at),
        changed_at=row.changed_at,
        change=change_of_row(row),
    )
