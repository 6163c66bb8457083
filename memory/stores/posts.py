"""Messages as their platforms know them: found by the platform's own ids, rewritten and removed with their answers.

Invariant: what an author edited away or deleted is in no row of the message, of its search entries, or of the tool
calls of its exchange.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, or_, select, update

from memory.database import Transaction
from memory.messages import FilePart, Message, Role, TextPart, parts_to_json
from memory.records import InboxItem, Scope, Session, Source, StoredMessage
from memory.schema import inbox, messages
from memory.stores.inbox import UNFINISHED, item_of_row
from memory.stores.message_rows import message_of_row, searchable_pieces
from memory.stores.recall import RecallStore
from memory.stores.scoped import in_scope
from memory.stores.search import SearchStore


def reworded(message: Message, text: str) -> Message:
    """The message with another text in place of its own. A file stays as long as the text names it."""
    others = (part for part in message.parts if not isinstance(part, TextPart))
    kept = tuple(part for part in others if not isinstance(part, FilePart) or part.name in text)
    return replace(message, parts=(TextPart(text=text), *kept))


class PostStore:
    """Messages and inbox items by the platform's ids.

    Args:
        recall: removes messages.
        search: indexes their texts.
    """

    def __init__(self, recall: RecallStore, search: SearchStore) -> None:
        self._recall = recall
        self._search = search

    async def messages(self, tx: Transaction, channel: str, platform_ids: Collection[str]) -> list[StoredMessage]:
        """The stored messages of these ids, of whomever, oldest first.

        Args:
            tx: the open transaction.
            channel: the key of the channel; its threads count as part of it.
            platform_ids: the platform's ids, unique in the channel.
        """
        query = select(messages).where(_posted(messages, channel, platform_ids)).order_by(messages.c.id)
        return [message_of_row(row) for row in await tx.connection.execute(query)]

    async def waiting(self, tx: Transaction, channel: str, platform_ids: Collection[str]) -> list[InboxItem]:
        """The inbox items of these ids, of whomever, that are not done yet; see ``messages``."""
        query = select(inbox).where(_posted(inbox, channel, platform_ids), inbox.c.state.in_(UNFINISHED))
        return [item_of_row(row) for row in await tx.connection.execute(query)]

    async def rewrite(self, session: Session, tx: Transaction, *, message: StoredMessage) -> None:
        """Put a message in place of the row of its id, and take the tool calls out of its exchange.

        Args:
            session: the session it belongs to; in one that is not to be kept nothing is searchable.
            tx: the open transaction.
            message: as it is now.
        """
        scope = message.scope
        await self._write(tx, message)
        pieces = [(message.id, piece) for piece in searchable_pieces(message)] if session.kept else []
        await self._search.remove(scope, tx, source=Source.RECALL, record_ids=[message.id])
        await self._search.add(scope, tx, source=Source.RECALL, items=pieces)
        empty = []
        for answer in await self._answers(message, tx):
            words = tuple(part for part in answer.message.parts if isinstance(part, TextPart))
            if not words or answer.message.role is Role.USER:
                empty.append(answer.id)
            elif words != answer.message.parts:
                await self._write(tx, replace(answer, message=replace(answer.message, parts=words)))
        await self._recall.remove(scope, tx, message_ids=empty)

    async def remove_exchanges(self, scope: Scope, tx: Transaction, *, exchange_ids: Collection[int]) -> None:
        """Delete messages with everything that answers them, which repeats what they said."""
        query = select(messages.c.id).where(in_scope(messages, scope), messages.c.exchange_id.in_(exchange_ids))
        found = (await tx.connection.execute(query)).scalars().all()
        await self._recall.remove(scope, tx, message_ids=found)

    async def of_exchange(self, scope: Scope, tx: Transaction, *, exchange_id: int) -> list[StoredMessage]:
        """A message and what answers it, as far as they are kept, oldest first."""
        mine = in_scope(messages, scope) & (messages.c.exchange_id == exchange_id)
        query = select(messages).where(mine).order_by(messages.c.id)
        return [message_of_row(row) for row in await tx.connection.execute(query)]

    async def remove(self, scope: Scope, tx: Transaction, *, message_ids: Collection[int]) -> None:
        """Delete messages."""
        await self._recall.remove(scope, tx, message_ids=message_ids)

    async def called_tools(self, message: StoredMessage, tx: Transaction) -> bool:
        """Whether tools were called in answer to a message."""
        return any(answer.message.tool_calls for answer in await self._answers(message, tx))

    async def _answers(self, message: StoredMessage, tx: Transaction) -> list[StoredMessage]:
        """What stands in a message's exchange beside it."""
        found = await self.of_exchange(message.scope, tx, exchange_id=message.id)
        return [other for other in found if other.id != message.id]

    async def _write(self, tx: Transaction, message: StoredMessage) -> None:
        await tx.connection.execute(
            update(messages)
            .where(in_scope(messages, message.scope), messages.c.id == message.id)
            .values(parts=parts_to_json(message.message.parts), tokens=message.tokens, edited_at=message.edited_at)
        )


def _posted(table: Table, channel: str, platform_ids: Collection[str]) -> ColumnElement[bool]:
    conversation: Any = table.c.conversation
    within = or_(conversation == channel, conversation.startswith(f"{channel}:", autoescape=True))
    return and_(table.c.platform_id.in_(platform_ids), within)
