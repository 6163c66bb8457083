"""Procedures: how a person wants things done, each with its versions.

Nothing that is written here is followed before somebody with the right to approved it: ``propose`` makes a proposal,
and only ``applicable`` is for prompts.

Invariant: a row, its version and its search entry change in one transaction; exactly the approved procedures have a
search entry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, case, delete, insert, select, update
from sqlalchemy.engine import Connection

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.policy.experience_text import checked, procedure_searchable, procedure_shown, same_name
from memory.policy.feedback import next_rate, rate_without
from memory.policy.ranking import rank, why_found
from memory.policy.relevance import above_floor
from memory.ports import EmbeddedQuery
from memory.records import (
    Change,
    HowTo,
    Procedure,
    ProcedureState,
    Reach,
    Scope,
    SearchHit,
    Source,
)
from memory.schema import procedure_versions, procedures
from memory.stores.procedure_rows import hit_of_procedure, procedure_of_row, row_of_procedure, triggers_of_row
from memory.stores.procedure_versions import ProcedureVersionStore
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    in_any_reach,
    in_reach,
    in_scope,
    reach_values,
    restore_rows,
    rows_of_scope,
)
from memory.stores.search import SearchStore

_MOST = 200  # approved procedures that a message is compared with by trigger
_CHANGING = ("name", "content", "state", "version", "updated_at", "usage_count", "success_rate")


# Made once: making a statement takes longer than running it.
_APPROVED, _APPROVED_IN_AUDIENCES = (
    select(procedures)
    .where(in_any_reach(procedures, in_audiences=named), procedures.c.state == ProcedureState.APPROVED.value)
    .order_by(procedures.c.updated_at.desc(), procedures.c.id.desc())
    .limit(_MOST)
    for named in (False, True)
)


class ProcedureStore:
    """The table of procedures.

    Args:
        database: where the rows are.
        search: indexes what the approved ones are for.
        versions: keeps their history.
        ids: draws the procedures' ids.
    """

    name = "procedures"

    def __init__(self, database: Database, search: SearchStore, versions: ProcedureVersionStore, ids: IdSource) -> None:
        self._database = database
        self._search = search
        self._versions = versions
        self._ids = ids

    async def propose(
        self, scope: Scope, tx: Transaction, *, how_to: HowTo, change: Change, at: datetime
    ) -> Procedure | None:
        """Write a procedure down, to be approved; None where there is or was one of that name already.

        Args:
            scope: whose.
            tx: the open transaction.
            how_to: what it says.
            change: who or what proposes it, and the message it was learned from.
            at: when.

        Raises:
            InvalidInput: it lacks a part, or one is too long.
        """
        how_to = checked(how_to)
        known = await self._found(tx, select(procedures).where(in_scope(procedures, scope)))
        if any(same_name(one.how_to.name) == same_name(how_to.name) for one in known):
            return None
        procedure = Procedure(
            id=self._ids.next(),
            scope=scope,
            how_to=how_to,
            state=ProcedureState.PROPOSED,
            version=1,
            created_at=as_stored(at),
            updated_at=as_stored(at),
        )
        await tx.connection.execute(insert(procedures).values(row_of_procedure(procedure)))
        await self._versions.note(tx, procedure, action="propose", change=change)
        return procedure

    async def approve(
        self, scope: Scope, tx: Transaction, *, procedure_id: int, change: Change, at: datetime
    ) -> Procedure:
        """Let a procedure be followed. Raises InvalidInput where there is none of that id."""
        procedure = await self._one(scope, tx, procedure_id)
        return await self._revise(tx, replace(procedure, state=ProcedureState.APPROVED), "approve", change, at)

    async def retire(
        self, scope: Scope, tx: Transaction, *, procedure_id: int, change: Change, at: datetime
    ) -> Procedure:
        """Let a procedure be followed no more. Raises InvalidInput where there is none of that id."""
        procedure = await self._one(scope, tx, procedure_id)
        return await self._revise(tx, replace(procedure, state=ProcedureState.RETIRED), "retire", change, at)

    async def edit(
        self, scope: Scope, tx: Transaction, *, procedure_id: int, how_to: HowTo, change: Change, at: datetime
    ) -> Procedure:
        """Put other words in place of a procedure's; its state stays.

        Raises:
            InvalidInput: there is none of that id, or the words cannot be used.
        """
        procedure = await self._one(scope, tx, procedure_id)
        return await self._revise(tx, replace(procedure, how_to=checked(how_to)), "edit", change, at)

    async def take_back(
        self, scope: Scope, tx: Transaction, *, procedure_id: int, change: Change, at: datetime
    ) -> Procedure:
        """Take the last change of a procedure back, as a new version; a mere proposal is retired.

        Raises:
            InvalidInput: there is none of that id.
        """
        procedure = await self._one(scope, tx, procedure_id)
        before = await self._versions.one(scope, tx, procedure_id=procedure_id, version=procedure.version - 1)
        after = (
            replace(procedure, state=ProcedureState.RETIRED)
            if before is None
            else replace(procedure, how_to=before.how_to, state=before.state)
        )
        return await self._revise(tx, after, "undo", change, at)

    async def record(self, scope: Scope, tx: Transaction, *, procedure_id: int, success: bool) -> None:
        """Note how well a procedure worked; nothing where there is none of that id."""
        rate, count = procedures.c.success_rate, procedures.c.usage_count
        first, step = next_rate(None, success=success), next_rate(0.0, success=success)
        kept = next_rate(1.0, success=False)
        await tx.connection.execute(
            update(procedures)
            .where(in_scope(procedures, scope), procedures.c.id == procedure_id)
            .values(usage_count=count + 1, success_rate=case((rate.is_(None), first), else_=kept * rate + step))
        )

    async def unrecord(self, scope: Scope, tx: Transaction, *, procedure_id: int, success: bool) -> None:
        """Take back what ``record`` noted; nothing where there is none of that id, or nothing noted."""
        mine = and_(
            in_scope(procedures, scope), procedures.c.id == procedure_id, procedures.c.success_rate.is_not(None)
        )
        query = select(procedures.c.usage_count, procedures.c.success_rate).where(mine)
        noted = (await tx.connection.execute(query)).first()
        if noted is None:
            return
        count = noted.usage_count - 1
        rate = rate_without(noted.success_rate, success=success) if count else None
        await tx.connection.execute(update(procedures).where(mine).values(usage_count=count, success_rate=rate))

    async def applicable(
        self,
        reach: Reach,
        query: str,
        *,
        limit: int = 2,
        embedded: EmbeddedQuery | None = None,
        floor: bool = True,
    ) -> list[SearchHit]:
        """The approved procedures that a message calls for, best first: by a trigger in it, or by likeness.

        Args:
            reach: what may be read.
            query: the message.
            limit: hits at most.
            embedded: its vectors, where the caller has them already.
            floor: leave out what is only faintly alike.
        """
        if embedded is None:
            embedded = await self._search.embedded(query)
        look = partial(self._look, reach=reach, query=query, limit=limit, embedded=embedded, floor=floor)
        return await self._database.read_together(look)

    def _look(
        self,
        connection: Connection,
        *,
        reach: Reach,
        query: str,
        limit: int,
        embedded: EmbeddedQuery | None,
        floor: bool,
    ) -> list[SearchHit]:
        approved = {row.id: row for row in _approved(connection, reach)}
        if not approved:
            return []
        entries = self._search.find(
            connection, reach=reach, source=Source.PROCEDURE, query=query, limit=limit, embedded=embedded
        )
        alike = rank([entry for entry in entries if entry.record_id in approved])
        if floor:
            alike = above_floor(alike, query, floors=self._search.floors(Source.PROCEDURE))
        why = {one.entry.record_id: (one.score, why_found(one)) for one in alike}
        words = query.casefold()
        for procedure_id, row in approved.items():
            trigger = next((one for one in triggers_of_row(row) if one.casefold() in words), None)
            if trigger is not None:
                why[procedure_id] = 1.0, f"the words {trigger!r}"
        hits = [
            hit_of_procedure(procedure_of_row(approved[one]), score, reason) for one, (score, reason) in why.items()
        ]
        return sorted(hits, key=lambda hit: (-hit.score, -hit.record_id))[:limit]

    async def all(
        self, reach: Reach, *, state: ProcedureState | None = None, limit: int | None = None
    ) -> list[Procedure]:
        """The procedures within reach, the last changed first; of one state where it is given."""
        query = select(procedures).where(in_reach(procedures, reach))
        query = query if state is None else query.where(procedures.c.state == state.value)
        query = query.order_by(procedures.c.updated_at.desc(), procedures.c.id.desc()).limit(limit)
        async with self._database.read() as connection:
            return [procedure_of_row(row) for row in await connection.execute(query)]

    async def get(self, reach: Reach, procedure_ids: Collection[int]) -> list[Procedure]:
        """The procedures of these ids within reach, whatever their state; unknown ids are left out."""
        query = select(procedures).where(in_reach(procedures, reach), procedures.c.id.in_(procedure_ids))
        async with self._database.read() as connection:
            return [procedure_of_row(row) for row in await connection.execute(query.order_by(procedures.c.id))]

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete, for good, what was proposed because of a message and nobody approved."""
        await self._drop(scope, tx, procedure_versions.c.source_message == source_message)

    async def withdraw_of_session(self, scope: Scope, tx: Transaction, *, session_id: int) -> None:
        """Delete, for good, what was proposed because of a session and nobody approved."""
        await self._drop(scope, tx, procedure_versions.c.session_id == session_id)

    async def work_of(
        self, scope: Scope, tx: Transaction, *, session_id: int | None = None, job: str | None = None
    ) -> dict[str, str]:
        """What stands, unchanged since, of the proposals of a session or a job: name -> text."""
        found = await self._proposed(scope, tx, session_id=session_id, job=job)
        return {f"procedure {one.how_to.name}": procedure_shown(one.how_to) for one in found}

    async def undo_work(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        change: Change,
        at: datetime,
        session_id: int | None = None,
        job: str | None = None,
    ) -> None:
        """Retire the proposals of a session or a job that nobody changed since."""
        for procedure in await self._proposed(scope, tx, session_id=session_id, job=job):
            await self.retire(scope, tx, procedure_id=procedure.id, change=change, at=at)

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every procedure of a scope."""
        return await rows_of_scope(self._database, procedures, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of an export, the approved ones searchable; how many were not there.

        Raises:
            InvalidInput: another procedure has the id of one of them.
        """
        new = {row["id"] for row in await restore_rows(tx, procedures, scope, rows, changing=_CHANGING)}
        back = select(procedures).where(in_scope(procedures, scope), procedures.c.id.in_(sorted(new)))
        for procedure in await self._found(tx, back):
            await self._index(tx, procedure)
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every procedure of a scope (the search store erases its entries)."""
        return {procedures.name: await delete_scope(tx, procedures, scope)}

    async def _proposed(
        self, scope: Scope, tx: Transaction, *, session_id: int | None, job: str | None
    ) -> list[Procedure]:
        version = procedure_versions
        mine = version.c.job == job if session_id is None else version.c.session_id == session_id
        made = select(version.c.procedure_id).where(in_scope(version, scope), version.c.version == 1, mine)
        standing = and_(procedures.c.id.in_(made), procedures.c.version == 1)
        return await self._found(tx, select(procedures).where(in_scope(procedures, scope), standing))

    async def _drop(self, scope: Scope, tx: Transaction, cause: ColumnElement[bool]) -> None:
        version = procedure_versions
        caused = select(version.c.procedure_id).where(in_scope(version, scope), version.c.version == 1, cause)
        unapproved = procedures.c.state == ProcedureState.PROPOSED.value
        proposed = select(procedures.c.id).where(
            in_scope(procedures, scope),
            procedures.c.id.in_(caused),
            unapproved,
        )
        ids = (await tx.connection.execute(proposed)).scalars().all()
        await tx.connection.execute(delete(procedures).where(in_scope(procedures, scope), procedures.c.id.in_(ids)))
        await tx.connection.execute(delete(version).where(in_scope(version, scope), version.c.procedure_id.in_(ids)))

    async def _revise(
        self, tx: Transaction, procedure: Procedure, action: str, change: Change, at: datetime
    ) -> Procedure:
        after = replace(procedure, version=procedure.version + 1, updated_at=as_stored(at))
        mine = and_(in_scope(procedures, after.scope), procedures.c.id == after.id)
        await tx.connection.execute(update(procedures).where(mine).values(row_of_procedure(after)))
        await self._versions.note(tx, after, action=action, change=change)
        await self._index(tx, after)
        return after

    async def _index(self, tx: Transaction, procedure: Procedure) -> None:
        scope, record = procedure.scope, procedure.id
        if procedure.state is ProcedureState.APPROVED:
            items = [(record, procedure_searchable(procedure.how_to))]
            await self._search.put(scope, tx, source=Source.PROCEDURE, items=items)
        else:
            await self._search.remove(scope, tx, source=Source.PROCEDURE, record_ids=[record])

    async def _one(self, scope: Scope, tx: Transaction, procedure_id: int) -> Procedure:
        found = await self._found(
            tx, select(procedures).where(in_scope(procedures, scope), procedures.c.id == procedure_id)
        )
        if not found:
            raise InvalidInput("There is no such procedure any more.")
        return found[0]

    async def _found(self, tx: Transaction, query: Select[Any]) -> list[Procedure]:
        rows = await tx.connection.execute(query.order_by(procedures.c.id))
        return [procedure_of_row(row) for row in rows]


def _approved(connection: Connection, reach: Reach) -> Sequence[Row[Any]]:
    query = _APPROVED if reach.audiences is None else _APPROVED_IN_AUDIENCES
    return [row for own in reach.of_each for row in connection.execute(query, reach_values(own))]
