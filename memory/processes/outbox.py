"""How far the answer to an accepted message has come, noted before each step that can be seen on a platform.

Invariant: one process at a time sends an answer. It claims the message first; another takes over when the claim has
run out, or when the process that made it is gone.
"""

from __future__ import annotations

from datetime import timedelta

from memory.database import Database, Transaction
from memory.errors import AnsweredElsewhere
from memory.ports import Clock
from memory.process_lock import ProcessLock
from memory.records import InboxItem, InboxState
from memory.stores.consent import ConsentStore
from memory.stores.inbox import InboxStore

# Longer than a platform makes us wait before it takes all the parts of an answer.
_CLAIM = timedelta(minutes=5)


class Outbox:
    """Notes what becomes of answers.

    Args:
        database: for transactions.
        inbox: the accepted messages.
        consent: who has been told what is remembered.
        process: this process, and which others live.
        clock: tells when a claim runs out.
    """

    def __init__(
        self, *, database: Database, inbox: InboxStore, consent: ConsentStore, process: ProcessLock, clock: Clock
    ) -> None:
        self._database = database
        self._inbox = inbox
        self._consent = consent
        self._process = process
        self._clock = clock

    async def mark(self, item: InboxItem, state: InboxState) -> None:
        """Note how far an accepted message has come."""
        await self._database.write(lambda tx: self._inbox.mark(item.scope, tx, item=item, state=state))

    async def note_draft(self, item: InboxItem, draft: tuple[str, ...]) -> None:
        """Note the ids of the messages that show an answer while it is written, before the first one as none."""
        await self._database.write(lambda tx: self._inbox.note_draft(item.scope, tx, item=item, draft=draft))

    async def begin(self, tx: Transaction, item: InboxItem, reply: str) -> bool:
        """Note the reply that is about to be sent by this process.

        Args:
            tx: the open transaction: for a reply that is new, that in which everything else of its turn is stored.
            item: the message that it answers.
            reply: its text.

        Returns:
            Whether it is the person's first answer, with which they are to be told what is remembered.

        Raises:
            AnsweredElsewhere: the message has another answer, is done with, or is being sent by another process.
        """
        scope, process, now = item.scope, self._process.name, self._clock.now()
        until = now + _CLAIM
        if not await self._inbox.claim(scope, tx, item=item, reply=reply, process=process, now=now, until=until):
            present = await self._inbox.owed(scope, tx, item=item, reply=reply)
            if present is None:  # erased
                return False
            if self._is_taken(present):
                raise AnsweredElsewhere("Another process is sending the answer.")
            await self._inbox.take_over(scope, tx, item=item, reply=reply, process=process, until=until)
        return await self._consent.greet(scope, tx, at=item.accepted_at)

    def _is_taken(self, item: InboxItem) -> bool:
        """Whether another process that lives has the message to itself."""
        if item.claimed_by is None or item.claimed_until is None or item.claimed_by == self._process.name:
            return False
        return item.claimed_until > self._clock.now() and self._process.is_alive(item.claimed_by)
