"""The recall log: every message of every conversation, verbatim, whether it is still in the window or not.

The window is a view of it: the messages without ``evicted_at``. Evicting one changes no text.

Invariant: a message comes out as it went in, part by part, in the order it was stored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import structlog
from sqlalchemy import BindParameter, Select, and_, bindparam, delete, func, insert, or_, select, union_all, update

from memory.database import Database, Transaction
from memory.ids import IdSource
from memory.policy.time_expressions import Period
from memory.ports import EmbeddedQuery
from memory.records import (
    EvictionReason,
    NewMessage,
    Reach,
    Scope,
    SearchHit,
    Session,
    Source,
    StoredMessage,
)
from memory.schema import listed
from memory.schema import messages as table
from memory.stores.message_rows import (
    message_of_export,
    message_of_row,
    row_of_message,
    searchable_pieces,
)
from memory.stores.message_search import MessageSearch
from memory.stores.scoped import (
    as_stored,
    closed_audiences,
    delete_scope,
    in_any_reach,
    in_any_scope,
    in_reach,
    in_scope,
    reach_values,
    restore_rows,
    rows_of_scope,
    scope_values,
)
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

# The window summary covers what left the window by itself, not what was refused, unanswered or imported.
_FOLDED_REASONS = (EvictionReason.THRESHOLD, EvictionReason.HISTORY_LIMIT, EvictionReason.SESSION_END)

# For each message with text that is wanted: tool calls and their results, which have none, stand between.
_LOOKED_AT = 4

_CHANGING = ("tokens", "evicted_at", "eviction_reason", "folded")

# Made once, since making a statement takes longer than running it.
_APPEND = insert(table)
_THESE = table.c.id.in_(bindparam("ids", expanding=True))
_BY_IDS, _BY_IDS_IN_AUDIENCES = (
    select(table).where(in_any_reach(table, in_audiences=named), _THESE) for named in (False, True)
)
_THE_ID: BindParameter[int] = bindparam("of_message")
_THIS = table.c.id == _THE_ID
_EDITS = select(table.c.id, table.c.edited_at).where(in_any_scope(table), table.c.id.in_(listed("ids")))
_IN_THE_WINDOW = and_(
    in_any_scope(table), table.c.conversation == bindparam("of_conversation"), table.c.evicted_at.is_(None)
)
_WINDOW = select(table).where(_IN_THE_WINDOW).order_by(table.c.id)
_LOG = (
    select(table)
    .where(
        in_any_scope(table),
        table.c.session_id.in_(bindparam("sessions", expanding=True)),
        table.c.eviction_reason.is_distinct_from(EvictionReason.REFUSED.value),
    )
    .order_by(table.c.id)
)
_ITS_SESSION = (
    select(table.c.session_id)
    .where(in_any_scope(table), table.c.audience.not_in(closed_audiences(bindparam("of_person"))), _THIS)
    .scalar_subquery()
)
_OF_ITS_SESSION = and_(in_any_scope(table), table.c.session_id == _ITS_SESSION)
_BEFORE = (
    select(table)
    .where(
        _OF_ITS_SESSION, table.c.id < _THE_ID, table.c.eviction_reason.is_distinct_from(EvictionReason.REFUSED.value)
    )
    .order_by(table.c.id.desc())
    .limit(bindparam("most"))
)
_EXCHANGE = union_all(
    select(_BEFORE.subquery()),
    select(table).where(_OF_ITS_SESSION, table.c.id >= _THE_ID, or_(_THIS, table.c.exchange_id == _THE_ID)),
)


class RecallStore:
    """The table of messages.

    Args:
        database: where the rows are.
        search: indexes their texts.
        ids: draws the messages' ids, which give their order.
    """

    name = "recall"

    def __init__(self, database: Database, search: SearchStore, ids: IdSource) -> None:
        self._database = database
        self._search = search
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

    async def window(self, scope: Scope, conversation: str) -> tuple[StoredMessage, ...]:
        """The messages of a conversation that did not leave the window, oldest first."""
        return tuple(await self._found(_WINDOW, {**scope_values(scope), "of_conversation": conversation}))

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

    async def unfolded(self, scope: Scope, conversation: str) -> tuple[StoredMessage, ...]:
        """The messages that left the window and are not yet covered by the window summary, oldest first."""
        query = _of_conversation(scope, conversation).where(
            table.c.folded.is_(False),
            table.c.evicted_at.is_not(None),
            table.c.eviction_reason.in_([reason.value for reason in _FOLDED_REASONS]),
        )
        # Sorted here: asked to sort, SQLite walks every message of the scope in the order of the primary key.
        return tuple(sorted(await self._found(query.order_by(None)), key=lambda message: message.id))

    async def log(self, scope: Scope, session_ids: Collection[int]) -> tuple[StoredMessage, ...]:
        """Everything said in these sessions, oldest first, but for what the model refused to answer."""
        return tuple(await self._found(_LOG, {**scope_values(scope), "sessions": list(session_ids)}))

    async def exchange(
        self, scope: Scope, message_id: int, *, before: int
    ) -> tuple[Sequence[StoredMessage], Sequence[StoredMessage]]:
        """What was said in a session before an exchange, and the exchange itself; nothing where its message is gone.

        Args:
            scope: whose log.
            message_id: of the message that began it.
            before: how many of the newest messages with text before it, at most; none that was refused.

        Returns:
            the messages before, and those of the exchange; both oldest first.
        """
        values = {**scope_values(scope), "of_message": message_id, "most": before * _LOOKED_AT}
        async with self._database.read() as connection:
            rows = (await connection.execute(_EXCHANGE, values)).all()
        newest_first = sorted(rows, key=lambda row: -row.id)
        its_own = [message_of_row(row) for row in newest_first if row.id >= message_id]
        earlier = (message_of_row(row) for row in newest_first if row.id < message_id)
        spoken = [*islice((message for message in earlier if message.text.strip()), before)]
        return spoken[::-1], its_own[::-1]

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

    async def search(
        self,
        reach: Reach,
        query: str,
        *,
        limit: int,
        evicted_only: bool,
        exclude: frozenset[int] = frozenset(),
        embedded: EmbeddedQuery | None = None,
        periods: Sequence[Period] = (),
        floor: bool = False,
        besides: Collection[int] = (),
        forgotten: bool = True,
    ) -> list[SearchHit]:
        """The messages that answer a query best, best first.

        Args:
            reach: what may be read.
            query: any text.
            limit: hits at most.
            evicted_only: leave out what still stands in a window.
            exclude: messages to leave out.
            embedded: the query's vectors, where the caller has them already.
            periods: the times that the query asks about.
            floor: leave out what is not relevant enough to be shown unasked.
            besides: messages that are looked at closely whatever the indexes say of them.
            forgotten: also find messages that said nothing but what the person wants forgotten.
        """
        if embedded is None:
            embedded = await self._search.embedded(query)
        look = MessageSearch(
            search=self._search,
            reach=reach,
            query=query,
            embedded=embedded,
            periods=periods,
            limit=limit,
            evicted_only=evicted_only,
            exclude=exclude,
            floor=floor,
            besides=frozenset(besides),
            forgotten=forgotten,
        )
        return await self._database.read_together(look)

    async def between(self, reach: Reach, start: datetime, end: datetime, *, limit: int) -> list[StoredMessage]:
        """Messages by when they were sent, both ends included, oldest first."""
        query = (
            select(table)
            .where(in_reach(table, reach), table.c.sent_at.between(start, end))
            .order_by(table.c.sent_at, table.c.id)
            .limit(limit)
        )
        return await self._found(query)

    async def get(self, reach: Reach, message_ids: Collection[int]) -> list[StoredMessage]:
        """The messages of these ids within reach, oldest first; unknown ids are left out."""
        query = _BY_IDS if reach.audiences is None else _BY_IDS_IN_AUDIENCES
        found: list[StoredMessage] = []
        for own in reach.of_each:
            found += await self._found(query, {**reach_values(own), "ids": list(message_ids)})
        return sorted(found, key=lambda message: message.id)

    async def unchanged(self, scope: Scope, messages: Sequence[StoredMessage]) -> bool:
        """Whether messages read a while ago are still there, and were not edited since."""
        read = {message.id: message.edited_at for message in messages}
        async with self._database.read() as connection:
            rows = await connection.execute(_EDITS, {**scope_values(scope), "ids": list(read)})
            return {row.id: row.edited_at for row in rows} == read

    async def remove(self, scope: Scope, tx: Transaction, *, message_ids: Collection[int]) -> int:
        """Delete messages for good; how many."""
        mine = in_scope(table, scope) & table.c.id.in_(message_ids)
        removed = (await tx.connection.execute(delete(table).where(mine))).rowcount
        await self._search.remove(scope, tx, source=Source.RECALL, record_ids=list(message_ids))
        return removed

    async def count(self, scope: Scope) -> int:
        """How many messages a scope has."""
        query = select(func.count()).select_from(table).where(in_scope(table, scope))
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one()

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

    async def _found(self, query: Select[Any], values: Mapping[str, Any] | None = None) -> list[StoredMessage]:
        async with self._database.read() as connection:
            return [message_of_row(row) for row in await connection.execute(query, values)]


def _of_conversation(scope: Scope, conversation: str) -> Select[Any]:
    mine = in_scope(table, scope) & (table.c.conversation == conversation)
    return select(table).where(mine).order_by(table.c.id)
