"""The read side of the recall log: the window, a session's log, an exchange, by date, by words and meaning.

Invariant: messages come out in the order they were stored, but for those of a search, which come best first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import BindParameter, Select, and_, bindparam, func, or_, select, union_all

from memory.database import Database
from memory.policy.time_expressions import Period
from memory.ports import EmbeddedQuery
from memory.records import EvictionReason, Reach, Scope, SearchHit, StoredMessage
from memory.schema import listed
from memory.schema import messages as table
from memory.stores.message_rows import message_of_row
from memory.stores.message_search import MessageSearch
from memory.stores.scoped import (
    closed_audiences,
    in_any_reach,
    in_any_scope,
    in_reach,
    in_scope,
    reach_values,
    scope_values,
)
from memory.stores.search import SearchStore

# The window summary covers what left the window by itself, not what was refused, unanswered or imported.
_FOLDED_REASONS = (EvictionReason.THRESHOLD, EvictionReason.HISTORY_LIMIT, EvictionReason.SESSION_END)

# For each message with text that is wanted: tool calls and their results, which have none, stand between.
_LOOKED_AT = 4

# Made once, since making a statement takes longer than running it.
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


class RecallReader:
    """Reads the table of messages. ``RecallStore`` adds the writes.

    Args:
        database: where the rows are.
        search: indexes their texts.
    """

    def __init__(self, database: Database, search: SearchStore) -> None:
        self._database = database
        self._search = search

    async def window(self, scope: Scope, conversation: str) -> tuple[StoredMessage, ...]:
        """The messages of a conversation that did not leave the window, oldest first."""
        return tuple(await self._found(_WINDOW, {**scope_values(scope), "of_conversation": conversation}))

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

    async def count(self, scope: Scope) -> int:
        """How many messages a scope has."""
        query = select(func.count()).select_from(table).where(in_scope(table, scope))
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one()

    async def _found(self, query: Select[Any], values: Mapping[str, Any] | None = None) -> list[StoredMessage]:
        async with self._database.read() as connection:
            return [message_of_row(row) for row in await connection.execute(query, values)]


def _of_conversation(scope: Scope, conversation: str) -> Select[Any]:
    mine = in_scope(table, scope) & (table.c.conversation == conversation)
    return select(table).where(mine).order_by(table.c.id)
