"""Reminders: what is to be said, where and when, and how far it has come.

A reminder is taken up by one atomic update, which gives it to one process for a while. Whoever takes one up that was
taken up before asks the platform first whether it is there. So it is said once, at whatever instant a process dies.

Invariant: a reminder leaves the waiting ones only by being delivered, cancelled or refused by its platform.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, insert, or_, select, update

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.records import Reach, Reminder, ReminderState, Scope
from memory.schema import reminders as table
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    in_reach,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_of_row,
)

_OWED = (ReminderState.WAITING, ReminderState.SENDING)
_CHANGING = ("state", "claimed_until", "first_tried_at", "ended_at")


class ReminderStore:
    """The table of reminders.

    Args:
        database: where the rows are.
        ids: draws the reminders' ids.
    """

    name = "reminders"

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def add(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        conversation: str,
        heard_by: str,
        community: str | None,
        reply_to: str,
        text: str,
        due_at: datetime,
        source_message: int | None,
        at: datetime,
    ) -> Reminder:
        """Keep a reminder; the one that is there where the same is asked for twice.

        Args:
            scope: whose.
            tx: the open transaction.
            conversation, heard_by, community, reply_to: where it is said, as in ``Reminder``.
            text: what to say.
            due_at: when.
            source_message: the message that asked for it.
            at: when it is set.
        """
        same = in_scope(table, scope) & (table.c.text == text) & (table.c.due_at == as_stored(due_at))
        known = select(table).where(same, table.c.conversation == conversation, table.c.state.in_(_OWED))
        if (row := (await tx.connection.execute(known)).first()) is not None:
            return _reminder(row)
        reminder = Reminder(
            id=self._ids.next(),
            scope=scope,
            conversation=conversation,
            heard_by=heard_by,
            community=community,
            reply_to=reply_to,
            text=text,
            due_at=as_stored(due_at),
            set_at=as_stored(at),
            state=ReminderState.WAITING,
            source_message=source_message,
        )
        await tx.connection.execute(
            insert(table).values(
                person=scope.person,
                audience=scope.audience,
                id=reminder.id,
                conversation=conversation,
                heard_by=heard_by,
                community=community,
                reply_to=reply_to,
                text=text,
                due_at=reminder.due_at,
                set_at=reminder.set_at,
                state=reminder.state.value,
                source_message=source_message,
            )
        )
        return reminder

    async def waiting(self, reach: Reach) -> list[Reminder]:
        """The reminders that are still to be said, the next one first."""
        query = select(table).where(in_reach(table, reach), table.c.state == ReminderState.WAITING)
        return await self._found(query.order_by(table.c.due_at, table.c.id))

    async def cancel(self, scope: Scope, tx: Transaction, *, reminder_id: int, at: datetime) -> bool:
        """Take a reminder back; False where it is no longer waiting."""
        changed = await tx.connection.execute(
            update(table)
            .where(_is(scope, reminder_id), table.c.state == ReminderState.WAITING)
            .values(state=ReminderState.CANCELLED, ended_at=as_stored(at))
        )
        return changed.rowcount == 1

    async def due(self, now: datetime, *, limit: int) -> list[Reminder]:
        """Reminders of everybody that are due and that no process has, the oldest first."""
        query = select(table).where(_free(now)).order_by(table.c.due_at, table.c.id).limit(limit)
        return await self._found(query)

    async def claim(
        self, scope: Scope, tx: Transaction, *, reminder_id: int, now: datetime, lease: timedelta
    ) -> Reminder | None:
        """Take a due reminder up; None where another process was faster or it was cancelled or erased.

        Args:
            scope: whose.
            tx: the open transaction.
            reminder_id: which.
            now: the present moment.
            lease: longer than any attempt takes; then another process may take it up.

        Returns:
            The reminder as it is now. ``first_tried_at`` before ``now``: an earlier attempt may have delivered it.
        """
        claimed = await tx.connection.execute(
            update(table)
            .where(_is(scope, reminder_id), _free(now))
            .values(state=ReminderState.SENDING, claimed_until=as_stored(now + lease))
        )
        if claimed.rowcount == 0:
            return None
        first = _is(scope, reminder_id) & table.c.first_tried_at.is_(None)
        await tx.connection.execute(update(table).where(first).values(first_tried_at=as_stored(now)))
        row = (await tx.connection.execute(select(table).where(_is(scope, reminder_id)))).one()
        return _reminder(row)

    async def postpone(self, scope: Scope, tx: Transaction, *, reminder_id: int, until: datetime) -> None:
        """Give a claimed reminder back after an attempt that failed; it is not taken up before ``until``."""
        await tx.connection.execute(
            update(table).where(_is(scope, reminder_id), _owed()).values(claimed_until=as_stored(until))
        )

    async def end(self, scope: Scope, tx: Transaction, *, reminder_id: int, state: ReminderState, at: datetime) -> None:
        """Note that a reminder was delivered, or that its platform will never take it."""
        await tx.connection.execute(
            update(table)
            .where(_is(scope, reminder_id), _owed())
            .values(state=state, claimed_until=None, ended_at=as_stored(at))
        )

    async def prune(self, before: datetime) -> int:
        """Delete the reminders of everybody that ended before a moment; how many."""
        async with self._database.transaction() as tx:
            return (await tx.connection.execute(delete(table).where(table.c.ended_at < before))).rowcount

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete, for good, the reminders that a message asked for."""
        mine = in_scope(table, scope) & (table.c.source_message == source_message)
        await tx.connection.execute(delete(table).where(mine))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every reminder of a scope."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back reminders of an export; how many were not there. What became of one here stands."""
        return len(await restore_rows(tx, table, scope, rows, changing=_CHANGING))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every reminder of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}

    async def _found(self, query: Any) -> list[Reminder]:
        async with self._database.read() as connection:
            return [_reminder(row) for row in await connection.execute(query)]


def _is(scope: Scope, reminder_id: int) -> ColumnElement[bool]:
    return and_(in_scope(table, scope), table.c.id == reminder_id)


def _owed() -> ColumnElement[bool]:
    return table.c.state.in_(_OWED)


def _free(now: datetime) -> ColumnElement[bool]:
    unclaimed = or_(table.c.claimed_until.is_(None), table.c.claimed_until <= now)
    return and_(_owed(), table.c.due_at <= now, unclaimed)


def _reminder(row: Row[Any]) -> Reminder:
    return Reminder(
        id=row.id,
        scope=scope_of_row(row),
        conversation=row.conversation,
        heard_by=row.heard_by,
        community=row.community,
        reply_to=row.reply_to,
        text=row.text,
        due_at=row.due_at,
        set_at=row.set_at,
        state=ReminderState(row.state),
        source_message=row.source_message,
        claimed_until=row.claimed_until,
        first_tried_at=row.first_tried_at,
        ended_at=row.ended_at,
    )
