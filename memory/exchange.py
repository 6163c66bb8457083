"""Where a conversation happens, and an exchange that is in progress there.

Invariant: the session of an exchange is asked for anew before anything is written for it, since the person may have
been erased meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from memory.database import Transaction
from memory.errors import PersonErased
from memory.records import Change, Reach, Scope, Session, StoredMessage
from memory.stores.sessions import SessionStore

ERASED = "Everything I kept about you was erased while I was answering. Write to me again and we start anew."

Beside = Callable[[Transaction], Awaitable[object]]
"""Writes something else in the same transaction."""


async def nothing_beside(_tx: Transaction) -> None:
    """Write nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a conversation happens, in memory's terms.

    Attributes:
        scope: where it writes.
        reach: what it may read.
        conversation: the key of the channel, thread or direct chat.
        community: the server or team a private channel belongs to, or None.
        audience: who hears it, also where memory is shared over all audiences.
    """

    scope: Scope
    reach: Reach
    conversation: str
    community: str | None
    audience: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One exchange in progress.

    Attributes:
        user: the person's stored message.
        session: the session it belongs to.
    """

    user: StoredMessage
    session: Session

    def by_agent(self, reason: str) -> Change:
        """What the agent changes in this exchange, with the person's message as its evidence.

        Args:
            reason: the name of its tool, or one short sentence.
        """
        return Change(actor="agent", reason=reason, source_message=self.user.id, session_id=self.session.id)


async def present_session(sessions: SessionStore, exchange: Exchange) -> Session:
    """The exchange's session as it is now. Asked within a write transaction, which an erasure waits for.

    Raises:
        PersonErased: the person was erased meanwhile.
    """
    session = await sessions.get(exchange.session.scope, exchange.session.id)
    if session is None:
        raise PersonErased(ERASED)
    return session


async def touched_session(sessions: SessionStore, exchange: Exchange, tx: Transaction, *, at: datetime) -> Session:
    """The same, with activity noted in it. Raises PersonErased."""
    session = await sessions.touch(exchange.session.scope, tx, session_id=exchange.session.id, at=at)
    if session is None:
        raise PersonErased(ERASED)
    return session
