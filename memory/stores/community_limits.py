"""The daily limits that admins chose for their own server or workspace.

Invariant: one value of each name in a community; nothing here is about a person but who changed it.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, insert, select

from memory.database import Database, Transaction
from memory.schema import community_limits as table


class CommunityLimitStore:
    """The table of limits.

    Args:
        database: where the rows are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, community: str | None) -> dict[str, int]:
        """The limits that were chosen in a community, by name; none where there is no community."""
        if community is None:
            return {}
        query = select(table.c.name, table.c.value).where(table.c.community == community)
        async with self._database.read() as connection:
            return {row.name: row.value for row in await connection.execute(query)}

    async def choose(
        self, tx: Transaction, *, community: str, name: str, value: int | None, actor: str, at: datetime
    ) -> None:
        """Choose a limit.

        Args:
            community: the server or workspace that it is for.
            name: of a ``Limit``.
            value: the limit; None takes the choice back.
            actor: who chooses.
        """
        await tx.connection.execute(delete(table).where(table.c.community == community, table.c.name == name))
        if value is not None:
            row = {"community": community, "name": name, "value": value, "changed_at": at, "actor": actor}
            await tx.connection.execute(insert(table), row)
