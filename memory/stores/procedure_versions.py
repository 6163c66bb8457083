"""The versions of procedures: every change with what it made of the procedure, by whom and why.

Invariant: a version is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy import insert, select

from memory.database import Database, Transaction
from memory.records import Change, Procedure, ProcedureVersion, Reach, Scope
from memory.schema import procedure_versions as table
from memory.stores.procedure_rows import content_of, version_of_row
from memory.stores.scoped import (
    change_columns,
    delete_scope,
    in_reach,
    in_scope,
    restore_rows,
    rows_of_scope,
)

_log = structlog.get_logger(__name__)


class ProcedureVersionStore:
    """The table of versions.

    Args:
        database: where the rows are.
    """

    name = "procedure_versions"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, tx: Transaction, procedure: Procedure, *, action: str, change: Change) -> None:
        """Keep a procedure as a change has made it.

        Args:
            tx: the open transaction.
            procedure: as it is now.
            action: what was done, as in ``ProcedureVersion``.
            change: who did it, and why.
        """
        await tx.connection.execute(
            insert(table).values(
                person=procedure.scope.person,
                audience=procedure.scope.audience,
                procedure_id=procedure.id,
                version=procedure.version,
                action=action,
                name=procedure.how_to.name,
                content=content_of(procedure.how_to),
                state=procedure.state.value,
                changed_at=procedure.updated_at,
                **change_columns(change),
            )
        )
        tx.after_commit(
            lambda: _log.info(
                "memory_write",
                memory="procedure",
                action=action,
                procedure=procedure.id,
                version=procedure.version,
                state=procedure.state,
                session_id=change.session_id,
            )
        )

    async def of(self, reach: Reach, procedure_id: int) -> list[ProcedureVersion]:
        """The versions of a procedure, newest first."""
        query = select(table).where(in_reach(table, reach), table.c.procedure_id == procedure_id)
        async with self._database.read() as connection:
            return [version_of_row(row) for row in await connection.execute(query.order_by(table.c.version.desc()))]

    async def one(self, scope: Scope, tx: Transaction, *, procedure_id: int, version: int) -> ProcedureVersion | None:
        """One version, or None."""
        query = select(table).where(
            in_scope(table, scope), table.c.procedure_id == procedure_id, table.c.version == version
        )
        row = (await tx.connection.execute(query)).first()
        return None if row is None else version_of_row(row)

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every version of a scope's procedures."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of an export; how many were not there.

        Raises:
            InvalidInput: another version has the number of one of them.
        """
        return len(await restore_rows(tx, table, scope, rows))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every version of a scope's procedures."""
        return {table.name: await delete_scope(tx, table, scope)}
