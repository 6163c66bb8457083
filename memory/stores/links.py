"""Accounts of one person that are linked, and requests to link some.

Each account of a link has its own row, under the audience ``person``. What either holds keeps its own key: a link is
resolved where a reach is made, so that without it the two are as separate as they ever were.

Invariant: the two rows of a link come and go together, also when one of the accounts is erased.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from memory.database import Database, Transaction
from memory.records import Scope
from memory.schema import account_links, link_requests
from memory.stores.reply_sources import ReplySourceStore
from memory.stores.scoped import delete_scope, in_any_scope, in_scope, rows_of_scope, scope_values

_EVERYWHERE = "person"

# Made once, since making a statement takes longer than running it.
_LINKS = (
    select(account_links).where(in_any_scope(account_links)).order_by(account_links.c.linked_at, account_links.c.other)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link, seen from one of its accounts.

    Attributes:
        other: the other account.
        linked_at: since when.
    """

    other: str
    linked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRequest:
    """How far an account has come with being linked.

    Attributes:
        code_hash: of the code that the account offers; None where it offers none.
        made_at: when the code was made.
        claimed_by: the account on which the code was confirmed.
        wrong_codes: how many wrong codes were given on this account since ``wrong_since``.
    """

    code_hash: str | None = None
    made_at: datetime | None = None
    claimed_by: str | None = None
    wrong_codes: int = 0
    wrong_since: datetime | None = None


class LinkStore:
    """The tables of links.

    Args:
        database: where the rows are.
        replies: what replies were given, which may name a linked account.
    """

    name = "links"

    def __init__(self, database: Database, replies: ReplySourceStore) -> None:
        self._database = database
        self._replies = replies

    async def linked_to(self, person: str) -> frozenset[str]:
        """The other accounts of a person."""
        return frozenset(link.other for link in await self.all(_of_person(person)))

    async def all(self, scope: Scope) -> list[Link]:
        """The links of the scope's person, oldest first."""
        async with self._database.read() as connection:
            rows = await connection.execute(_LINKS, scope_values(_of_person(scope.person)))
            return [Link(other=row.other, linked_at=row.linked_at) for row in rows]

    async def add(self, scope: Scope, tx: Transaction, *, other: str, at: datetime) -> None:
        """Link the scope's person with another account, where they are not linked yet."""
        if other in await self.linked_to(scope.person):
            return
        for one, two in ((scope.person, other), (other, scope.person)):
            row = {"person": one, "audience": _EVERYWHERE, "other": two, "linked_at": at}
            await tx.connection.execute(insert(account_links).values(row))

    async def remove(self, scope: Scope, tx: Transaction, *, others: Collection[str]) -> list[str]:
        """End links of the scope's person; with which accounts there was one.

        What replies were given while a link stood is noted no longer: it may name the other account.
        """
        ended = [link for link in await self.all(scope) if link.other in others]
        for link in ended:
            for one, two in ((scope.person, link.other), (link.other, scope.person)):
                own = in_scope(account_links, _of_person(one)) & (account_links.c.other == two)
                await tx.connection.execute(delete(account_links).where(own))
                await self._replies.remove_since(tx, person=one, at=link.linked_at)
        return [link.other for link in ended]

    async def request(self, scope: Scope) -> LinkRequest:
        """How far the scope's person has come with linking an account."""
        query = select(link_requests).where(in_scope(link_requests, _of_person(scope.person)))
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            return LinkRequest()
        return LinkRequest(
            code_hash=row.code_hash,
            made_at=row.made_at,
            claimed_by=row.claimed_by,
            wrong_codes=row.wrong_codes,
            wrong_since=row.wrong_since,
        )

    async def put_request(self, scope: Scope, tx: Transaction, request: LinkRequest) -> None:
        """Keep how far the scope's person has come."""
        mine = _of_person(scope.person)
        values = {
            "code_hash": request.code_hash,
            "made_at": request.made_at,
            "claimed_by": request.claimed_by,
            "wrong_codes": request.wrong_codes,
            "wrong_since": request.wrong_since,
        }
        changed = await tx.connection.execute(update(link_requests).where(in_scope(link_requests, mine)).values(values))
        if changed.rowcount == 0:
            row = {"person": mine.person, "audience": mine.audience, **values}
            await tx.connection.execute(insert(link_requests).values(row))

    async def offered_by(self, code_hash: str) -> str | None:
        """Who among everybody offers a code; None where nobody does."""
        query = select(link_requests.c.person).where(link_requests.c.code_hash == code_hash)
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalars().first()

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """The links that are kept under a scope; a request is over within minutes and holds nothing but a code."""
        return await rows_of_scope(self._database, account_links, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """End the links of a scope's person, on the other side too, and their requests; the scope's own rows."""
        if scope.audience == _EVERYWHERE:
            await self._forget_elsewhere(scope, tx)
        return {table.name: await delete_scope(tx, table, scope) for table in (account_links, link_requests)}

    async def _forget_elsewhere(self, scope: Scope, tx: Transaction) -> None:
        for link in await self.all(scope):
            await self._replies.remove_since(tx, person=link.other, at=link.linked_at)
        await tx.connection.execute(delete(account_links).where(account_links.c.other == scope.person))
        claimed = link_requests.c.claimed_by == scope.person
        await tx.connection.execute(update(link_requests).where(claimed).values(code_hash=None, claimed_by=None))


def _of_person(person: str) -> Scope:
    return Scope(person=person, audience=_EVERYWHERE)
