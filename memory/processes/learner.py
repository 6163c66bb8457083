"""Learns facts and events from an exchange: find them, compare them with what is known, apply what is safe.

Invariant: only the person's own words are evidence. At most two model calls, no transaction over either; everything
an exchange teaches is applied in one transaction, once. A model whose answer cannot be read teaches nothing, and a
failing model only delays what is learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from memory.database import Database, Transaction
from memory.messages import ModelRequest, Role
from memory.parameters import MemoryParameters
from memory.policy.answers import candidates_from, operations_from
from memory.policy.reconcile import asks_to_forget, guarded
from memory.policy.worth_learning import worth_learning
from memory.ports import ChatModel, TokenCounter
from memory.prompt.learning import extraction_request, reconciliation_request
from memory.records import (
    WANTS_FORGOTTEN,
    Candidate,
    CandidateKind,
    Change,
    Fact,
    FactOp,
    FactOperation,
    Job,
    Reach,
    Scope,
    StoredMessage,
)
from memory.stores.facts import FactStore
from memory.stores.jobs import JobStore
from memory.stores.journal import JournalStore
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

    @property
    def scope(self) -> Scope:
        return self.user.scope


class Learner:
    """Does the jobs that follow from an exchange.

    Args:
        database: for the transaction over all stores.
        jobs: the durable jobs.
        recall: what was said.
        summaries: what earlier sessions taught, as context.
        facts: where facts are kept.
        journal: where events are kept.
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
        facts: FactStore,
        journal: JournalStore,
        model: ChatModel,
        counter: TokenCounter,
        parameters: MemoryParameters,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._recall = recall
        self._summaries = summaries
        self._facts = facts
        self._journal = journal
        self._model = model
        self._counter = counter
        self._parameters = parameters

    async def learn(self, job: Job) -> None:
        """Learn from the exchange that the job is about.

        Raises:
            ModelError: the model could not be asked; the job is tried again.
        """
        lesson = await self._lesson(job)
        candidates = await self._extracted(lesson) if lesson and worth_learning(lesson.user.text) else ()
        facts = [candidate for candidate in candidates if candidate.kind is CandidateKind.FACT]
        events = [candidate for candidate in candidates if candidate.kind is CandidateKind.EVENT]
        operations = await self._reconciled(lesson, facts) if lesson and facts else ()
        async with self._database.transaction() as tx:
            if not await self._jobs.done(job.scope, tx, job=job) or lesson is None:
                return
            change = Change(
                actor="system",
                reason="learned from what was said",
                source_message=lesson.user.id,
                session_id=lesson.user.session_id,
                job=job.key,
            )
            await self._apply(lesson, operations, tx, change)
            for event in events:
                await self._journal.add(
                    lesson.scope,
                    tx,
                    text=event.text,
                    change=change,
                    at=lesson.user.sent_at,
                    happened_at=event.valid_from,
                    importance=event.importance,
                )

    async def _lesson(self, job: Job) -> _Lesson | None:
        """The exchange and the messages before it; None where its message is gone by now."""
        exchange_id = int(job.payload["exchange"])
        own = Reach(person=job.scope.person, audiences=frozenset({job.scope.audience}))
        found = await self._recall.get(own, [exchange_id])
        if not found:
            return None
        user = found[0]
        log = await self._recall.log(job.scope, [user.session_id])
        reply = "\n".join(
            message.text for message in log if message.exchange_id == user.id and message.message.role is Role.ASSISTANT
        )
        before = [message for message in log if message.id < user.id and message.text.strip()]
        return _Lesson(user=user, reply=reply, context=tuple(before[-_CONTEXT_MESSAGES:]))

    async def _extracted(self, lesson: _Lesson) -> Sequence[Candidate]:
        zone = self._parameters.zone
        now = lesson.user.sent_at.astimezone(zone)
        summary = await self._summaries.latest(lesson.scope)
        request = extraction_request(
            now=now,
            summary=summary.text if summary else "",
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

    async def _reconciled(self, lesson: _Lesson, candidates: Sequence[Candidate]) -> Sequence[FactOperation]:
        """What to do about each candidate, the guards applied; nothing where the answer cannot be read."""
        similar = [await self._similar(lesson.scope, candidate) for candidate in candidates]
        known: dict[int, Fact] = {fact.id: fact for facts in similar for fact in facts}
        if not known:
            operations: Sequence[FactOperation] | None = [
                FactOperation(op=FactOp.ADD, candidate=candidate, text=candidate.text) for candidate in candidates
            ]
        else:
            operations = await self._decided(lesson, candidates, similar, known)
        if operations is None:
            _log.warning("reconcile_unreadable", exchange=lesson.user.id, model=self._model.name)
            return ()
        plan = guarded(
            operations,
            stored=list(known.values()),
            candidates=candidates,
            max_deletes=self._parameters.max_deletes,
            asked_to_forget=asks_to_forget(lesson.user.text),
            evidence_date=lesson.user.sent_at,
        )
        for operation, reason in plan.rejected:
            _log.info("fact_operation_rejected", op=operation.op, fact=operation.fact_id, reason=reason)
        return plan.accepted

    async def _similar(self, scope: Scope, candidate: Candidate) -> list[Fact]:
        return await self._facts.similar(
            scope,
            candidate.text,
            limit=self._parameters.similar_facts,
            floor=self._parameters.reconcile_floor,
            subject=candidate.subject,
            predicate=candidate.predicate,
        )

    async def _decided(
        self,
        lesson: _Lesson,
        candidates: Sequence[Candidate],
        similar: Sequence[Sequence[Fact]],
        known: Mapping[int, Fact],
    ) -> Sequence[FactOperation] | None:
        ids = list(known)
        request = reconciliation_request(
            now=lesson.user.sent_at.astimezone(self._parameters.zone),
            candidates=list(zip(candidates, similar, strict=True)),
            numbers={fact_id: number for number, fact_id in enumerate(ids, start=1)},
        )
        for _ in range(2):
            operations = operations_from(await self._ask(request), candidates=candidates, ids=ids)
            if operations is not None:
                return operations
        return None

    async def _ask(self, request: ModelRequest) -> str:
        return (await self._model.complete(request)).message.text

    async def _apply(
        self, lesson: _Lesson, operations: Sequence[FactOperation], tx: Transaction, change: Change
    ) -> None:
        for step in _with_replacements(operations):
            result = await self._applied(lesson.scope, tx, step, change, at=lesson.user.sent_at)
            _log.info(
                "fact_operation",
                op=step.operation.op,
                exchange=lesson.user.id,
                matched=step.operation.fact_id,
                replaces=list(step.replaces),
                result=result.id if result else None,
            )

    async def _applied(
        self, scope: Scope, tx: Transaction, step: _Step, change: Change, *, at: datetime
    ) -> Fact | None:
        operation = step.operation
        match operation.op, operation.fact_id:
            case FactOp.ADD, _:
                return await self._facts.add(
                    scope,
                    tx,
                    candidate=operation.candidate,
                    change=change,
                    at=at,
                    text=operation.text,
                    replaces=step.replaces,
                )
            case FactOp.UPDATE, int(fact_id):
                return await self._facts.update(
                    scope, tx, fact_id=fact_id, candidate=operation.candidate, change=change, at=at, text=operation.text
                )
            case FactOp.DELETE, int(fact_id) if operation.candidate.predicate == WANTS_FORGOTTEN:
                return await self._facts.forget(scope, tx, fact_id=fact_id, change=change, at=at)
            case FactOp.DELETE, int(fact_id):
                return await self._facts.supersede(
                    scope, tx, fact_id=fact_id, change=change, at=at, candidate=operation.candidate.text
                )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """An operation, and for ADD the facts whose place it takes."""

    operation: FactOperation
    replaces: tuple[int, ...] = ()


def _with_replacements(operations: Sequence[FactOperation]) -> list[_Step]:
    """The operations in order; a DELETE whose candidate is added later becomes a part of that ADD.

    So the retired fact says what took its place, and neither happens without the other.
    """
    added = {operation.candidate.text for operation in operations if operation.op is FactOp.ADD}
    retired: dict[str, list[int]] = {}
    steps: list[_Step] = []
    for operation in operations:
        if operation.op is FactOp.DELETE and operation.fact_id is not None and operation.candidate.text in added:
            retired.setdefault(operation.candidate.text, []).append(operation.fact_id)
        else:
            steps.append(_Step(operation=operation))
    return [
        _Step(operation=step.operation, replaces=tuple(retired.pop(step.operation.candidate.text, ())))
        if step.operation.op is FactOp.ADD
        else step
        for step in steps
    ]
