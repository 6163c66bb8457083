"""Every change of a scope's tree of categories, so that it can be taken back.

Invariant: written in the transaction of the change; nothing is changed here later but that a change was taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select, update

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.records import Change, Origin, Scope, TreeChange
from memory.schema import tree_changes as table
from memory.stores.scoped import (
    as_stored,
    change_columns,
    change_of_row,
    delete_scope,
    in_scope,
    made_by,
    restore_rows,
    rows_of_scope,
)


class TreeChangeStore:
    """The table of changes.

    Args:
        database: where the rows are.
        ids: draws the ids of changes.
    """

    name = "tree_changes"

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def append(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        action: str,
        path: str,
        target: str = "",
        description: str = "",
        moved: Sequence[int] = (),
        change: Change,
        at: datetime,
    ) -> None:
        """Keep a change; see ``TreeChange``."""
        await tx.connection.execute(
            insert(table).values(
                person=scope.person,
                audience=scope.audience,
                id=self._ids.next(),
                action=action,
                path=path,
                target=target,
                description=description,
                moved=[str(entry_id) for entry_id in moved],
                changed_at=as_stored(at),
                **change_columns(change),
            )
        )

    async def of_work(self, scope: Scope, tx: Transaction, *, origin: Origin) -> list[TreeChange]:
        """What a session or a job changed and nobody took back yet, the last change first."""
        query = select(table).where(in_scope(table, scope), made_by(table, origin), table.c.undone_at.is_(None))
        rows = await tx.connection.execute(query.order_by(table.c.id.desc()))
        return [_change(row) for row in rows]

    async def taken_back(self, scope: Scope, tx: Transaction, *, change_id: int, at: datetime) -> None:
        """Note that a change was taken back."""
        mine = in_scope(table, scope) & (table.c.id == change_id)
        await tx.connection.execute(update(table).where(mine).values(undone_at=as_stored(at)))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every change of a scope."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back changes of an export; how many were not there."""
        return len(await restore_rows(tx, table, scope, rows, changing=("undone_at",)))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every change of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}


def _change(row: Row[Any]) -> TreeChange:
    return TreeChange(
        id=row.id,
        action=row.action,
        path=row.path,
        target=row.target,
        description=row.description,
        moved=tuple(int(entry_id) for entry_id in row.moved),
        changed_at=row.changed_at,
        change=change_of_row(row),
    )
