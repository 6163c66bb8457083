"""How many turns were taken, and tokens used, on each day: of a person in each audience, and of a community.

Invariant: numbers alone. What a person used counts wherever it was used, so that no limit can be got around by going
elsewhere.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update

from memory.database import Database, Transaction
from memory.records import Scope, Used
from memory.schema import community_usage, usage
from memory.stores.scoped import delete_scope, in_any_scope, rows_of_scope, scope_values

# Made once, since making a statement takes longer than running it.
_OF_PERSON = select(func.sum(usage.c.turns), func.sum(usage.c.tokens)).where(
    usage.c.person == bindparam("of_person"), usage.c.day == bindparam("of_day")
)
_ADD = (
    update(usage)
    .where(in_any_scope(usage), usage.c.day == bindparam("of_day"))
    .values(turns=usage.c.turns + bindparam("more_turns"), tokens=usage.c.tokens + bindparam("more_tokens"))
)
_OF_COMMUNITY = select(community_usage).where(
    community_usage.c.community == bindparam("of_community"), community_usage.c.day == bindparam("of_day")
)
_ADD_TO_COMMUNITY = (
    update(community_usage)
    .where(community_usage.c.community == bindparam("of_community"), community_usage.c.day == bindparam("of_day"))
    .values(
        turns=community_usage.c.turns + bindparam("more_turns"),
        tokens=community_usage.c.tokens + bindparam("more_tokens"),
    )
)


class UsageStore:
    """The tables of usage.

    Args:
        database: where the rows are.
    """

    name = "usage"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_person(self, scope: Scope, tx: Transaction, *, day: str) -> Used:
        """What the scope's person used on a day, in all audiences together.

        Args:
            day: as ``2026-03-02``.
        """
        [row] = (await tx.connection.execute(_OF_PERSON, {"of_person": scope.person, "of_day": day})).all()
        return Used(turns=row[0] or 0, tokens=row[1] or 0)

    async def of_community(self, tx: Transaction, *, community: str, day: str) -> Used:
        """What everybody in a server or workspace used on a day."""
        row = (await tx.connection.execute(_OF_COMMUNITY, {"of_community": community, "of_day": day})).first()
        return Used() if row is None else Used(turns=row.turns, tokens=row.tokens)

    async def add(self, scope: Scope, tx: Transaction, *, community: str | None, day: str, used: Used) -> None:
        """Count what was used.

        Args:
            community: the server or workspace it was used in; None where there is none.
            day: as YYYY-MM-DD, in the installation's time zone.
        """
        more = {**scope_values(scope), "of_day": day, "more_turns": used.turns, "more_tokens": used.tokens}
        changed = await tx.connection.execute(_ADD, more)
        if changed.rowcount == 0:
            row = {"person": scope.person, "audience": scope.audience, "day": day}
            await tx.connection.execute(insert(usage), {**row, "turns": used.turns, "tokens": used.tokens})
        if community is not None:
            await _add_to_community(tx, community, day, used)

    async def prune(self, tx: Transaction, *, before: str) -> None:
        """Let go of the days before one."""
        for table in (usage, community_usage):
            await tx.connection.execute(delete(table).where(table.c.day < before))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every day of a scope."""
        return await rows_of_scope(self._database, usage, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every day of a scope. What its community used stays, for that is about nobody."""
        return {usage.name: await delete_scope(tx, usage, scope)}


async def _add_to_community(tx: Transaction, community: str, day: str, used: Used) -> None:
    more = {"of_community": community, "of_day": day, "more_turns": used.turns, "more_tokens": used.tokens}
    if (await tx.connection.execute(_ADD_TO_COMMUNITY, more)).rowcount == 0:
        row = {"community": community, "day": day, "turns": used.turns, "tokens": used.tokens}
        await tx.connection.execute(insert(community_usage), row)
