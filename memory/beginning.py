"""How a message enters a conversation: the session it belongs to, and its place in the log.

Invariant: a conversation that was silent for too long rests before the next message is stored, and a message is stored
once, however often it is taken up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory.counting import count_all, counted
from memory.database import Transaction
from memory.errors import PersonErased
from memory.exchange import ERASED, Beside, Exchange, Place, nothing_beside
from memory.processes.episode_writer import WRITE_EPISODE
from memory.processes.mirroring import MIRROR
from memory.records import EvictionReason, InboxItem, NewMessage, Session
from memory.services import Services
from memory.stores.posts import reworded

# A new session may wait this long for the summary of the one before it.
_CLOSING_SECONDS = 10.0


class Beginning:
    """Stores what a person says, with or without an answer to come.

    Args:
        place: the conversation.
        services: every store and process.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self._place = place
        self._services = services
        self._stores = services.stores

    async def begin(
        self,
        new: NewMessage,
        item: InboxItem | None = None,
        *,
        before: Beside = nothing_beside,
    ) -> Exchange:
        """Store the person's message, opening a session where none is open.

        Args:
            new: the message; its tokens are counted here.
            item: its inbox item. One whose turn was cut off by a crash keeps its stored message.
            before: is done first in the same transaction, where the answer is owed; what it raises undoes all of it.

        Raises:
            PersonErased: the person was erased since the message was accepted.
            AnsweredElsewhere: the message has its answer already.
        """
        scope = self._place.scope
        [said] = await counted([new], self._services.counter)
        sessions, at = self._stores.sessions, new.sent_at

        async def store(tx: Transaction, resumed: Session | None = None) -> Exchange:
            present = await self._owed(tx, item)
            await before(tx)
            session = resumed or await self._session(tx, at)
            if present is not None and present.message_id is not None:
                stored = await self._stores.recall.get(self._place.reach, [present.message_id])
                if stored:
                    return Exchange(user=stored[0], session=session)
            edited = self._as_edited([said], present)
            [user] = await self._stores.recall.append(
                scope, tx, session=session, messages=edited, at=self._services.clock.now()
            )
            if resumed is None:
                await sessions.touch(scope, tx, session_id=session.id, at=at)
            if present is not None:
                await self._stores.inbox.begin(scope, tx, item=present, message_id=user.id)
            return Exchange(user=user, session=session)

        async def store_unless_idle(tx: Transaction) -> Exchange | None:
            conversation, idle_since = self._place.conversation, at - self._services.parameters.session_idle
            session = await sessions.resume(scope, tx, conversation=conversation, at=at, idle_since=idle_since)
            if session is None and await sessions.open(scope, conversation) is not None:
                return None
            return await store(tx, session)

        exchange = await self._services.database.write(store_unless_idle)
        if exchange is None:
            await self._end_idle(at)
            exchange = await self._services.database.write(store)
        return exchange

    async def keep_unanswered(self, new: NewMessage, item: InboxItem, *, beside: Beside = nothing_beside) -> None:
        """Store a message that will not be answered, straight into recall; nothing where nothing is to be kept.

        Args:
            new: the message; its tokens are counted here.
            item: its inbox item.
            beside: writes something else in the same transaction; what it raises undoes all of it.

        Raises:
            PersonErased: the person was erased since the message was accepted.
            AnsweredElsewhere: the message has its answer already.
        """
        await self._end_idle(new.sent_at)
        [said] = await counted([new], self._services.counter)

        async def store(tx: Transaction) -> None:
            present = await self._owed(tx, item)
            session = await self._session(tx, new.sent_at)
            await beside(tx)
            if not session.kept or (present is not None and present.message_id is not None):
                return
            [kept] = await self._stores.recall.append(
                self._place.scope,
                tx,
                session=session,
                messages=self._as_edited([said], present),
                evicted=EvictionReason.UNANSWERED,
                at=self._services.clock.now(),
            )
            await self._stores.inbox.begin(self._place.scope, tx, item=item, message_id=kept.id)

        await self._services.database.write(store)
        self._services.indexer.kick()

    def _as_edited(self, messages: Sequence[NewMessage], item: InboxItem | None) -> Sequence[NewMessage]:
        """The messages of an inbox item in the words that its author put in place of the first ones."""
        if item is None or item.edited_text is None:
            return messages
        text, at = item.edited_text, item.edited_at
        edited = [replace(new, message=reworded(new.message, text), edited_at=at) for new in messages]
        return count_all(edited, self._services.counter)

    async def _end_idle(self, at: datetime) -> None:
        """Let a session rest that has been silent for too long, and wait a moment for its summary."""
        session = await self._stores.sessions.open(self._place.scope, self._place.conversation)
        idle_since = at - self._services.parameters.session_idle
        if session is None or session.last_activity_at > idle_since:
            return
        await self._services.window.rest(session, at=at)
        await self._services.jobs.settle_scope(
            self._place.scope, timeout=_CLOSING_SECONDS, besides=(WRITE_EPISODE, MIRROR)
        )

    async def _owed(self, tx: Transaction, item: InboxItem | None) -> InboxItem | None:
        """The inbox item as it is now. Another process may have taken it up, or its person may have been erased."""
        if item is None:
            return None
        present = await self._stores.inbox.owed(self._place.scope, tx, item=item)
        if present is None:
            raise PersonErased(ERASED)
        return present

    async def _session(self, tx: Transaction, at: datetime) -> Session:
        """The open session, begun where none is. Read within the write transaction, in which nobody else writes."""
        scope, conversation = self._place.scope, self._place.conversation
        session = await self._stores.sessions.open(scope, conversation)
        if session is not None:
            return session
        before = await self._stores.sessions.latest(scope, conversation)
        paused_at = (await self._stores.consent.load(scope)).paused_at
        return await self._stores.sessions.start(
            scope,
            tx,
            conversation=conversation,
            community=self._place.community,
            at=at,
            window_summary=before.window_summary if before else "",
            kept=paused_at is None,
        )
