"""Compares what was found with what is known, and applies what is safe: facts by their operations, events as they are.

Invariant: at most one kind of model call, asked again once where its answer cannot be read, then nothing is done; no
transaction spans it. What is applied passed the guards, and each change names the message that is its evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog

from memory.database import Transaction
from memory.parameters import MemoryParameters
from memory.policy.answers import operations_from
from memory.policy.distillation import details_of, distilled
from memory.policy.presets import parts_of
from memory.policy.reconcile import guarded
from memory.ports import ChatModel
from memory.prompt.learning import reconciliation_request
from memory.records import (
    WANTS_FORGOTTEN,
    Candidate,
    CandidateKind,
    Change,
    Fact,
    FactOp,
    FactOperation,
    NewEntry,
    Scope,
)
from memory.stores.facts import FactStore
from memory.stores.journal import JournalStore
from memory.stores.warm import WarmStore

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A candidate, and the message that is its evidence.

    Attributes:
        source_message: the person's message.
        said_at: when it was said.
    """

    candidate: Candidate
    source_message: int
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """What is to be applied.

    Attributes:
        operations: on facts, in their order.
        events: for the journal.
    """

    operations: tuple[FactOperation, ...] = ()
    events: tuple[Candidate, ...] = ()


class Reconciler:
    """Takes candidates into the memory of facts and events.

    Args:
        facts: where facts are kept.
        journal: where events are kept.
        warm: where events are kept that may fade.
        model: the memory model.
    """

    def __init__(
        self,
        *,
        facts: FactStore,
        journal: JournalStore,
        warm: WarmStore,
        model: ChatModel,
        parameters: MemoryParameters,
    ) -> None:
        self._facts = facts
        self._journal = journal
        self._warm = warm
        self._model = model
        self._parameters = parameters

    async def compared(self, scope: Scope, found: Sequence[Found], *, asked_to_forget: bool) -> Lessons:
        """What to do about each candidate, the guards applied; no facts where the answer cannot be read.

        Args:
            scope: whose.
            found: the candidates; as old as the oldest of them, none may retire what was said later.
            asked_to_forget: whether the person asked for it, so that more facts than a few may go.

        Raises:
            ModelError: the model could not be asked.
        """
        candidates = [one.candidate for one in found]
        facts = [candidate for candidate in candidates if candidate.kind is CandidateKind.FACT]
        events = tuple(candidate for candidate in candidates if candidate.kind is CandidateKind.EVENT)
        if not facts:
            return Lessons(events=events)
        said_at = min(one.said_at for one in found)
        operations = await self._operations(scope, facts, said_at=said_at, asked_to_forget=asked_to_forget)
        return Lessons(operations=tuple(operations), events=events)

    async def apply(
        self, scope: Scope, tx: Transaction, lessons: Lessons, *, found: Sequence[Found], change: Change
    ) -> None:
        """Write what ``compared`` decided.

        Args:
            scope: whose.
            tx: the open transaction.
            lessons: from ``compared``.
            found: the candidates it was asked about.
            change: who learns and why; each change gets the message of its candidate.
        """
        evidence = {one.candidate.text: one for one in reversed(found)}
        for step in _with_replacements(lessons.operations):
            source = evidence[step.operation.candidate.text]
            cause = replace(change, source_message=source.source_message)
            result = await self._applied(scope, tx, step, cause, at=source.said_at)
            _log.info(
                "fact_operation",
                op=step.operation.op,
                exchange=source.source_message,
                matched=step.operation.fact_id,
                replaces=list(step.replaces),
                result=result.id if result else None,
            )
        for event in lessons.events:
            source = evidence[event.text]
            cause = replace(change, source_message=source.source_message)
            noted = await self._journal.add(
                scope,
                tx,
                text=event.text,
                change=cause,
                at=source.said_at,
                happened_at=event.valid_from,
                importance=event.importance,
            )
            if noted is not None and parts_of(self._parameters.preset).tiers:
                await self._warm.add(scope, tx, new=_as_entry(event, source.said_at), change=cause, at=source.said_at)

    async def _operations(
        self, scope: Scope, candidates: Sequence[Candidate], *, said_at: datetime, asked_to_forget: bool
    ) -> Sequence[FactOperation]:
        similar = [await self._similar(scope, candidate) for candidate in candidates]
        known: dict[int, Fact] = {fact.id: fact for facts in similar for fact in facts}
        if not known:
            operations: Sequence[FactOperation] | None = [
                FactOperation(op=FactOp.ADD, candidate=candidate, text=candidate.text) for candidate in candidates
            ]
        else:
            operations = await self._decided(candidates, similar, known, said_at)
        if operations is None:
            _log.warning("reconcile_unreadable", candidates=len(candidates), model=self._model.name)
            return ()
        plan = guarded(
            operations,
            stored=list(known.values()),
            candidates=candidates,
            max_deletes=self._parameters.max_deletes,
            asked_to_forget=asked_to_forget,
            evidence_date=said_at,
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
        candidates: Sequence[Candidate],
        similar: Sequence[Sequence[Fact]],
        known: Mapping[int, Fact],
        said_at: datetime,
    ) -> Sequence[FactOperation] | None:
        ids = list(known)
        request = reconciliation_request(
            now=said_at.astimezone(self._parameters.zone),
            candidates=list(zip(candidates, similar, strict=True)),
            numbers={fact_id: number for number, fact_id in enumerate(ids, start=1)},
        )
        for _ in range(2):
            answer = (await self._model.complete(request)).message.text
            operations = operations_from(answer, candidates=candidates, ids=ids)
            if operations is not None:
                return operations
        return None

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
            case FactOp.NOOP, int(fact_id):
                return await self._facts.confirm(scope, tx, fact_id=fact_id, change=change)
            case FactOp.DELETE, int(fact_id) if operation.candidate.predicate == WANTS_FORGOTTEN:
                return await self._facts.forget(scope, tx, fact_id=fact_id, change=change, at=at)
            case FactOp.DELETE, int(fact_id):
                return await self._facts.supersede(
                    scope, tx, fact_id=fact_id, change=change, at=at, candidate=operation.candidate.text
                )
        return None


def _as_entry(event: Candidate, said_at: datetime) -> NewEntry:
    """The event as an entry, with what is distilled of it; of one yet to come the age counts from when it was told."""
    return NewEntry(
        text=event.text,
        category=event.category,
        importance=event.importance,
        created_at=min(event.valid_from or said_at, said_at),
        metadata={**details_of(distilled(event.text)), **event.metadata},
    )


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
