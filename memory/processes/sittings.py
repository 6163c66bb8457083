"""What a person or an admin does to running conversations: pause and resume, off the record, anew, end.

Invariant: a conversation goes off the record and comes back only by the person's own word. While memory is paused
every session that begins is off the record; those end when it is resumed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from memory.channel_talk import ChannelTalk
from memory.database import Database, Transaction
from memory.policy.audience import reach_of_person
from memory.ports import Clock
from memory.processes.job_runner import JobRunner
from memory.processes.window import Window
from memory.records import Scope, Session
from memory.stores.consent import ConsentStore
from memory.stores.sessions import SessionStore

Noted = Callable[[Transaction], Awaitable[None]]


class Sittings:
    """Begins and ends sessions by somebody's word.

    Args:
        database: for transactions over all stores.
        sessions: the sessions.
        consent: whether memory is paused.
        window: ends sessions.
        jobs: sum up what has ended.
        clock: dates it.
        talk: what was said lately in channels.
    """

    def __init__(
        self,
        *,
        database: Database,
        sessions: SessionStore,
        consent: ConsentStore,
        window: Window,
        jobs: JobRunner,
        clock: Clock,
        talk: ChannelTalk,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._consent = consent
        self._window = window
        self._jobs = jobs
        self._clock = clock
        self._talk = talk

    async def pause(self, scope: Scope) -> bool:
        """Remember nothing new of a person anywhere; False if it was so already."""
        if (await self._consent.load(scope)).paused_at is not None:
            return False
        now = self._clock.now()
        async with self._database.transaction() as tx:
            await self._consent.pause(scope, tx, at=now)
            for session in await self._sessions.all_open(reach_of_person(scope.person)):
                if session.kept:
                    await self._window.end_within(session, tx, at=now)
        self._talk.forget(scope.person)
        self._jobs.kick()
        return True

    async def resume(self, scope: Scope) -> bool:
        """Remember again; False if memory was not paused."""
        paused_at = (await self._consent.load(scope)).paused_at
        if paused_at is None:
            return False
        async with self._database.transaction() as tx:
            await self._consent.pause(scope, tx, at=None)
            for session in await self._sessions.all_open(reach_of_person(scope.person)):
                if not session.kept and session.started_at >= paused_at:
                    await self._window.end_within(session, tx, at=self._clock.now())
        return True

    async def is_off_record(self, scope: Scope, conversation: str) -> bool:
        """Whether a conversation is off the record by the person's own word, and not because memory is paused."""
        session = await self._sessions.open(scope, conversation)
        paused_at = (await self._consent.load(scope)).paused_at
        return session is not None and not session.kept and (paused_at is None or session.started_at < paused_at)

    async def keeps(self, scope: Scope, conversation: str) -> bool:
        """Whether what a person says in a conversation may be kept, were it only for a while."""
        return await may_keep(scope, conversation, sessions=self._sessions, consent=self._consent)

    async def off_record(self, scope: Scope, *, conversation: str, community: str | None) -> bool:
        """Take a conversation off the record, or back on it.

        Returns:
            Whether it is off the record now.
        """
        now = self._clock.now()
        session = await self._sessions.open(scope, conversation)
        async with self._database.transaction() as tx:
            if session is not None:
                await self._window.end_within(session, tx, at=now)
            if session is not None and not session.kept:
                return False
            await self._sessions.start(scope, tx, conversation=conversation, community=community, at=now, kept=False)
        self._talk.forget(scope.person)
        self._jobs.kick()
        return True

    async def fresh(self, scope: Scope, *, conversation: str) -> None:
        """Begin a conversation anew; what is remembered stays. One off the record stays so."""
        session = await self._sessions.open(scope, conversation)
        if session is not None:
            await self._window.rest(session, at=self._clock.now())
            self._jobs.kick()

    async def end(self, session: Session, *, noted: Noted) -> None:
        """End a session by an admin's word, as silence would.

        Args:
            session: which.
            noted: writes the audit log, in the same transaction.
        """
        async with self._database.transaction() as tx:
            await self._window.rest_within(session, tx, at=self._clock.now())
            await noted(tx)
        self._jobs.kick()


async def may_keep(scope: Scope, conversation: str, *, sessions: SessionStore, consent: ConsentStore) -> bool:
    """Whether what a person does in a conversation may be kept: memory is not paused, and it is on the record.

    Args:
        scope: whose conversation.
        conversation: which.
        sessions: the sessions.
        consent: whether memory is paused.
    """
    if (await consent.load(scope)).paused_at is not None:
        return False
    session = await sessions.open(scope, conversation)
    return session is None or session.kept
