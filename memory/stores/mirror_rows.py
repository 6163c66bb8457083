"""Reads the rows of a mirrored store by their identity.

Invariant: each is given as the database has it, under the identity that the triggers write.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import BigInteger, and_, select, true, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.records import Scope
from memory.schema import UtcDateTime, messages, sessions
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
    mine = in_scope(store.table, scope) if store.of_people else true()
    if store.identity == ("id",) and records is not None:
        ids = [int(record.strip("[]")) for record in records]
        mine = and_(mine, store.table.c.id.in_(ids))
    if kept_alone and store.table is messages:
        off_record = select(sessions.c.id).where(in_scope(sessions, scope), sessions.c.kept.is_(False))
        mine = and_(mine, store.table.c.session_id.not_in(off_record))
    raw = [
        type_coerce(store.table.c[name], BigInteger).label(f"raw_{name}")
        for name in store.identity
        if isinstance(store.table.c[name].type, UtcDateTime)
    ]
    found = {}
    for row in (await connection.execute(select(store.table, *raw).where(mine))).mappings():
        values = dict(row)
        identity = {name: values.get(f"raw_{name}", values[name]) for name in store.identity}
        record = store.record_of(identity)
        if records is None or record in records:
            found[record] = {name: values[name] for name in store.columns}
    return found
