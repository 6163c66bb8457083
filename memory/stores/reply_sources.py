"""What each of the last replies was given from memory, so that a person can ask why, and what they made known of it.

References alone, no text: what is forgotten, corrected or deleted leaves no copy behind here.

Invariant: of a conversation only the last replies are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, and_, bindparam, delete, insert, select, update

from memory.database import Database, Transaction
from memory.policy.feedback import Verdict
from memory.records import Scope, SearchHit, Source
from memory.schema import reply_sources as table
from memory.stores.scoped import as_stored, delete_scope, in_any_scope, in_scope, rows_of_scope, scope_values

_KEPT = 20  # replies of a conversation

# Made once, since making a statement takes longer than running it.
_OF_CONVERSATION = and_(in_any_scope(table), table.c.conversation == bindparam("of_conversation"))
_NEWEST = (
    select(table.c.exchange_id)
    .where(_OF_CONVERSATION, table.c.exchange_id != bindparam("of_exchange"))
    .order_by(table.c.exchange_id.desc())
    .limit(_KEPT - 1)
)
_MAKE_ROOM = delete(table).where(_OF_CONVERSATION, table.c.exchange_id.not_in(_NEWEST))
_NOTE = insert(table)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySource:
    """Something that stood before the model when it wrote a reply.

    Attributes:
        source: the kind of record.
        scope: where it is kept.
        record_id: its id in its store.
        reason: why it was found, in a few words.
        message_ids: the messages it comes from.
    """

    source: Source
    scope: Scope
    record_id: int
    reason: str
    message_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplySources:
    """What one reply was given.

    Attributes:
        exchange_id: the id of the person's message.
        at: when the reply was written.
        sources: in the order they were shown.
        verdicts: what the person made known of the reply, in order.
    """

    exchange_id: int
    conversation: str
    at: datetime
    sources: tuple[ReplySource, ...]
    verdicts: tuple[Verdict, ...] = ()


class ReplySourceStore:
    """The table of what replies were given.

    Args:
        database: where the rows are.
    """

    name = "reply_sources"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        exchange_id: int,
        conversation: str,
        hits: Sequence[SearchHit],
        at: datetime,
    ) -> None:
        """Note what a reply was given, in place of what was noted for the same exchange.

        Args:
            scope: whose reply.
            tx: the open transaction, that of the reply.
            exchange_id: the id of the person's message.
            conversation: where it was said.
            hits: what the prompt held, in its order; may be empty.
            at: when.
        """
        place = {**scope_values(scope), "of_conversation": conversation, "of_exchange": exchange_id}
        await tx.connection.execute(_MAKE_ROOM, place)
        row = {
            "person": scope.person,
            "audience": scope.audience,
            "exchange_id": exchange_id,
            "conversation": conversation,
            "at": as_stored(at),
            "sources": [_value(scope, hit) for hit in hits],
        }
        await tx.connection.execute(_NOTE, row)

    async def judge(self, scope: Scope, tx: Transaction, *, exchange_id: int, verdicts: Sequence[Verdict]) -> None:
        """Put verdicts on a reply in place of those it has."""
        mine = in_scope(table, scope) & (table.c.exchange_id == exchange_id)
        await tx.connection.execute(update(table).where(mine).values(verdicts=[asdict(one) for one in verdicts]))

    async def remove(self, scope: Scope, tx: Transaction, *, exchange_ids: Collection[int]) -> None:
        """Delete what is noted for the replies to these messages."""
        mine = in_scope(table, scope) & table.c.exchange_id.in_(exchange_ids)
        await tx.connection.execute(delete(table).where(mine))

    async def remove_since(self, tx: Transaction, *, person: str, at: datetime) -> None:
        """Delete what is noted for a person's replies since a moment, in whatever audience."""
        mine = (table.c.person == person) & (table.c.at >= at)
        await tx.connection.execute(delete(table).where(mine))

    async def latest(self, scope: Scope, conversation: str) -> ReplySources | None:
        """What the last reply of a conversation was given; None where there was no reply."""
        query = select(table).where(in_scope(table, scope), table.c.conversation == conversation)
        return await self._first(scope, query.order_by(table.c.exchange_id.desc()).limit(1))

    async def of_exchange(self, scope: Scope, exchange_id: int) -> ReplySources | None:
        """What the reply to a message was given; None where that is not kept."""
        return await self._first(scope, select(table).where(in_scope(table, scope), table.c.exchange_id == exchange_id))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """What is kept of a scope's replies, oldest first."""
        return await rows_of_scope(self._database, table, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete all of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}

    async def _first(self, scope: Scope, query: Select[Any]) -> ReplySources | None:
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else _sources(scope, row)


def _value(scope: Scope, hit: SearchHit) -> dict[str, Any]:
    linked = {} if hit.scope.person == scope.person else {"person": hit.scope.person}
    return {
        **linked,
        "source": hit.source.value,
        "audience": hit.scope.audience,
        "record_id": str(hit.record_id),  # as text: readers of an export may have doubles alone
        "reason": hit.reason,
        "message_ids": [str(message_id) for message_id in hit.message_ids],
    }


def _sources(scope: Scope, row: Row[Any]) -> ReplySources:
    return ReplySources(
        exchange_id=row.exchange_id,
        conversation=row.conversation,
        at=row.at,
        sources=tuple(
            ReplySource(
                source=Source(value["source"]),
                scope=Scope(person=value.get("person", scope.person), audience=value["audience"]),
                record_id=int(value["record_id"]),
                reason=value["reason"],
                message_ids=tuple(map(int, value["message_ids"])),
            )
            for value in row.sources
        ),
        verdicts=tuple(Verdict(**value) for value in row.verdicts or ()),
    )
