"""What a person agreed to.

Invariant: consent belongs to the person and not to one audience, so it is kept once, under the audience ``person``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Table, insert, select, update

from memory.database import Database, Transaction
from memory.policy.audience import SHARED_AUDIENCE
from memory.records import Scope
from memory.schema import consent
from memory.stores.scoped import as_stored, delete_scope, in_any_scope, in_scope, rows_of_scope, scope_values

# Made once, since making a statement takes longer than running it.
_GREETED = select(consent.c.greeted_at).where(in_any_scope(consent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What is known of a person's consent.

    Attributes:
        greeted_at: when the message came whose answer told the person what is remembered; None for not yet.
        paused_at: since when nothing new is to be remembered; None where it is.
    """

    greeted_at: datetime | None = None
    paused_at: datetime | None = None


class ConsentStore:
    """The table of consent.

    Args:
        database: where the rows are.
    """

    name = "consent"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, scope: Scope) -> Consent:
        """The consent of the scope's person."""
        query = select(consent).where(in_scope(consent, _of_person(scope)))
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        return Consent() if row is None else Consent(greeted_at=row.greeted_at, paused_at=row.paused_at)

    async def greet(self, scope: Scope, tx: Transaction, *, at: datetime) -> bool:
        """Note that an answer tells the person what is remembered, unless an earlier one did.

        Args:
            scope: the person's.
            tx: the open transaction, that of the answer.
            at: when the message was accepted that is answered, by which a repeated attempt is known.

        Returns:
            Whether it is this answer that tells it.
        """
        greeted_at = (await tx.connection.execute(_GREETED, scope_values(_of_person(scope)))).scalar_one_or_none()
        if greeted_at is None:
            await _put(tx, consent, _of_person(scope), {"greeted_at": at})
        return greeted_at in (None, as_stored(at))

    async def pause(self, scope: Scope, tx: Transaction, *, at: datetime | None) -> None:
        """Remember nothing new from now on; with None, remember again."""
        await _put(tx, consent, _of_person(scope), {"paused_at": at})

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """The consent that is kept under a scope."""
        return await rows_of_scope(self._database, consent, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back the row of an export; how many were not there. What the person decided here since stands."""
        there = (await tx.connection.execute(select(consent).where(in_scope(consent, scope)))).first()
        new = rows[:1] if there is None else ()
        for row in new:
            await tx.connection.execute(insert(consent).values(person=scope.person, audience=scope.audience, **row))
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete the consent that is kept under a scope."""
        return {consent.name: await delete_scope(tx, consent, scope)}


def _of_person(scope: Scope) -> Scope:
    return Scope(person=scope.person, audience=SHARED_AUDIENCE)


async def _put(tx: Transaction, table: Table, scope: Scope, values: dict[str, Any]) -> None:
    changed = await tx.connection.execute(update(table).where(in_scope(table, scope)).values(**values))
    if changed.rowcount == 0:
        await tx.connection.execute(insert(table).values(person=scope.person, audience=scope.audience, **values))
