"""Writes the journal of the agent's work: what tools answered, what left the window, and the digest of old entries.

Invariant: nothing of a session that is not to be kept is written. A digest and the archiving of what it stands for
are one transaction, no transaction spans a model call, and the archived entries stay and can be brought back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import structlog

from memory.database import Database, Transaction
from memory.messages import Message, ToolResult
from memory.parameters import ParametersInForce
from memory.policy.journal import conversation_line, printed, tool_line
from memory.policy.secrets import redact
from memory.policy.summaries import within_words
from memory.ports import ChatModel, Clock, TokenCounter
from memory.prompt.memory_work import journal_digest_request
from memory.records import (
    ArchiveReason,
    Change,
    Job,
    JournalCategory,
    JournalEntry,
    ResultPlace,
    Scope,
    Session,
    StoredMessage,
)
from memory.stores.jobs import JobStore
from memory.stores.journal import JournalStore

_log = structlog.get_logger(__name__)

DIGEST_JOURNAL = "digest_journal"

_DIGEST_WORDS = 150
_MOST_AT_ONCE = 200  # entries of one digest: what the model is shown stays bounded, the rest follows with the next


class Journaling:
    """Keeps the journals of an installation.

    Args:
        database: for transactions over all stores.
        jobs: digesting is a durable job.
        journal: where the entries are.
        model: the memory model, which writes the digest.
        counter: bounds what it is shown.
        in_force: the limits.
        clock: dates the digest.
    """

    def __init__(
        self,
        *,
        database: Database,
        jobs: JobStore,
        journal: JournalStore,
        model: ChatModel,
        counter: TokenCounter,
        in_force: ParametersInForce,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._journal = journal
        self._model = model
        self._counter = counter
        self._in_force = in_force
        self._clock = clock

    async def note_results(
        self, session: Session, tx: Transaction, *, exchange_id: int, added: Sequence[StoredMessage], at: datetime
    ) -> None:
        """Note what tools answered in an exchange; what comes from memory itself is there already.

        Args:
            session: the exchange's.
            tx: the transaction that stored the messages.
            exchange_id: the person's message.
            added: the messages that followed it, as they were stored, in order.
            at: now.
        """
        if not (session.kept and self._in_force.current.auto_store_tool_results):
            return
        change = Change(actor="system", reason="a tool answered", source_message=exchange_id, session_id=session.id)
        calls = {call.id: call for stored in added for call in stored.message.tool_calls}
        results = [
            (stored, result) for stored in added for result in stored.message.tool_results if not result.is_memory
        ]
        for stored, result in results:
            await self._journal.append(
                session.scope,
                tx,
                category=JournalCategory.TOOL_RESULT,
                text=tool_line(calls.get(result.call_id), result),
                change=change,
                at=at,
                result=ResultPlace(message_id=stored.id, call_id=result.call_id),
                content=result.content,
            )
        if results:
            await self.keep_short(session.scope, tx, at=at)

    async def note_trim(
        self, session: Session, tx: Transaction, *, leaving: Sequence[StoredMessage], at: datetime
    ) -> None:
        """Note in a line what was talked about in messages that leave the window of a kept session."""
        if not (session.kept and leaving):
            return
        await self._journal.append(
            session.scope,
            tx,
            category=JournalCategory.CONVERSATION,
            text=conversation_line(leaving, self._in_force.current.zone),
            change=Change(actor="system", reason="messages left the window", session_id=session.id),
            at=at,
        )
        await self.keep_short(session.scope, tx, at=at)

    async def keep_short(self, scope: Scope, tx: Transaction, *, at: datetime) -> None:
        """Add the job that digests the oldest entries, where more are in sight than may be."""
        limit = self._in_force.current.journal_limit
        if (await self._journal.in_sight(scope, tx)) > limit:
            await self.digest_soon(scope, tx, keep=limit // 2, at=at)

    async def digest_soon(self, scope: Scope, tx: Transaction, *, keep: int, at: datetime) -> None:
        """Add the job that digests all entries but the newest ``keep``."""
        newest = await self._journal.newest_id(scope, tx)
        await self._jobs.add(scope, tx, kind=DIGEST_JOURNAL, subject=newest, payload={"keep": keep}, at=at)

    async def digest(self, job: Job) -> None:
        """Put a digest in the place of the oldest entries; they are archived.

        Where one of them goes meanwhile, since its message was edited or deleted, the others are digested anew.

        Raises:
            ModelError: the model could not be asked; the job is tried again.
        """
        while not await self._is_digested(job):
            _log.info("journal_digested_again", job=job.key)

    async def _is_digested(self, job: Job) -> bool:
        """Digest; False where an entry is gone meanwhile, and nothing was written."""
        scope, keep = job.scope, int(job.payload["keep"])
        entries = await self._journal.tail(scope, None)
        old = entries[: max(0, len(entries) - keep)][:_MOST_AT_ONCE]
        text = await self._digested(old) if len(old) > 1 else ""
        async with self._database.transaction() as tx:
            if not {entry.id for entry in old} <= {entry.id for entry in await self._journal.tail(scope, None)}:
                return False
            if await self._jobs.done(scope, tx, job=job) and text:
                await self._put_in_place(scope, tx, old, text, job)
        return True

    async def _digested(self, old: Sequence[JournalEntry]) -> str:
        zone = self._in_force.current.zone
        request = journal_digest_request(
            [printed(entry, zone) for entry in old],
            max_words=_DIGEST_WORDS,
            room=self._in_force.current.context_window_tokens // 2,
            count=self._counter.count,
        )
        response = await self._model.complete(request)
        text = within_words(response.message.text, _DIGEST_WORDS)
        if not text:
            _log.warning("journal_digest_empty", entries=len(old), model=self._model.name)
        return text

    async def _put_in_place(
        self, scope: Scope, tx: Transaction, old: Sequence[JournalEntry], text: str, job: Job
    ) -> None:
        now, zone = self._clock.now(), self._in_force.current.zone
        first, last = (entry.noted_at.astimezone(zone) for entry in (old[0], old[-1]))
        change = Change(actor="system", reason="the journal passed its limit", job=job.key)
        digest = await self._journal.append(
            scope,
            tx,
            category=JournalCategory.DIGEST,
            text=f"JOURNAL_DIGEST: {first:%Y-%m-%d} to {last:%Y-%m-%d}, {len(old)} entries: {' '.join(text.split())}",
            change=change,
            at=now,
        )
        await self._journal.archive(
            scope,
            tx,
            entry_ids=[entry.id for entry in old],
            reason=ArchiveReason.DIGESTED,
            change=change,
            at=now,
            replaced_by=digest.id,
        )


def without_secrets(message: Message) -> Message:
    """A message with the keys, passwords and card numbers taken out of what tools answered, as it may be stored."""
    parts = tuple(
        replace(part, content=redact(part.content)) if isinstance(part, ToolResult) else part for part in message.parts
    )
    return replace(message, parts=parts)
