"""Procedures: how a person wants things done, each with its versions.

Nothing that is written here is followed before somebody with the right to approved it: ``propose`` makes a proposal,
and only ``applicable`` is for prompts.

Invariant: a row, its version and its search entry change in one transaction; exactly the approved procedures have a
search entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, delete, insert, select, update

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.policy.experience_text import checked, procedure_searchable, procedure_shown, same_name
from memory.policy.feedback import next_rate, rate_without
from memory.records import Change, HowTo, Origin, Procedure, ProcedureState, Scope, Source
from memory.schema import procedure_versions, procedures
from memory.stores.procedure_reader import ProcedureReader
from memory.stores.procedure_rows import procedure_of_row, row_of_procedure
from memory.stores.procedure_versions import ProcedureVersionStore
from memory.stores.scoped import as_stored, delete_scope, in_scope, made_by, restore_rows, rows_of_scope
from memory.stores.search import SearchStore

_CHANGING = ("name", "content", "state", "version", "updated_at", "usage_count", "success_rate")


class ProcedureStore(ProcedureReader):
    """The table of procedures.

    Args:
        database: where the rows are.
        search: indexes what the approved ones are for.
        versions: keeps their history.
        ids: draws the procedures' ids.
    """

    name = "procedures"

    def __init__(self, database: Database, search: SearchStore, versions: ProcedureVersionStore, ids: IdSource) -> None:
        super().__init__(database, search)
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

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete, for good, what was proposed because of a message and nobody approved."""
        await self._drop(scope, tx, procedure_versions.c.source_message == source_message)

    async def withdraw_of_session(self, scope: Scope, tx: Transaction, *, session_id: int) -> None:
        """Delete, for good, what was proposed because of a session and nobody approved."""
        await self._drop(scope, tx, procedure_versions.c.session_id == session_id)

    async def work_of(self, scope: Scope, tx: Transaction, *, origin: Origin) -> dict[str, str]:
        """What stands, unchanged since, of the proposals of a session or a job: name -> text."""
        found = await self._proposed(scope, tx, origin=origin)
        return {f"procedure {one.how_to.name}": procedure_shown(one.how_to) for one in found}

    async def undo_work(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        origin: Origin,
        change: Change,
        at: datetime,
    ) -> None:
        """Retire the proposals of a session or a job that nobody changed since."""
        for procedure in await self._proposed(scope, tx, origin=origin):
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

    async def _proposed(self, scope: Scope, tx: Transaction, *, origin: Origin) -> list[Procedure]:
        version = procedure_versions
        made = select(version.c.procedure_id).where(
            in_scope(version, scope), version.c.version == 1, made_by(version, origin)
        )
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
