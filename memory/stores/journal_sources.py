"""Takes out of the journal what was made of a message once its author edited or deleted it.

Invariant: no line, and no digest of lines, that was made of the message stays; lines that such a digest stood for are
in sight again, but for those of the message.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import and_, delete, or_, select, update

from memory.database import Transaction
from memory.records import JournalCategory, Scope, Source
from memory.schema import journal_entries as table
from memory.schema import messages
from memory.stores.scoped import in_scope
from memory.stores.search import SearchStore

_ARCHIVED = ("archived_at", "archive_reason", "archived_in", "archived_by", "replaced_by")


class JournalSources:
    """The journal by the messages that it comes from.

    Args:
        search: where its lines are searchable.
    """

    def __init__(self, search: SearchStore) -> None:
        self._search = search

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete what came from a message: events, results of tools, and what tells of it since it left the window."""
        left_window = select(messages.c.session_id).where(
            in_scope(messages, scope), messages.c.id == source_message, messages.c.evicted_at.is_not(None)
        )
        tells_of_it = and_(table.c.category == JournalCategory.CONVERSATION.value, table.c.session_id.in_(left_window))
        made = or_(table.c.source_message == source_message, tells_of_it)
        query = select(table.c.id).where(in_scope(table, scope), made)
        gone = set((await tx.connection.execute(query)).scalars())
        gone |= await self._digests_of(scope, tx, gone)
        mine = in_scope(table, scope)
        in_sight = dict.fromkeys(_ARCHIVED)
        await tx.connection.execute(update(table).where(mine, table.c.replaced_by.in_(gone)).values(in_sight))
        await tx.connection.execute(delete(table).where(mine, table.c.id.in_(gone)))
        await self._search.remove(scope, tx, source=Source.JOURNAL, record_ids=gone)

    async def _digests_of(self, scope: Scope, tx: Transaction, entry_ids: Collection[int]) -> set[int]:
        """The digests that stand for entries, and those that stand for these."""
        found: set[int] = set()
        wanted = set(entry_ids)
        while wanted:
            query = select(table.c.replaced_by).where(
                in_scope(table, scope), table.c.id.in_(wanted), table.c.replaced_by.is_not(None)
            )
            wanted = set((await tx.connection.execute(query)).scalars()) - found
            found |= wanted
        return found
