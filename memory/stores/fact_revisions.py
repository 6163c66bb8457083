"""The history of facts: every change of every fact, with the whole fact on both sides.

Invariant: revisions are only ever added. A change that is taken back is one more revision. Words go from them only
where the message they come from was edited or deleted by its author (``FactSources``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Row, Select, delete, insert, null, or_, select, update

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.records import Change, Fact, FactRevision, FactState, Origin, Reach, Scope
from memory.schema import fact_revisions
from memory.stores.scoped import (
    as_stored,
    change_columns,
    change_of_row,
    delete_scope,
    in_reach,
    in_scope,
    made_by,
    restore_rows,
    rows_of_scope,
    scope_of_row,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_TIMES = frozenset({"created_at", "updated_at", "valid_from", "expires_at"})
_IDS = frozenset({"source_message", "superseded_by"})
_SNAPSHOT = tuple(field.name for field in fields(Fact) if field.name not in ("id", "scope"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChange:
    """A revision with the whole fact on both sides.

    Attributes:
        before: the fact before the change; None where the change added it.
        after: the fact after it.
    """

    revision: FactRevision
    before: Fact | None
    after: Fact


class FactRevisionStore:
    """The table of revisions.

    Args:
        database: where the rows are.
        ids: draws the revisions' ids, which give their order.
    """

    name = "fact_revisions"

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def append(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        action: str,
        before: Fact | None,
        after: Fact,
        change: Change,
        at: datetime,
        candidate: str | None = None,
    ) -> FactRevision:
        """Keep a change of a fact.

        Args:
            scope: whose fact.
            tx: the open transaction, that of the change.
            action: what was done, as in ``FactRevision``.
            before, after: the fact on both sides; ``before`` is None where it is new.
            change: who or what did it, and why.
            at: when.
            candidate: the text that led to it, where one did.
        """
        revision = FactRevision(
            id=self._ids.next(),
            scope=scope,
            fact_id=after.id,
            action=action,
            before=_current_text(before),
            after=_current_text(after),
            changed_at=as_stored(at),
            change=change,
            candidate=candidate,
        )
        await tx.connection.execute(
            insert(fact_revisions).values(
                person=scope.person,
                audience=scope.audience,
                id=revision.id,
                fact_id=after.id,
                action=action,
                before=None if before is None else _snapshot(before),
                after=_snapshot(after),
                candidate=candidate,
                changed_at=revision.changed_at,
                **change_columns(change),
            )
        )
        return revision

    async def history(self, reach: Reach, *, fact_id: int | None = None, limit: int = 50) -> list[FactRevision]:
        """The newest changes within reach, newest first.

        Args:
            reach: what may be read.
            fact_id: of this fact alone; None for all.
            limit: at most.
        """
        query = select(fact_revisions).where(in_reach(fact_revisions, reach))
        if fact_id is not None:
            query = query.where(fact_revisions.c.fact_id == fact_id)
        async with self._database.read() as connection:
            rows = (await connection.execute(_newest_first(query).limit(limit))).all()
        return [_change(row).revision for row in rows]

    async def load(self, scope: Scope, tx: Transaction, *, revision_id: int) -> FactChange:
        """One change.

        Raises:
            InvalidInput: the scope has no revision of that id.
        """
        query = select(fact_revisions).where(in_scope(fact_revisions, scope), fact_revisions.c.id == revision_id)
        row = (await tx.connection.execute(query)).first()
        if row is None:
            raise InvalidInput(f"There is no revision {revision_id} here. The history lists them.")
        return _change(row)

    async def of_work(self, scope: Scope, tx: Transaction, *, origin: Origin) -> list[FactChange]:
        """Everything that one session or one job changed, newest first."""
        query = select(fact_revisions).where(in_scope(fact_revisions, scope), made_by(fact_revisions, origin))
        return [_change(row) for row in await tx.connection.execute(_newest_first(query))]

    async def later_than(self, scope: Scope, tx: Transaction, *, at: datetime) -> list[FactChange]:
        """Every change of a known fact that was made after a moment, newest first."""
        later = in_scope(fact_revisions, scope) & (fact_revisions.c.changed_at > at)
        query = select(fact_revisions).where(later, fact_revisions.c.before.is_not(null()))
        return [_change(row) for row in await tx.connection.execute(_newest_first(query))]

    async def is_disowned(self, scope: Scope, tx: Transaction, *, source_message: int, at: datetime) -> bool:
        """Whether something that a message taught was forgotten or corrected after a moment."""
        table = fact_revisions
        taught = select(table.c.fact_id).where(in_scope(table, scope), table.c.source_message == source_message)
        unwanted = or_(table.c.action == "correct", table.c.after["state"].as_string() == FactState.FORGOTTEN.value)
        later = in_scope(table, scope) & (table.c.changed_at > at) & table.c.fact_id.in_(taught)
        return (await tx.connection.execute(select(table.c.id).where(later, unwanted).limit(1))).first() is not None

    async def of_message(self, scope: Scope, tx: Transaction, *, source_message: int) -> list[FactChange]:
        """Everything that one message changed, newest first."""
        mine = in_scope(fact_revisions, scope) & (fact_revisions.c.source_message == source_message)
        return [_change(row) for row in await tx.connection.execute(_newest_first(select(fact_revisions).where(mine)))]

    async def of_facts(self, scope: Scope, tx: Transaction, *, fact_ids: Collection[int]) -> list[FactChange]:
        """Every change of these facts, newest first."""
        mine = in_scope(fact_revisions, scope) & fact_revisions.c.fact_id.in_(fact_ids)
        return [_change(row) for row in await tx.connection.execute(_newest_first(select(fact_revisions).where(mine)))]

    async def remove(self, scope: Scope, tx: Transaction, *, revision_ids: Collection[int]) -> None:
        """Delete changes for good."""
        mine = in_scope(fact_revisions, scope) & fact_revisions.c.id.in_(revision_ids)
        await tx.connection.execute(delete(fact_revisions).where(mine))

    async def reword(self, scope: Scope, tx: Transaction, *, fact_id: int, reworded: Callable[[Fact], Fact]) -> None:
        """Put other words in place of those of every change of a fact.

        Args:
            fact_id: the fact.
            reworded: what is to stand in place of either side of a change.
        """
        for past in await self.of_facts(scope, tx, fact_ids=[fact_id]):
            after = reworded(past.after)
            values: dict[str, Any] = {"after": _snapshot(after)}
            if past.before is not None:
                values["before"] = _snapshot(reworded(past.before))
            if after.text != past.after.text:
                values["candidate"] = None
            mine = in_scope(fact_revisions, scope) & (fact_revisions.c.id == past.revision.id)
            await tx.connection.execute(update(fact_revisions).where(mine).values(values))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every revision of a scope, oldest first."""
        return await rows_of_scope(self._database, fact_revisions, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back revisions of an export; how many were not there. Raises InvalidInput where another one is."""
        return len(await restore_rows(tx, fact_revisions, scope, rows))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every revision of a scope."""
        return {fact_revisions.name: await delete_scope(tx, fact_revisions, scope)}


def _newest_first(query: Select[Any]) -> Select[Any]:
    return query.order_by(fact_revisions.c.id.desc())


def _current_text(fact: Fact | None) -> str | None:
    return fact.text if fact is not None and fact.state is FactState.CURRENT else None


def _snapshot(fact: Fact) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(fact, name) for name in _SNAPSHOT}
    for name in _TIMES:
        values[name] = None if values[name] is None else (values[name] - _EPOCH) // _MILLISECOND
    for name in _IDS:  # as text: readers of an export may have doubles alone
        values[name] = None if values[name] is None else str(values[name])
    return {**values, "metadata": dict(fact.metadata), "state": fact.state.value}


def _fact(scope: Scope, fact_id: int, snapshot: Mapping[str, Any]) -> Fact:
    values = dict(snapshot)
    for name in _TIMES:
        values[name] = None if values[name] is None else _EPOCH + values[name] * _MILLISECOND
    for name in _IDS:
        values[name] = None if values[name] is None else int(values[name])
    return Fact(id=fact_id, scope=scope, **{**values, "state": FactState(values["state"])})


def _change(row: Row[Any]) -> FactChange:
    scope = scope_of_row(row)
    before = None if row.before is None else _fact(scope, row.fact_id, row.before)
    after = _fact(scope, row.fact_id, row.after)
    revision = FactRevision(
        id=row.id,
        scope=scope,
        fact_id=row.fact_id,
        action=row.action,
        before=_current_text(before),
        after=_current_text(after),
        changed_at=row.changed_at,
        change=change_of_row(row),
        candidate=row.candidate,
    )
    return FactChange(revision=revision, before=before, after=after)
