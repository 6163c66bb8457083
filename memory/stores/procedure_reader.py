"""The read side of procedures: those that a message calls for, and those that a person looks at.

Invariant: only an approved procedure is offered to be followed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.engine import Connection

from memory.database import Database
from memory.policy.ranking import rank, why_found
from memory.policy.relevance import above_floor
from memory.ports import EmbeddedQuery
from memory.records import Procedure, ProcedureState, Reach, SearchHit, Source
from memory.schema import procedures
from memory.stores.procedure_rows import hit_of_procedure, procedure_of_row, triggers_of_row
from memory.stores.scoped import in_any_reach, in_reach, reach_values
from memory.stores.search import SearchStore

_MOST = 200  # approved procedures that a message is compared with by trigger

# Made once: making a statement takes longer than running it.
_APPROVED, _APPROVED_IN_AUDIENCES = (
    select(procedures)
    .where(in_any_reach(procedures, in_audiences=named), procedures.c.state == ProcedureState.APPROVED.value)
    .order_by(procedures.c.updated_at.desc(), procedures.c.id.desc())
    .limit(_MOST)
    for named in (False, True)
)


class ProcedureReader:
    """Reads the table of procedures. ``ProcedureStore`` adds the writes.

    Args:
        database: where the rows are.
        search: indexes what the approved ones are for.
    """

    def __init__(self, database: Database, search: SearchStore) -> None:
        self._database = database
        self._search = search

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


def _approved(connection: Connection, reach: Reach) -> Sequence[Row[Any]]:
    query = _APPROVED if reach.audiences is None else _APPROVED_IN_AUDIENCES
    return [row for own in reach.of_each for row in connection.execute(query, reach_values(own))]
