"""The read side of sessions: those of a conversation, those in line for a summary, and those of everybody that rest.

Invariant: a session that was imported stands in no line of sittings: it is neither the latest nor the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Result, Row, Select, and_, bindparam, or_, select

from memory.database import Database, Transaction
from memory.records import Reach, Scope, Session
from memory.schema import sessions
from memory.stores.scoped import in_any_scope, in_reach, in_scope, scope_of_row, scope_values

OF_LONG_AGO = 0
"""In place of the version that covers a session: it was imported, and stands in no line of sittings."""

_LIVED = sessions.c.summary_version.is_distinct_from(OF_LONG_AGO)

# Made once, since making a statement takes longer than running it.
THIS = and_(in_any_scope(sessions), sessions.c.id == bindparam("of_session"))
_ONE = select(sessions).where(THIS)
ITS_OPEN_ONE = and_(
    in_any_scope(sessions), sessions.c.conversation == bindparam("of_conversation"), sessions.c.ended_at.is_(None)
)
OPEN = select(sessions).where(ITS_OPEN_ONE)


class SessionReader:
    """Reads the table of sessions. ``SessionStore`` adds the writes.

    Args:
        database: where the rows are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, scope: Scope, conversation: str) -> Session | None:
        """The conversation's open session, or None."""
        return await self._first(OPEN, {**scope_values(scope), "of_conversation": conversation})

    async def get(self, scope: Scope, session_id: int) -> Session | None:
        """One session, or None."""
        return await self._first(_ONE, {**scope_values(scope), "of_session": session_id})

    async def latest(self, scope: Scope, conversation: str) -> Session | None:
        """The conversation's newest session that is to be kept, open or ended, or None."""
        mine = in_scope(sessions, scope) & (sessions.c.conversation == conversation) & sessions.c.kept & _LIVED
        return await self._first(select(sessions).where(mine).order_by(sessions.c.id.desc()).limit(1))

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
        ended = in_reach(sessions, reach) & sessions.c.ended_at.is_not(None) & sessions.c.kept & _LIVED
        return await self._first(select(sessions).where(ended).order_by(sessions.c.last_activity_at.desc()).limit(1))

    async def communities(self, scope: Scope) -> frozenset[str]:
        """The servers and teams that the scope's conversations were ever known to belong to."""
        query = select(sessions.c.community).where(in_scope(sessions, scope), sessions.c.community.is_not(None))
        async with self._database.read() as connection:
            return frozenset((await connection.execute(query.distinct())).scalars())

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

    async def following(self, tx: Transaction, session: Session) -> list[Session]:
        """A session and those after it in its conversation that no rolling summary covers, oldest first."""
        query = select(sessions).where(
            in_scope(sessions, session.scope),
            sessions.c.conversation == session.conversation,
            sessions.c.id >= session.id,
            sessions.c.summary_version.is_(None),
        )
        return [session_of_row(row) for row in await tx.connection.execute(query.order_by(sessions.c.id))]

    async def preceding(self, tx: Transaction, session: Session) -> Session | None:
        """The session before another in its conversation."""
        query = select(sessions).where(
            in_scope(sessions, session.scope),
            sessions.c.conversation == session.conversation,
            sessions.c.id < session.id,
            _LIVED,
        )
        row = (await tx.connection.execute(query.order_by(sessions.c.id.desc()).limit(1))).first()
        return None if row is None else session_of_row(row)

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

    async def _first(self, query: Select[Any], values: Mapping[str, Any] | None = None) -> Session | None:
        async with self._database.read() as connection:
            return first_session(await connection.execute(query, values))

    async def _found(self, query: Select[Any]) -> list[Session]:
        async with self._database.read() as connection:
            return [session_of_row(row) for row in await connection.execute(query)]


def first_session(found: Result[Any]) -> Session | None:
    """The first of the sessions that were found, or None."""
    row = found.first()
    return None if row is None else session_of_row(row)


def session_of_row(row: Row[Any]) -> Session:
    """A session as it stands in the table."""
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
