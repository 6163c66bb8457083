"""Scopes that are closed, since the bot is no longer where they were said: kept for a while, and read by nobody.

``scoped.in_reach`` leaves them out of everything that is read; what is asked of one scope by name is asked where
its conversations happen, and there the bot is not any more.

Invariant: closing changes nothing else of a scope, so that opening it again gives back all of it.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, delete, insert, or_, select, union

from memory.database import Database, Transaction
from memory.records import Scope
from memory.schema import PERSONAL_TABLES, closed_scopes, sessions
from memory.stores.scoped import as_stored, delete_scope, rows_of_scope, scope_of_row

_PLATFORMS = {"guild": "discord", "team": "slack"}


class ClosureStore:
    """The table of closed scopes.

    Args:
        database: where the rows are.
    """

    name = "closures"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def close(self, tx: Transaction, *, place: str, at: datetime) -> int:
        """Close the scopes of everybody that belong to a place; how many. One closed already stays as it is.

        Args:
            tx: the open transaction.
            place: a server (``guild:<id>``), a team (``team:<id>``, whose direct chats are its own) or a private
                channel (``channel:<id>``).
            at: when.
        """
        closed = {scope_of_row(row) for row in await tx.connection.execute(select(closed_scopes))}
        found = {scope_of_row(row) for row in await tx.connection.execute(_scopes_of(place))} - closed
        if found:
            rows = [
                {"person": scope.person, "audience": scope.audience, "place": place, "closed_at": as_stored(at)}
                for scope in found
            ]
            await tx.connection.execute(insert(closed_scopes), rows)
        return len(found)

    async def open(self, tx: Transaction, *, places: Collection[str]) -> int:
        """Open the scopes of everybody again that were closed with one of these places; how many."""
        mine = closed_scopes.c.place.in_(places)
        return (await tx.connection.execute(delete(closed_scopes).where(mine))).rowcount

    async def communities(self, kind: str) -> frozenset[str]:
        """The communities of a kind (``guild``, ``team``) to which anybody's conversations belong."""
        ours = sessions.c.person.startswith(f"{_PLATFORMS[kind]}:")
        query = union(
            select(sessions.c.audience).where(ours, sessions.c.audience.startswith(f"{kind}:")),
            select(sessions.c.community).where(ours, sessions.c.community.startswith(f"{kind}:")),
        )
        async with self._database.read() as connection:
            return frozenset((await connection.execute(query)).scalars())

    async def places(self) -> frozenset[str]:
        """The places with closed scopes, of everybody."""
        async with self._database.read() as connection:
            return frozenset((await connection.execute(select(closed_scopes.c.place).distinct())).scalars())

    async def closed(self, person: str) -> frozenset[Scope]:
        """The closed scopes of a person."""
        query = select(closed_scopes).where(closed_scopes.c.person == person)
        async with self._database.read() as connection:
            return frozenset(scope_of_row(row) for row in await connection.execute(query))

    async def overdue(self, tx: Transaction, *, before: datetime, limit: int) -> list[Scope]:
        """Scopes of everybody that were closed before a moment, for the sweep."""
        query = select(closed_scopes).where(closed_scopes.c.closed_at <= before).limit(limit)
        return [scope_of_row(row) for row in await tx.connection.execute(query)]

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Since when a scope is closed, where it is."""
        return await rows_of_scope(self._database, closed_scopes, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete the note that a scope is closed, as when the scope itself is erased."""
        return {closed_scopes.name: await delete_scope(tx, closed_scopes, scope)}


def _scopes_of(place: str) -> Any:
    """The scopes of a place: said to it as a whole, in its private channels, or with its members."""
    said = [select(table.c.person, table.c.audience).where(_belongs(table, place)) for table in PERSONAL_TABLES]
    private = select(sessions.c.person, sessions.c.audience).where(
        sessions.c.community == place, sessions.c.audience.startswith("channel:")
    )
    return union(*said, private)


def _belongs(table: Table, place: str) -> ColumnElement[bool]:
    kind, _, name = place.partition(":")
    # The terminal lends itself audiences of any name, which are no place that the bot could leave.
    heard = and_(table.c.audience == place, table.c.person.startswith(_PLATFORMS.get(kind, "")))
    if kind != "team":
        return heard
    return or_(heard, table.c.person.startswith(f"slack:{name}:", autoescape=True))
