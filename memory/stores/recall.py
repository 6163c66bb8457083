"""The recall log: every message of every conversation, verbatim, whether it is still in the window or not.

The window is a view of it: the messages without ``evicted_at``. Evicting one changes no text.

Invariant: a message comes out as it went in, part by part, in the order it was stored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import delete, insert, select, update

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.records import EvictionReason, NewMessage, Scope, Session, Source, StoredMessage
from memory.schema import messages as table
from memory.stores.message_rows import message_of_export, row_of_message, searchable_pieces
from memory.stores.recall_reader import RecallReader
from memory.stores.scoped import as_stored, delete_scope, in_scope, restore_rows, rows_of_scope
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

_CHANGING = ("tokens", "evicted_at", "eviction_reason", "folded")

_APPEND = insert(table)  # made once, since making a statement takes longer than running it


class RecallStore(RecallReader):
    """The table of messages.

    Args:
        database: where the rows are.
        search: indexes their texts.
        ids: draws the messages' ids, which give their order.
    """

    name = "recall"

    def __init__(self, database: Database, search: SearchStore, ids: IdSource) -> None:
        super().__init__(database, search)
        self._ids = ids
        self.evicted: Counter[str] = Counter()

    async def append(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        session: Session,
        messages: Sequence[NewMessage],
        exchange_id: int | None = None,
        evicted: EvictionReason | None = None,
        at: datetime,
    ) -> list[StoredMessage]:
        """Store messages in order, and make their texts searchable under their speaker and date.

        Args:
            scope: whose log.
            tx: the open transaction.
            session: the session, and by it the conversation, that they belong to. In one that is not to be kept
                nothing becomes searchable.
            messages: what was said. Text must be free of lone surrogates (``policy.text.clean``).
            exchange_id: the exchange they continue; None where the first of them begins one.
            evicted: why they never enter the window; None where they do.
            at: when they are stored.
        """
        stored: list[StoredMessage] = []
        for new in messages:
            message_id = self._ids.next()
            exchange_id = message_id if exchange_id is None else exchange_id
            stored.append(
                StoredMessage(
                    id=message_id,
                    scope=scope,
                    conversation=session.conversation,
                    session_id=session.id,
                    exchange_id=exchange_id,
                    author=new.author,
                    message=new.message,
                    sent_at=as_stored(new.sent_at),
                    tokens=new.tokens,
                    platform_id=new.platform_id,
                    edited_at=None if new.edited_at is None else as_stored(new.edited_at),
                    evicted_at=None if evicted is None else as_stored(at),
                    eviction_reason=evicted,
                )
            )
        if stored:
            await tx.connection.execute(_APPEND, [row_of_message(message) for message in stored])
            if session.kept:
                items = [(message.id, piece) for message in stored for piece in searchable_pieces(message)]
                await self._search.add(scope, tx, source=Source.RECALL, items=items)
        return stored

    async def evict(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        message_ids: Collection[int],
        reason: EvictionReason,
        at: datetime,
    ) -> int:
        """Take messages out of the window; how many. One that left it already keeps its reason."""
        # Whole rows, by their key: for the conversation alone SQLite would walk an index over all of the scope.
        named = select(table).where(in_scope(table, scope), table.c.id.in_(message_ids))
        conversations = {row.conversation for row in await tx.connection.execute(named)}
        in_window = in_scope(table, scope) & table.c.conversation.in_(conversations) & table.c.evicted_at.is_(None)
        rows = await tx.connection.execute(select(table.c.id, table.c.tokens).where(in_window))
        tokens = {row.id: row.tokens for row in rows}
        leaving = in_scope(table, scope) & table.c.id.in_(tokens.keys() & set(message_ids))
        await tx.connection.execute(update(table).where(leaving).values(evicted_at=at, eviction_reason=reason.value))
        staying = [count for message_id, count in tokens.items() if message_id not in message_ids]
        evicted = len(tokens) - len(staying)
        if evicted:
            tx.after_commit(lambda: self.evicted.update({reason.value: evicted}))
            tx.after_commit(
                lambda: _log.info(
                    "eviction",
                    reason=reason.value,
                    messages=evicted,
                    messages_left=len(staying),
                    tokens_before=sum(tokens.values()),
                    tokens_after=sum(staying),
                )
            )
        return evicted

    async def mark_folded(self, scope: Scope, tx: Transaction, *, message_ids: Collection[int]) -> None:
        """Note that the window summary covers these messages."""
        await tx.connection.execute(
            update(table).where(in_scope(table, scope), table.c.id.in_(message_ids)).values(folded=True)
        )

    async def unfold(self, scope: Scope, tx: Transaction, *, session_ids: Collection[int]) -> None:
        """Note that the window summary covers nothing of these sessions any more."""
        await tx.connection.execute(
            update(table).where(in_scope(table, scope), table.c.session_id.in_(session_ids)).values(folded=False)
        )

    async def remove(self, scope: Scope, tx: Transaction, *, message_ids: Collection[int]) -> int:
        """Delete messages for good; how many."""
        mine = in_scope(table, scope) & table.c.id.in_(message_ids)
        removed = (await tx.connection.execute(delete(table).where(mine))).rowcount
        await self._search.remove(scope, tx, source=Source.RECALL, record_ids=list(message_ids))
        return removed

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every message of a scope, oldest first."""
        rows = await rows_of_scope(self._database, table, scope)
        return [{**row, "parts": json.loads(row["parts"])} for row in rows]

    async def restore(
        self,
        scope: Scope,
        tx: Transaction,
        rows: Sequence[Mapping[str, Any]],
        *,
        unkept_sessions: Collection[int] = (),
    ) -> int:
        """Put back rows of an export, and make their texts searchable; how many were not there.

        Args:
            scope: whose log.
            tx: the open transaction.
            rows: as ``export`` gave them.
            unkept_sessions: sessions of which nothing becomes searchable.

        Raises:
            InvalidInput: another message has the id of one of them.
        """
        exported = [message_of_export(scope, row) for row in rows]
        new = await restore_rows(tx, table, scope, list(map(row_of_message, exported)), changing=_CHANGING)
        added = {row["id"] for row in new if row["session_id"] not in unkept_sessions}
        searchable = {message.id: message for message in exported if message.id in added}.values()
        items = [(message.id, piece) for message in searchable for piece in searchable_pieces(message)]
        await self._search.add(scope, tx, source=Source.RECALL, items=items)
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every message of a scope (the search store erases its entries); rows deleted per table."""
        return {table.name: await delete_scope(tx, table, scope)}
