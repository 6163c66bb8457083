"""Closes what belongs to a place that the bot has left, opens it when the bot comes back, and erases it in the end.

Invariant: what is closed is read by nobody, and kept whole until its time is over.
"""

from __future__ import annotations

from collections.abc import Collection

import structlog

from memory.database import Database
from memory.ports import Clock
from memory.stores.closures import ClosureStore

_log = structlog.get_logger(__name__)


class Places:
    """The servers, teams and private channels that the bot is in or has left.

    Args:
        database: for transactions.
        closures: the closed scopes.
        clock: dates them.
    """

    def __init__(self, database: Database, closures: ClosureStore, clock: Clock) -> None:
        self._database = database
        self._closures = closures
        self._clock = clock

    async def leave(self, place: str) -> int:
        """Close the scopes of a place; how many. See ``ClosureStore.close``."""
        async with self._database.transaction() as tx:
            closed = await self._closures.close(tx, place=place, at=self._clock.now())
        _log.info("place_left", place=place, scopes=closed)
        return closed

    async def enter(self, place: str) -> int:
        """Open the scopes of a place again; how many."""
        async with self._database.transaction() as tx:
            opened = await self._closures.open(tx, places=[place])
        if opened:
            _log.info("place_entered", place=place, scopes=opened)
        return opened

    async def reconcile(self, kind: str, present: Collection[str]) -> None:
        """After a time in which nobody told: close the communities that the bot is in no more, open the others.

        Args:
            kind: ``guild`` or ``team``.
            present: every community of this kind that the bot is in.
        """
        known = await self._closures.communities(kind)
        closed = {place for place in await self._closures.places() if place.startswith(f"{kind}:")}
        for place in sorted(known - closed - set(present)):
            await self.leave(place)
        for place in sorted(closed & set(present)):
            await self.enter(place)
