"""Channels and threads: silenced or not, when the bot answers in them, and where it took part.

Invariant: nothing here says anything about a person. A thread is under what holds for its channel, and what was
chosen for the thread itself goes before it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from memory.database import Database, Transaction
from memory.records import ChannelMode, ChannelState
from memory.schema import channels


class ChannelStore:
    """The table of channels.

    Args:
        database: where the rows are.
    """

    name = "channels"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def load(self, conversation: str, parent: str | None = None) -> ChannelState:
        """What holds in a channel or thread.

        Args:
            conversation: its key.
            parent: the key of the channel that a thread hangs on.
        """
        query = select(channels).where(channels.c.conversation.in_({conversation, parent or conversation}))
        async with self._database.read() as connection:
            rows = {row.conversation: row for row in await connection.execute(query)}
        nearest_first = [rows[key] for key in (conversation, parent) if key in rows]
        modes = [row.mode for row in nearest_first if row.mode is not None]
        return ChannelState(
            silenced=any(row.silenced_at is not None for row in nearest_first),
            mode=ChannelMode(modes[0]) if modes else None,
            engaged_at=rows[conversation].engaged_at if conversation in rows else None,
        )

    async def silence(self, tx: Transaction, *, conversation: str, community: str, at: datetime) -> None:
        """Switch the bot off in a channel or thread."""
        await _put(tx, conversation, community, silenced_at=at)

    async def unsilence(self, tx: Transaction, *, conversation: str, parent: str | None) -> None:
        """Switch the bot on again, as in the channel that a thread hangs on."""
        keys = {conversation, parent or conversation}
        await tx.connection.execute(update(channels).where(channels.c.conversation.in_(keys)).values(silenced_at=None))

    async def choose(self, tx: Transaction, *, conversation: str, community: str, mode: ChannelMode) -> None:
        """Say when the bot answers in a channel or thread."""
        await _put(tx, conversation, community, mode=mode.value)

    async def engage(self, tx: Transaction, *, conversation: str, community: str, at: datetime) -> None:
        """Note that the bot takes part in a thread."""
        await _put(tx, conversation, community, engaged_at=at)

    async def forget_engagements(self, tx: Transaction, *, before: datetime) -> None:
        """Let go of the threads in which the bot last took part before a moment."""
        old = channels.c.engaged_at < before
        chosen = channels.c.mode.is_not(None) | channels.c.silenced_at.is_not(None)
        await tx.connection.execute(delete(channels).where(old, ~chosen))
        await tx.connection.execute(update(channels).where(old).values(engaged_at=None))


async def _put(tx: Transaction, conversation: str, community: str, **values: Any) -> None:
    changed = await tx.connection.execute(
        update(channels).where(channels.c.conversation == conversation).values(**values)
    )
    if changed.rowcount == 0:
        await tx.connection.execute(insert(channels).values(conversation=conversation, community=community, **values))
