"""Sessions: one sitting of a conversation each, with the digest of what left the window during it.

Invariant: a conversation has at most one open session, and only one caller ever ends it, however many processes
try.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.records import Scope, Session
from memory.schema import sessions
from memory.stores.scoped import as_stored, delete_scope, in_scope, restore_rows, rows_of_scope, scope_values
from memory.stores.session_reader import (
    ITS_OPEN_ONE,
    OF_LONG_AGO,
    OPEN,
    THIS,
    SessionReader,
    first_session,
    session_of_row,
)

_CHANGING = ("last_activity_at", "ended_at", "window_summary", "kept", "summary_version")

_AT = bindparam("at", type_=sessions.c.last_activity_at.type)
_TOUCHED = update(sessions).values(last_activity_at=func.max(sessions.c.last_activity_at, _AT)).returning(sessions)
_TOUCH = _TOUCHED.where(THIS)
_SINCE = bindparam("idle_since", type_=_AT.type)
# Not compared as it stands: SQLite would walk an index over the latest activity of everybody.
_RESUME = _TOUCHED.where(ITS_OPEN_ONE, func.max(sessions.c.last_activity_at, _SINCE) > _SINCE)


class SessionStore(SessionReader):
    """The table of sessions.

    Args:
        database: where the rows are.
        ids: draws the sessions' ids.
    """

    name = "sessions"

    def __init__(self, database: Database, ids: IdSource) -> None:
        super().__init__(database)
        self._ids = ids

    async def start(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        conversation: str,
        community: str | None,
        at: datetime,
        window_summary: str = "",
        kept: bool = True,
    ) -> Session:
        """Open a session. Where another process was faster, the session it opened is returned unchanged.

        Args:
            scope: whose session.
            tx: the open transaction.
            conversation: the channel, thread or one-to-one chat.
            community: the server or team that a private channel belongs to, or None.
            at: when its first message came.
            window_summary: what to carry over from the session before it.
            kept: False to remember nothing of it.
        """
        of_conversation = {**scope_values(scope), "of_conversation": conversation}
        already = (await tx.connection.execute(OPEN, of_conversation)).first()
        if already is not None:
            return session_of_row(already)
        session = Session(
            id=self._ids.next(),
            scope=scope,
            conversation=conversation,
            community=community,
            started_at=as_stored(at),
            last_activity_at=as_stored(at),
            window_summary=window_summary,
            kept=kept,
        )
        await tx.connection.execute(insert(sessions).values(_row_of_session(session)))
        return session

    async def add_past(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        conversation: str,
        community: str | None,
        started_at: datetime,
        ended_at: datetime,
    ) -> Session:
        """Add a session of long ago, which no summary is ever to cover.

        Args:
            scope: whose session.
            tx: the open transaction.
            conversation, community: as of ``start``.
            started_at, ended_at: when its first and its last message came.
        """
        session = Session(
            id=self._ids.next(),
            scope=scope,
            conversation=conversation,
            community=community,
            started_at=as_stored(started_at),
            last_activity_at=as_stored(ended_at),
            ended_at=as_stored(ended_at),
            summary_version=OF_LONG_AGO,
        )
        await tx.connection.execute(insert(sessions).values(_row_of_session(session)))
        return session

    async def touch(self, scope: Scope, tx: Transaction, *, session_id: int, at: datetime) -> Session | None:
        """Note activity; the session as it is now, or None. An earlier moment than the one noted changes nothing."""
        touched = await tx.connection.execute(_TOUCH, {**scope_values(scope), "of_session": session_id, "at": at})
        return first_session(touched)

    async def resume(
        self, scope: Scope, tx: Transaction, *, conversation: str, at: datetime, idle_since: datetime
    ) -> Session | None:
        """Note activity in the conversation's open session; the session as it is now.

        Args:
            scope: whose conversation.
            tx: the open transaction.
            conversation: the channel, thread or one-to-one chat.
            at: when it became active.
            idle_since: a session without activity since then is left as it is.

        Returns:
            None where no session is open, or it is idle.
        """
        of_conversation = {**scope_values(scope), "of_conversation": conversation}
        resumed = await tx.connection.execute(_RESUME, {**of_conversation, "at": at, "idle_since": idle_since})
        return first_session(resumed)

    async def claim_end(self, scope: Scope, tx: Transaction, *, session_id: int, at: datetime) -> bool:
        """End a session; True for the one caller whose update ended it, False for every other."""
        ended = await tx.connection.execute(
            update(sessions)
            .where(in_scope(sessions, scope), sessions.c.id == session_id, sessions.c.ended_at.is_(None))
            .values(ended_at=at)
        )
        return ended.rowcount == 1

    async def set_window_summary(self, scope: Scope, tx: Transaction, *, session_id: int, text: str) -> None:
        """Replace the digest of what left the window."""
        await tx.connection.execute(
            update(sessions).where(in_scope(sessions, scope), sessions.c.id == session_id).values(window_summary=text)
        )

    async def summarised(self, scope: Scope, tx: Transaction, *, session_ids: Collection[int], version: int) -> None:
        """Note which version of the rolling summary covers these sessions; what the window had lost is in it now."""
        await tx.connection.execute(
            update(sessions)
            .where(in_scope(sessions, scope), sessions.c.id.in_(session_ids))
            .values(summary_version=version, window_summary="")
        )

    async def uncover(self, scope: Scope, tx: Transaction, *, since: int) -> int:
        """Note that no rolling summary covers the sessions of a version, nor of later ones; the newest session's id."""
        mine = in_scope(sessions, scope) & (sessions.c.summary_version >= since)
        newest: int = (await tx.connection.execute(select(func.max(sessions.c.id)).where(mine))).scalar_one()
        await tx.connection.execute(update(sessions).where(mine).values(summary_version=None))
        return newest

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every session of a scope."""
        return await rows_of_scope(self._database, sessions, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of an export; how many were not there. Raises InvalidInput where another one is.

        Where a conversation has an open session by now, the one it had then ends with its last activity.
        """
        query = select(sessions.c.conversation).where(in_scope(sessions, scope), sessions.c.ended_at.is_(None))
        occupied = set((await tx.connection.execute(query)).scalars())
        settled = []
        for row in rows:
            is_open = row["ended_at"] is None
            clashes = is_open and row["conversation"] in occupied
            settled.append({**row, "ended_at": row["last_activity_at"]} if clashes else row)
            if is_open:
                occupied.add(row["conversation"])
        return len(await restore_rows(tx, sessions, scope, settled, changing=_CHANGING))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every session of a scope; rows deleted per table."""
        return {sessions.name: await delete_scope(tx, sessions, scope)}


def _row_of_session(session: Session) -> dict[str, Any]:
    return {
        "person": session.scope.person,
        "audience": session.scope.audience,
        "id": session.id,
        "conversation": session.conversation,
        "community": session.community,
        "started_at": session.started_at,
        "last_activity_at": session.last_activity_at,
        "ended_at": session.ended_at,
        "window_summary": session.window_summary,
        "kept": session.kept,
        "summary_version": session.summary_version,
    }
