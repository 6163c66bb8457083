"""A fact as a row, and the one way in which it changes: its row, its revision and its search entry together.

Invariant: exactly the current facts have a search entry, and no row says anything else without a revision.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import ColumnElement, Row, String, and_, cast, delete, insert, or_, select, update

from memory.database import Transaction
from memory.policy.chunking import cut
from memory.policy.fact_changes import was_unsaid
from memory.policy.fact_text import text_hash
from memory.ports import TokenCounter
from memory.records import Candidate, Change, Fact, FactRevision, FactState, Scope, Source
from memory.schema import facts
from memory.stores.fact_revisions import FactRevisionStore
from memory.stores.scoped import in_scope, restore_rows, scope_of_row
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

_AUTOMATIC = ("agent", "system")  # actors whose changes leave pinned facts alone
_CHANGING = tuple(column.name for column in facts.columns if column.name not in ("id", "created_at", "source_message"))


class FactTable:
    """The table of facts, for writing. ``FactStore`` knows what to write.

    Args:
        search: indexes the texts.
        revisions: keeps the history.
        counter: for the log.
    """

    def __init__(self, search: SearchStore, revisions: FactRevisionStore, counter: TokenCounter) -> None:
        self._search = search
        self._revisions = revisions
        self._counter = counter

    async def load(self, scope: Scope, tx: Transaction, fact_ids: Collection[int]) -> dict[int, Fact]:
        """The facts of these ids, whatever their state; unknown ids are left out."""
        query = select(facts).where(in_scope(facts, scope), facts.c.id.in_(fact_ids))
        return {row.id: fact_of_row(row) for row in await tx.connection.execute(query)}

    async def changeable(self, scope: Scope, tx: Transaction, fact_id: int, change: Change) -> Fact | None:
        """The fact, where it is current and whoever changes it may do so."""
        fact = (await self.load(scope, tx, [fact_id])).get(fact_id)
        if fact is None or fact.state is not FactState.CURRENT:
            return None
        return None if fact.pinned and change.actor in _AUTOMATIC else fact

    async def alike(self, scope: Scope, tx: Transaction, said: Candidate, at: datetime) -> list[Fact]:
        """The facts true at that moment that have the candidate's words, or its subject and predicate."""
        condition = or_(
            facts.c.text_hash == text_hash(said.text),
            and_(facts.c.subject == said.subject, facts.c.predicate == said.predicate, facts.c.predicate != ""),
        )
        query = select(facts).where(in_scope(facts, scope), true_at(at), condition).order_by(facts.c.id)
        return [fact_of_row(row) for row in await tx.connection.execute(query)]

    async def is_settled(
        self, scope: Scope, tx: Transaction, said: Candidate, source_message: int | None, at: datetime
    ) -> bool:
        """Whether something later took away what the candidate says, so that it is not learned anew.

        Where what a message taught was forgotten or corrected, the message teaches nothing more: said in other
        words, it would come back.

        Args:
            said: what is about to be learned.
            source_message: the message it was learned from.
            at: when it was said.
        """
        later = await self._revisions.later_than(scope, tx, at=at)
        if any(past.before and was_unsaid(past.before, past.after, said) for past in later):
            return True
        return source_message is not None and await self._revisions.is_disowned(
            scope, tx, source_message=source_message, at=at
        )

    async def taught_by(self, scope: Scope, tx: Transaction, message_id: int) -> dict[int, Fact]:
        """The facts that a message taught first, or confirmed."""
        confirmed = cast(facts.c.metadata, String).contains(f'"{message_id}"')
        query = select(facts).where(in_scope(facts, scope), or_(facts.c.source_message == message_id, confirmed))
        return {row.id: fact_of_row(row) for row in await tx.connection.execute(query)}

    async def superseded_by(self, scope: Scope, tx: Transaction, fact_id: int) -> list[Fact]:
        """The facts whose place a fact took."""
        query = select(facts).where(in_scope(facts, scope), facts.c.superseded_by == fact_id)
        return [fact_of_row(row) for row in await tx.connection.execute(query)]

    async def remove(self, scope: Scope, tx: Transaction, fact_ids: Collection[int]) -> None:
        """Delete facts for good, their search entries too; their revisions are the caller's."""
        await tx.connection.execute(delete(facts).where(in_scope(facts, scope), facts.c.id.in_(fact_ids)))
        await self._search.remove(scope, tx, source=Source.FACT, record_ids=fact_ids)

    async def write(self, tx: Transaction, fact: Fact) -> None:
        """Write a fact without a revision. Its text is the same, or it is not current."""
        await _write(tx, fact)

    async def confirm(self, tx: Transaction, fact: Fact) -> None:
        """Write a fact whose confidence, date and confirming messages alone are new."""
        await _write(tx, fact)
        tx.after_commit(lambda: _log.info("fact_confirmed", fact=fact.id))

    async def revise(
        self,
        before: Fact | None,
        after: Fact,
        tx: Transaction,
        *,
        action: str,
        change: Change,
        at: datetime,
        candidate: str | None = None,
    ) -> FactRevision:
        """Change a fact, or add it where there is none before.

        Args:
            before, after: the fact on both sides.
            tx: the open transaction.
            action: what is done, as in ``FactRevision``.
            change: who or what does it, and why.
            at: when.
            candidate: the text that led to it, where one did.
        """
        if before is None:
            await tx.connection.execute(insert(facts).values(_row(after)))
        else:
            await _write(tx, after)
            await self._search.remove(after.scope, tx, source=Source.FACT, record_ids=[after.id])
        await self._search.add(after.scope, tx, source=Source.FACT, items=_searchable(after))
        revision = await self._revisions.append(
            after.scope, tx, action=action, before=before, after=after, change=change, at=at, candidate=candidate
        )
        tx.after_commit(lambda: self._log_change(revision))
        return revision

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of an export, the current ones searchable; how many were not there."""
        new = {row["id"] for row in await restore_rows(tx, facts, scope, rows, changing=_CHANGING)}
        back = await self.load(scope, tx, new)
        items = [item for fact in back.values() for item in _searchable(fact)]
        await self._search.add(scope, tx, source=Source.FACT, items=items)
        return len(new)

    def _log_change(self, revision: FactRevision) -> None:
        _log.info(
            "memory_write",
            memory="fact",
            action=revision.action,
            fact=revision.fact_id,
            revision=revision.id,
            session_id=revision.change.session_id,
            tokens_before=self._counter.count(revision.before or ""),
            tokens_after=self._counter.count(revision.after or ""),
        )


def true_at(moment: datetime | ColumnElement[datetime]) -> ColumnElement[bool]:
    """The current facts that have not expired by then."""
    lasting = or_(facts.c.expires_at.is_(None), facts.c.expires_at > moment)
    return and_(facts.c.state == FactState.CURRENT.value, lasting)


def _row(fact: Fact) -> dict[str, Any]:
    return {
        "person": fact.scope.person,
        "audience": fact.scope.audience,
        "id": fact.id,
        "text": fact.text,
        "text_hash": text_hash(fact.text),
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "confidence": fact.confidence,
        "category": fact.category,
        "importance": fact.importance,
        "metadata": dict(fact.metadata),
        "source_message": fact.source_message,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
        "valid_from": fact.valid_from,
        "expires_at": fact.expires_at,
        "state": fact.state.value,
        "superseded_by": fact.superseded_by,
        "pinned": fact.pinned,
    }


def fact_of_row(row: Row[Any]) -> Fact:
    """The fact that a row holds."""
    return Fact(
        id=row.id,
        scope=scope_of_row(row),
        text=row.text,
        subject=row.subject,
        predicate=row.predicate,
        object=row.object,
        confidence=row.confidence,
        category=row.category,
        importance=row.importance,
        metadata=row.metadata,
        source_message=row.source_message,
        created_at=row.created_at,
        updated_at=row.updated_at,
        valid_from=row.valid_from,
        expires_at=row.expires_at,
        state=FactState(row.state),
        superseded_by=row.superseded_by,
        pinned=row.pinned,
    )


async def _write(tx: Transaction, fact: Fact) -> None:
    row = and_(in_scope(facts, fact.scope), facts.c.id == fact.id)
    await tx.connection.execute(update(facts).where(row).values(_row(fact)))


def _searchable(fact: Fact) -> list[tuple[int, str]]:
    """What search holds of a fact: its text, as long as it is current."""
    return [(fact.id, text) for text in cut(fact.text)] if fact.state is FactState.CURRENT else []
