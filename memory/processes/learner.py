"""Learns facts and events from an exchange: find them, compare them with what is known, apply what is safe.

Invariant: only the person's own words are evidence. At most two model calls, no transaction over either; everything
an exchange teaches is applied in one transaction, once. A model whose answer cannot be read teaches nothing, and a
failing model only delays what is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from memory.database import Database, Transaction
from memory.messages import ModelRequest, Role
from memory.parameters import MemoryParameters
from memory.policy.answers import candidates_from
from memory.policy.reconcile import asks_to_forget
from memory.policy.worth_learning import worth_learning
from memory.ports import ChatModel, TokenCounter
from memory.processes.reconciler import Found, Reconciler
from memory.prompt.learning import extraction_request
from memory.records import Candidate, Change, Job, Scope, StoredMessage
from memory.stores.jobs import JobStore
from memory.stores.recall import RecallStore
from memory.stores.summaries import SummaryStore

_log = structlog.get_logger(__name__)

LEARN = "learn"

_CONTEXT_MESSAGES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lesson:
    """What one exchange holds for learning."""

    user: StoredMessage
    reply: str
    context: tuple[StoredMessage, ...]
    summary: str

    @property
    def scope(self) -> Scope:
        return self.user.scope

    @property
    def read(self) -> tuple[StoredMessage, ...]:
        """The messages that it was made from, but for the reply."""
        return (*self.context, self.user)


class Learner:
    """Does the jobs that follow from an exchange.

    Args:
        database: for the transaction over all stores.
        jobs: the durable jobs.
        recall: what was said.
        summaries: what earlier sessions taught, as context.
        reconciler: compares and keeps what was found.
        model: the memory model.
        counter: bounds what it is shown.
    """

    def __init__(
        self,
        *,
        database: Database,
        jobs: JobStore,
        recall: RecallStore,
        summaries: SummaryStore,
        reconciler: Reconciler,
        model: ChatModel,
        counter: TokenCounter,
        parameters: MemoryParameters,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._recall = recall
        self._summaries = summaries
        self._reconciler = reconciler
        self._model = model
        self._counter = counter
        self._parameters = parameters

    async def learn(self, job: Job) -> None:
        """Learn from the exchange that the job is about.

        Where somebody edits or deletes a message of it while the model is asked, it is learned from as it then is.

        Raises:
            ModelError: the model could not be asked; the job is tried again.
        """
        while not await self._learned(job):
            _log.info("learned_again", job=job.key)

    async def _learned(self, job: Job) -> bool:
        """Learn from the exchange; False where it has changed meanwhile, and nothing was learned."""
        lesson = await self._database.read_in_one_trip(lambda: self._lesson(job))
        candidates = await self._extracted(lesson) if lesson and worth_learning(lesson.user.text) else ()
        found = [
            Found(candidate=candidate, source_message=lesson.user.id, said_at=lesson.user.sent_at)
            for candidate in candidates
            if lesson
        ]
        forget = lesson is not None and bool(found) and asks_to_forget(lesson.user.text)
        lessons = await self._reconciler.compared(job.scope, found, asked_to_forget=forget)

        async def write(tx: Transaction) -> bool:
            if lesson is not None and not await self._recall.unchanged(job.scope, lesson.read):
                return False
            if not await self._jobs.done(job.scope, tx, job=job) or lesson is None:
                return True
            change = Change(
                actor="system", reason="learned from what was said", session_id=lesson.user.session_id, job=job.key
            )
            await self._reconciler.apply(job.scope, tx, lessons, found=found, change=change)
            return True

        return await self._database.write(write)

    async def _lesson(self, job: Job) -> _Lesson | None:
        """The exchange and the messages before it; None where its message is gone by now."""
        context, exchange = await self._recall.exchange(
            job.scope, int(job.payload["exchange"]), before=_CONTEXT_MESSAGES
        )
        if not exchange:
            return None
        user, *added = exchange
        summary = await self._summaries.latest(job.scope)
        return _Lesson(
            user=user,
            reply="\n".join(message.text for message in added if message.message.role is Role.ASSISTANT),
            context=tuple(context),
            summary=summary.text if summary else "",
        )

    async def _extracted(self, lesson: _Lesson) -> Sequence[Candidate]:
        zone = self._parameters.zone
        now = lesson.user.sent_at.astimezone(zone)
        request = extraction_request(
            now=now,
            summary=lesson.summary,
            context=lesson.context,
            user_text=lesson.user.text,
            assistant_text=lesson.reply,
            room=self._parameters.context_window_tokens // 2,  # the rest is for the instructions and the answer
            count=self._counter.count,
        )
        for _ in range(2):
            candidates = candidates_from(await self._ask(request), now=now, zone=zone)
            if candidates is not None:
                return candidates
        _log.warning("extraction_unreadable", exchange=lesson.user.id, model=self._model.name)
        return ()

    async def _ask(self, request: ModelRequest) -> str:
        return (await self._model.complete(request)).message.text
