"""Which posts of a platform are kept here, so that they can be compared with what it shows by now.

Invariant: ids and times alone, of whomever; a conversation's latest posts first, and no more than asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, or_, select

from memory.database import Database
from memory.schema import answer_posts, inbox, messages, sessions
from memory.stores.inbox import UNFINISHED

_in_session = and_(
    messages.c.person == sessions.c.person,
    messages.c.audience == sessions.c.audience,
    messages.c.session_id == sessions.c.id,
)
_shows_answer = and_(
    answer_posts.c.person == messages.c.person,
    answer_posts.c.audience == messages.c.audience,
    answer_posts.c.exchange_id == messages.c.id,
)


class KeptPostStore:
    """Reads what other stores write.

    Args:
        database: where the rows are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def conversations(self, platform: str, *, since: datetime, limit: int) -> list[str]:
        """The keys of the conversations of everybody on a platform that went on since a moment, the latest first."""
        latest = func.max(sessions.c.last_activity_at)
        query = (
            select(sessions.c.conversation)
            .where(_went_on(since), sessions.c.conversation.startswith(f"{platform}:", autoescape=True))
            .group_by(sessions.c.conversation)
            .order_by(latest.desc())
            .limit(limit)
        )
        async with self._database.read() as connection:
            return list((await connection.execute(query)).scalars())

    async def posts(self, conversation: str, *, since: datetime, limit: int) -> Mapping[str, datetime | None]:
        """The posts that are kept of a conversation, of everybody: what was said, what waits, and what answers it.

        Args:
            conversation: its key.
            since: the earliest moment at which one was said, or that was answered.
            limit: messages at most; the latest count.

        Returns:
            by the platform's id, when the post was last edited as far as it is known here.
        """
        said = (
            select(messages.c.platform_id, messages.c.edited_at, answer_posts.c.platform_id.label("answer"))
            .select_from(sessions)
            .join(messages, _in_session)
            .outerjoin(answer_posts, _shows_answer)
            .where(
                sessions.c.conversation == conversation,
                _went_on(since),
                messages.c.sent_at >= since,
                messages.c.platform_id.is_not(None),
            )
            .order_by(messages.c.id.desc())
            .limit(limit)
        )
        waiting = select(inbox.c.platform_id, inbox.c.edited_at).where(
            inbox.c.state.in_(UNFINISHED), inbox.c.conversation == conversation, inbox.c.message_id.is_(None)
        )
        async with self._database.read() as connection:
            posts = {row.platform_id: row.edited_at for row in await connection.execute(waiting)}
            for row in await connection.execute(said):
                posts[row.platform_id] = row.edited_at
                if row.answer is not None:
                    posts[row.answer] = None
        return posts


def _went_on(since: datetime) -> ColumnElement[bool]:
    """The sessions in which something happened since a moment."""
    return and_(or_(sessions.c.ended_at.is_(None), sessions.c.ended_at >= since), sessions.c.last_activity_at >= since)
