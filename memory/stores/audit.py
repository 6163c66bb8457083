"""The audit log: every look at and change of a person's memory by somebody else, and own changes of facts, to read.

Invariant: entries are only ever added, and hold no text of any memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import insert, select

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.ports import Clock
from memory.records import AuditEntry, Reach, Scope
from memory.schema import audit_log
from memory.stores.scoped import delete_scope, in_reach, restore_rows, rows_of_scope, scope_of_row


class AuditStore:
    """The table of looks and changes.

    Args:
        database: where the rows are.
        ids: draws the entries' ids.
        clock: dates them.
    """

    name = "audit"

    def __init__(self, database: Database, ids: IdSource, clock: Clock) -> None:
        self._database = database
        self._ids = ids
        self._clock = clock

    async def note(self, scope: Scope, tx: Transaction, *, actor: str, action: str, detail: str = "") -> None:
        """Note that somebody looked at or changed a memory.

        Args:
            scope: whose memory.
            tx: the open transaction, that of the change where there is one.
            actor: who did it, as a person, or ``operator`` for the command line.
            action: the command.
            detail: what it was about: a version or a session, never a text.
        """
        await tx.connection.execute(
            insert(audit_log).values(
                person=scope.person,
                audience=scope.audience,
                id=self._ids.next(),
                at=self._clock.now(),
                actor=actor,
                action=action,
                detail=detail,
            )
        )

    async def recent(self, reach: Reach, *, limit: int) -> list[AuditEntry]:
        """The newest entries within reach, newest first."""
        query = select(audit_log).where(in_reach(audit_log, reach)).order_by(audit_log.c.id.desc()).limit(limit)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).all()
        return [
            AuditEntry(
                id=row.id, scope=scope_of_row(row), at=row.at, actor=row.actor, action=row.action, detail=row.detail
            )
            for row in rows
        ]

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every entry of a scope."""
        return await rows_of_scope(self._database, audit_log, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back entries of an export; how many were not there. Raises InvalidInput where another one is."""
        return len(await restore_rows(tx, audit_log, scope, rows))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every entry of a scope."""
        return {audit_log.name: await delete_scope(tx, audit_log, scope)}
