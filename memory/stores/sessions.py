"""Sessions: one sitting of a conversation each, with the digest of what left the window during it.

Invariant: a conversation has at most one open session, and only one caller ever ends it, however many processes
try.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Result, Row, Select, and_, bindparam, func, insert, or_, select, update

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.records import Reach, Scope, Session
from memory.schema import sessions
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    in_any_scope,
    in_reach,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_of_row,
    scope_values,
)

_OF_LONG_AGO = 0
"""In place of the version that covers a session: it was imported, and stands in no line of sittings."""

_CHANGING = ("last_activity_at", "ended_at", "window_summary", "kept", "summary_version")

# Made once, since making a statement takes longer than running it.
_THIS = and_(in_any_scope(sessions), sessions.c.id == bindparam("of_session"))
_ONE = select(sessions).where(_THIS)
_IS_OPEN = and_(
    in_any_scope(sessions), sessions.c.conversation == bindparam("of_conversation"), sessions.c.ended_at.is_(None)
)
_OPEN = select(sessions).where(_IS_OPEN)
_AT = bindparam("at", type_=sessions.c.last_activity_at.type)
_TOUCHED = update(sessions).values(last_activity_at=func.max(sessions.c.last_activity_at, _AT)).returning(sessions)
_TOUCH = _TOUCHED.where(_THIS)
_SINCE = bindparam("idle_since", type_=_AT.type)
# Not compared as it stands: SQLite would walk an index over the latest activity of everybody.
_RESUME = _TOUCHED.where(_IS_OPEN, func.max(sessions.c.last_activity_at, _SINCE) > _SINCE)


_lived = sessions.c.summary_version.is_distinct_from(_OF_LONG_AGO)


class SessionStore:
    """The table of sessions.

    Args:
        database: where the rows are.
        ids: draws the sessions' ids.
    """

    name = "sessions"

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def open(self, scope: Scope, conversation: str) -> Session | None:
        """The conversation's open session, or None."""
        return await self._first(_OPEN, {**scope_values(scope), "of_conversation": conversation})

    async def get(self, scope: Scope, session_id: int) -> Session | None:
        """One session, or None."""
        return await self._first(_ONE, {**scope_values(scope), "of_session": session_id})

    async def latest(self, scope: Scope, conversation: str) -> Session | None:
        """The conversation's newest session that is to be kept, open or ended, or None."""
        mine = in_scope(sessions, scope) & (sessions.c.conversation == conversation) & sessions.c.kept & _lived
        return await self._first(select(sessions).where(mine).order_by(sessions.c.id.desc()).limit(1))

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
        already = (await tx.connection.execute(_OPEN, of_conversation)).first()
        if already is not None:
            return _session(already)
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
        await tx.connection.execute(
            insert(sessions).values(
                person=scope.person,
                audience=scope.audience,
                id=session.id,
                conversation=conversation,
                community=community,
                started_at=at,
                last_activity_at=at,
                window_summary=window_summary,
                kept=kept,
            )
        )
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
            summary_version=_OF_LONG_AGO,
        )
        await tx.connection.execute(
            insert(sessions).values(
                person=scope.person,
                audience=scope.audience,
                id=session.id,
                conversation=conversation,
                community=community,
                started_at=started_at,
                last_activity_at=ended_at,
                ended_at=ended_at,
                window_summary="",
                kept=True,
                summary_version=_OF_LONG_AGO,
            )
        )
        return session

    async def was_off_record(self, scope: Scope, conversation: str, *, at: datetime) -> bool:
        """Whether nothing of a conversation was to be remembered at a moment."""
        query = select(sessions.c.id).where(
            in_scope(sessions, scope),
            sessions.c.conversation == conversation,
            sessions.c.kept.is_(False),
            sessions.c.started_at <= at,
            or_(sessions.c.ended_at.is_(None), sessions.c.ended_at >= at),
        )
        async with self._database.read() as connection:
            return (await connection.execute(query.limit(1))).first() is not None

    async def touch(self, scope: Scope, tx: Transaction, *, session_id: int, at: datetime) -> Session | None:
        """Note activity; the session as it is now, or None. An earlier moment than the one noted changes nothing."""
        touched = await tx.connection.execute(_TOUCH, {**scope_values(scope), "of_session": session_id, "at": at})
        return _first_of(touched)

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
        return _first_of(resumed)

    async def claim_end(self, scope: Scope, tx: Transaction, *, session_id: int, at: datetime) -> bool:
        """End a session; True for the one caller whose update ended it, False for every other."""
        ended = await tx.connection.execute(
            update(sessions)
            .where(in_scope(sessions, scope), sessions.c.id == session_id, sessions.c.ended_at.is_(None))
            .values(ended_at=at)
        )
        return ended.rowcount == 1

    async def idle(self, before: datetime, limit: int) -> list[Session]:
        """Open sessions of everybody without activity after ``before``, the longest idle first, for the sweep."""
        query = (
            select(sessions)
            .where(sessions.c.ended_at.is_(None), sessions.c.last_activity_at <= before)
            .order_by(sessions.c.last_activity_at, sessions.c.id)
            .limit(limit)
        )
        return await self._found(query)

    async def all_open(self, reach: Reach) -> list[Session]:
        """The open sessions within reach, in whatever conversations, oldest first."""
        query = select(sessions).where(in_reach(sessions, reach), sessions.c.ended_at.is_(None))
        return await self._found(query.order_by(sessions.c.id))

    async def last_ended(self, reach: Reach) -> Session | None:
        """Of the ended sessions within reach that are kept, the one that was active last; or None."""
        ended = in_reach(sessions, reach) & sessions.c.ended_at.is_not(None) & sessions.c.kept & _lived
        return await self._first(select(sessions).where(ended).order_by(sessions.c.last_activity_at.desc()).limit(1))

    async def communities(self, scope: Scope) -> frozenset[str]:
        """The servers and teams that the scope's conversations were ever known to belong to."""
        query = select(sessions.c.community).where(in_scope(sessions, scope), sessions.c.community.is_not(None))
        async with self._database.read() as connection:
            return frozenset((await connection.execute(query.distinct())).scalars())

    async def set_window_summary(self, scope: Scope, tx: Transaction, *, session_id: int, text: str) -> None:
        """Replace the digest of what left the window."""
        await tx.connection.execute(
            update(sessions).where(in_scope(sessions, scope), sessions.c.id == session_id).values(window_summary=text)
        )

    async def unsummarised(self, scope: Scope) -> list[Session]:
        """The ended sessions that no rolling summary covers yet, oldest first; none of those not to be kept."""
        return await self._found(
            select(sessions)
            .where(
                in_scope(sessions, scope),
                sessions.c.ended_at.is_not(None),
                sessions.c.summary_version.is_(None),
                sessions.c.kept,
            )
            .order_by(sessions.c.id)
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

    async def following(self, tx: Transaction, session: Session) -> list[Session]:
        """A session and those after it in its conversation that no rolling summary covers, oldest first."""
        query = select(sessions).where(
            in_scope(sessions, session.scope),
            sessions.c.conversation == session.conversation,
            sessions.c.id >= session.id,
            sessions.c.summary_version.is_(None),
        )
        return [_session(row) for row in await tx.connection.execute(query.order_by(sessions.c.id))]

    async def preceding(self, tx: Transaction, session: Session) -> Session | None:
        """The session before another in its conversation."""
        query = select(sessions).where(
            in_scope(sessions, session.scope),
            sessions.c.conversation == session.conversation,
            sessions.c.id < session.id,
            _lived,
        )
        row = (await tx.connection.execute(query.order_by(sessions.c.id.desc()).limit(1))).first()
        return None if row is None else _session(row)

    async def recent(self, scope: Scope, limit: int) -> list[Session]:
        """The newest sessions of a scope, open or ended, newest first."""
        query = select(sessions).where(in_scope(sessions, scope)).order_by(sessions.c.id.desc()).limit(limit)
        return await self._found(query)

    async def community_of(self, scope: Scope) -> str | None:
        """The server or team that a private channel was last known to belong to, or None."""
        query = (
            select(sessions.c.community)
            .where(in_scope(sessions, scope), sessions.c.community.is_not(None))
            .order_by(sessions.c.id.desc())
            .limit(1)
        )
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one_or_none()

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

    async def _first(self, query: Select[Any], values: Mapping[str, Any] | None = None) -> Session | None:
        async with self._database.read() as connection:
            return _first_of(await connection.execute(query, values))

    async def _found(self, query: Select[Any]) -> list[Session]:
        async with self._database.read() as connection:
            return [_session(row) for row in await connection.execute(query)]


def _first_of(found: Result[Any]) -> Session | None:
    row = found.first()
    return None if row is None else _session(row)


def _session(row: Row[Any]) -> Session:
    return Session(
        id=row.id,
        scope=scope_of_row(row),
        conversation=row.conversation,
        community=row.community,
        started_at=row.started_at,
        last_activity_at=row.last_activity_at,
        ended_at=row.ended_at,
        window_summary=row.window_summary,
        kept=row.kept,
        summary_version=row.summary_version,
    )
