"""Working memory, one for each conversation, for as long as its session lasts.

Invariant: what belongs to another session is never read, and goes with the first write of the new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, insert, select

from memory.database import Database, Transaction
from memory.policy.working_memory import WorkingMemory, as_value, from_value
from memory.records import Scope, Session
from memory.schema import working_memory as table
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    in_any_scope,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_values,
)

# Made once, since making a statement takes longer than running it.
_STATE = select(table.c.state).where(
    in_any_scope(table),
    table.c.conversation == bindparam("of_conversation"),
    table.c.session_id == bindparam("of_session"),
)


class WorkingStore:
    """The table of working memories.

    Args:
        database: where the rows are.
    """

    name = "working"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, session: Session) -> WorkingMemory:
        """The working memory of a session; empty where there is none."""
        values = {
            **scope_values(session.scope),
            "of_conversation": session.conversation,
            "of_session": session.id,
        }
        async with self._database.read() as connection:
            state = (await connection.execute(_STATE, values)).scalar_one_or_none()
        return WorkingMemory() if state is None else from_value(state)

    async def save(
        self, scope: Scope, tx: Transaction, *, session: Session, memory: WorkingMemory, at: datetime
    ) -> None:
        """Keep a session's working memory, in place of what its conversation had."""
        await tx.connection.execute(delete(table).where(_of(session)))
        await tx.connection.execute(
            insert(table).values(
                person=scope.person,
                audience=scope.audience,
                conversation=session.conversation,
                session_id=session.id,
                state=as_value(memory),
                updated_at=as_stored(at),
            )
        )

    async def clear(self, session: Session, tx: Transaction) -> None:
        """Let go of what a session that ends was about."""
        await tx.connection.execute(delete(table).where(_of(session), table.c.session_id == session.id))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every working memory of a scope."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back the rows of an export; how many were not there. What a conversation has here stands."""
        return len(await restore_rows(tx, table, scope, rows, changing=("session_id", "state", "updated_at")))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every working memory of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}


def _of(session: Session) -> Any:
    return in_scope(table, session.scope) & (table.c.conversation == session.conversation)
