"""Which posts on a platform show which answer: ids alone, so that a post leads to what it answers.

Invariant: nothing is noted of an answer whose conversation is not to be kept.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, ColumnElement, Table, and_, bindparam, delete, exists, func, insert, or_, select, true

from memory.database import Database, Transaction
from memory.records import InboxItem, Reach, Scope
from memory.schema import answer_posts as table
from memory.schema import inbox, messages, sessions
from memory.stores.scoped import (
    delete_scope,
    in_any_scope,
    in_reach,
    rows_of_scope,
    scope_of_row,
    scope_values,
)

# Made once, since making a statement takes longer than running it. Each step is one row by its whole key: as a join,
# SQLite would begin with all of a person's messages.
_BEGUN_BY = (
    select(inbox.c.message_id)
    .where(
        in_any_scope(inbox),
        inbox.c.conversation == bindparam("of_conversation"),
        inbox.c.platform_id == bindparam("of_message"),
    )
    .scalar_subquery()
)
_KEPT = exists().where(in_any_scope(sessions), sessions.c.id == messages.c.session_id, sessions.c.kept)
_post = func.json_each(bindparam("posts", type_=JSON)).table_valued("value")
_ADD = (
    insert(table)
    .from_select(
        ["person", "audience", "conversation", "platform_id", "exchange_id"],
        select(messages.c.person, messages.c.audience, bindparam("of_conversation"), _post.c.value, messages.c.id)
        .join_from(messages, _post, true())
        .where(in_any_scope(messages), messages.c.id == _BEGUN_BY, _KEPT),
    )
    .prefix_with("OR REPLACE")
)
_REMOVE = delete(table).where(in_any_scope(table), table.c.exchange_id.in_(bindparam("exchanges", expanding=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeKey:
    """An exchange: whose it is, and the id of the person's message that began it."""

    scope: Scope
    exchange_id: int


class AnswerPostStore:
    """The table of posts.

    Args:
        database: where the rows are.
    """

    name = "answer_posts"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, scope: Scope, tx: Transaction, *, item: InboxItem, posts: Sequence[str]) -> None:
        """Note the posts that show the answer to a message.

        Args:
            scope: whose message.
            tx: the open transaction.
            item: the message; where it was deleted meanwhile, or is not to be kept, nothing is noted.
            posts: the platform's ids.
        """
        if posts:
            of_item = {**scope_values(scope), "of_conversation": item.conversation, "of_message": item.platform_id}
            await tx.connection.execute(_ADD, {**of_item, "posts": list(posts)})

    async def exchange_at(self, reach: Reach, channel: str, platform_id: str) -> ExchangeKey | None:
        """The exchange that a post belongs to, as its answer or as what was said; None where it is none of theirs.

        Args:
            reach: whose, and what of it may be read.
            channel: the key of the channel; its threads count as part of it.
            platform_id: the platform's id of the post.
        """
        return await self._first_of((table, messages), reach, channel, platform_id)

    async def answer_at(self, reach: Reach, channel: str, platform_id: str) -> ExchangeKey | None:
        """The exchange whose answer a post shows; None where it shows none of theirs. See ``exchange_at``."""
        return await self._first_of((table,), reach, channel, platform_id)

    async def answered(self, tx: Transaction, channel: str, platform_ids: Collection[str]) -> list[ExchangeKey]:
        """The exchanges whose answers these posts show, of whomever; see ``exchange_at``."""
        query = select(table).where(_posted(table, channel, platform_ids))
        rows = await tx.connection.execute(query)
        return list({ExchangeKey(scope=scope_of_row(row), exchange_id=row.exchange_id): None for row in rows})

    async def remove(self, scope: Scope, tx: Transaction, *, exchange_ids: Collection[int]) -> None:
        """Delete what is noted of the answers to these messages."""
        await tx.connection.execute(_REMOVE, {**scope_values(scope), "exchanges": list(exchange_ids)})

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """What is kept of a scope."""
        return await rows_of_scope(self._database, table, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete all of a scope."""
        return {table.name: await delete_scope(tx, table, scope)}

    async def _first_of(
        self, tables: Sequence[Table], reach: Reach, channel: str, platform_id: str
    ) -> ExchangeKey | None:
        async with self._database.read() as connection:
            for owned in tables:
                query = select(owned).where(in_reach(owned, reach), _posted(owned, channel, [platform_id]))
                row = (await connection.execute(query)).first()
                if row is not None:
                    return ExchangeKey(scope=scope_of_row(row), exchange_id=row.exchange_id)
        return None


def _posted(owned: Table, channel: str, platform_ids: Collection[str]) -> ColumnElement[bool]:
    conversation: Any = owned.c.conversation
    within = or_(conversation == channel, conversation.startswith(f"{channel}:", autoescape=True))
    return and_(owned.c.platform_id.in_(platform_ids), within)
