"""Reads the rows of a mirrored store by their identity.

Invariant: each is given as the database has it, under the identity that the triggers write.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, and_, literal, select, true, type_coerce
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import NullType

from memory.records import Scope
from memory.schema import messages, sessions
from memory.stores.mirrored import Mirrored
from memory.stores.scoped import in_scope


async def rows_by_record(
    connection: AsyncConnection,
    scope: Scope,
    store: Mirrored,
    records: Collection[str] | None,
    *,
    kept_alone: bool = False,
) -> dict[str, dict[str, Any]]:
    """Rows of a scope by their identity.

    Args:
        connection: where to read.
        scope: whose; of a store whose rows are about nobody all are read.
        store: which rows.
        records: their identities; None for all.
        kept_alone: leave out what was said off the record.
    """
    mine = _of_scope(store, scope, kept_alone=kept_alone)
    if store.identity == ("id",) and records is not None:
        ids = [int(record.strip("[]")) for record in records]
        mine = and_(mine, store.table.c.id.in_(ids))
    found = {}
    for row in (await connection.execute(select(store.table, *_identity(store)).where(mine))).mappings():
        record = store.record_of({name: row[f"raw_{name}"] for name in store.identity})
        if records is None or record in records:
            found[record] = {name: row[name] for name in store.columns}
    return found


def records_of(connection: Connection, scope: Scope, store: Mirrored) -> set[str]:
    """The identities of a scope's rows, but for what was said off the record; see ``rows_by_record``."""
    found = connection.execute(select(literal(None), *_identity(store)).where(_of_scope(store, scope, kept_alone=True)))
    return {store.record_of(dict(zip(store.identity, values, strict=True))) for _, *values in found}


def _of_scope(store: Mirrored, scope: Scope, *, kept_alone: bool) -> ColumnElement[bool]:
    mine = in_scope(store.table, scope) if store.of_people else true()
    if kept_alone and store.table is messages:
        off_record = select(sessions.c.id).where(in_scope(sessions, scope), sessions.c.kept.is_(False))
        mine = and_(mine, store.table.c.session_id.not_in(off_record))
    return mine


def _identity(store: Mirrored) -> list[ColumnElement[Any]]:
    """What makes a row the same on every device, times as the table holds them."""
    return [type_coerce(store.table.c[name], NullType()).label(f"raw_{name}") for name in store.identity]
