"""The last message that was seen in each channel, so that what was missed can be asked for.

Under a platform's own name stands when the bot was there last, with no message.

Invariant: ids and times alone; a channel that has been silent for long is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select

from memory.database import Database, Transaction
from memory.schema import last_seen as table


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The last message seen in a channel.

    Attributes:
        message: the platform's id of it.
        at: when it was said.
    """

    message: str
    at: datetime


class LastSeenStore:
    """The table of channels.

    Args:
        database: where the rows are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def since(self, moment: datetime) -> dict[str, Seen]:
        """The channels in which something was said since a moment, the latest first."""
        query = select(table).where(table.c.at >= moment).order_by(table.c.at.desc())
        async with self._database.read() as connection:
            return {row.channel: Seen(message=row.message, at=row.at) for row in await connection.execute(query)}

    async def of(self, channel: str) -> Seen | None:
        """What was seen last in a channel; None where nothing was."""
        query = select(table).where(table.c.channel == channel)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).first()
        return None if row is None else Seen(message=row.message, at=row.at)

    async def note(self, tx: Transaction, seen: Mapping[str, Seen]) -> None:
        """Note the last message of some channels, by channel."""
        await tx.connection.execute(delete(table).where(table.c.channel.in_(seen)))
        rows = [{"channel": channel, "message": one.message, "at": one.at} for channel, one in seen.items()]
        if rows:
            await tx.connection.execute(insert(table), rows)

    async def prune(self, tx: Transaction, *, before: datetime) -> None:
        """Forget the channels that have been silent since a moment."""
        await tx.connection.execute(delete(table).where(table.c.at < before))
