"""What every store says the same way: which rows are a scope's, which are within reach, and all rows of a scope.

Invariant: a statement on a table of people's data carries one of these conditions. The few sweeps over everybody
say so in their docstring.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Row, Table, and_, delete, false, or_, select

from memory.database import Database, Transaction
from memory.records import Reach, Scope

_SCOPE_COLUMNS = ("person", "audience")


def in_scope(table: Table, scope: Scope) -> ColumnElement[bool]:
    """The rows of exactly this scope."""
    return and_(table.c.person == scope.person, table.c.audience == scope.audience)


def in_reach(table: FromClause, reach: Reach) -> ColumnElement[bool]:
    """The rows that a conversation of this reach may read."""
    if reach.audiences is None:
        return table.c.person == reach.person
    return and_(table.c.person == reach.person, table.c.audience.in_(sorted(reach.audiences)))


def with_keys(table: Table, keys: Collection[tuple[Scope, int]]) -> ColumnElement[bool]:
    """The rows of these ids by their whole primary key: an id without its scope would walk all of a person's rows."""
    ids_of: defaultdict[Scope, list[int]] = defaultdict(list)
    for scope, record_id in keys:
        ids_of[scope].append(record_id)
    return or_(false(), *(and_(in_scope(table, scope), table.c.id.in_(ids)) for scope, ids in ids_of.items()))


def scope_of_row(row: Row[Any]) -> Scope:
    """The scope that a row belongs to."""
    return Scope(person=row.person, audience=row.audience)


def as_stored(moment: datetime) -> datetime:
    """The moment as the database gives it back: in whole milliseconds."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


async def rows_of_scope(database: Database, table: Table, scope: Scope) -> list[dict[str, Any]]:
    """Every row of a scope without the scope's own columns, in the order of the primary key, for an export."""
    columns = [column for column in table.c if column.name not in _SCOPE_COLUMNS]
    query = select(*columns).where(in_scope(table, scope)).order_by(*table.primary_key.columns)
    async with database.read() as connection:
        return [dict(row) for row in (await connection.execute(query)).mappings()]


async def delete_scope(tx: Transaction, table: Table, scope: Scope) -> int:
    """Delete every row of a scope; how many there were."""
    return (await tx.connection.execute(delete(table).where(in_scope(table, scope)))).rowcount
