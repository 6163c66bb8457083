"""Finds distilled entries of both tiers: by where they are filed, by their words, by a link.

Invariant: of the archived ones those that are frozen are found by no search here, and looking changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.engine import Connection

from memory.database import Database
from memory.policy.ranking import rank
from memory.policy.tiers import current_score
from memory.records import Reach, Source, Tier, TierEntry
from memory.schema import entries
from memory.stores.scoped import in_reach
from memory.stores.search import SearchStore
from memory.stores.tier_rows import entry_of_row, filed_within, kept

_OVERFETCH = 20  # most of an old archive is frozen, and left out


class EntryReader:
    """Reads the table of entries. ``WarmStore`` and ``ColdStore`` add the writes.

    Args:
        database: where the rows are.
        search: indexes their texts.
    """

    def __init__(self, database: Database, search: SearchStore) -> None:
        self._database = database
        self._search = search

    async def get(self, reach: Reach, ids: Collection[int]) -> list[TierEntry]:
        """The entries of these ids within reach that are kept, of either tier, frozen or not."""
        return await self._found(select(entries).where(in_reach(entries, reach), entries.c.id.in_(ids), kept()))

    async def within(
        self, reach: Reach, *paths: str, limit: int, now: datetime, tier: Tier | None = Tier.WARM
    ) -> list[TierEntry]:
        """Entries that are filed at one of the paths or below it, the best first; of either tier where none is named.

        Of the cold ones those that are frozen are left out.
        """
        here = or_(*map(filed_within, paths))
        query = select(entries).where(in_reach(entries, reach), here, kept(), _alive(tier, now))
        # The later an entry freezes, the more it is worth at any moment: see ``policy.decay.frozen_at``.
        query = query.order_by(entries.c.frozen_at.desc(), entries.c.id).limit(limit)
        return sorted(_scored(await self._found(query), now), key=lambda entry: (-entry.score, entry.id))

    async def by_words(
        self, reach: Reach, query: str, *, limit: int, now: datetime, tier: Tier | None = None
    ) -> list[TierEntry]:
        """Entries of either tier, or of one, that answer a query best by their words, best first; no frozen ones."""
        look = partial(self._look, reach=reach, query=query, limit=limit, now=now, tier=tier)
        return await self._database.read_together(look)

    async def with_url(self, reach: Reach, fragment: str, *, limit: int) -> list[TierEntry]:
        """Entries of either tier with a URL that holds a text, in whatever case, the best first."""
        wanted = fragment.casefold()
        found = [
            entry for entry in await self._with_urls(reach) if any(wanted in url.casefold() for url in urls(entry))
        ]
        return found[:limit]

    async def urls(self, reach: Reach) -> list[str]:
        """Every URL that an entry of either tier holds, each once, those of the best entries first."""
        return list(dict.fromkeys(url for entry in await self._with_urls(reach) for url in urls(entry)))

    def _look(
        self, connection: Connection, *, reach: Reach, query: str, limit: int, now: datetime, tier: Tier | None
    ) -> list[TierEntry]:
        wide = limit * _OVERFETCH
        scores = self._search.find(connection, reach=reach, source=Source.ENTRY, query=query, limit=wide, embedded=None)
        ranked = rank(scores)
        ids = {one.entry.record_id for one in ranked}
        if not ids:
            return []
        rows = select(entries).where(in_reach(entries, reach), entries.c.id.in_(ids), kept(), _alive(tier, now))
        found = {(one.scope, one.id): one for one in _scored(map(entry_of_row, connection.execute(rows)), now)}
        best = [found[key] for one in ranked if (key := (one.entry.scope, one.entry.record_id)) in found]
        return best[:limit]

    async def _with_urls(self, reach: Reach) -> list[TierEntry]:
        query = select(entries).where(in_reach(entries, reach), kept(), entries.c.metadata["urls"].is_not(None))
        return [
            entry for entry in await self._found(query.order_by(entries.c.score.desc(), entries.c.id)) if urls(entry)
        ]

    async def _found(self, query: Any) -> list[TierEntry]:
        async with self._database.read() as connection:
            return [entry_of_row(row) for row in await connection.execute(query)]


def urls(entry: TierEntry) -> tuple[str, ...]:
    """The URLs of an entry."""
    return tuple(entry.metadata.get("urls", ()))


def _alive(tier: Tier | None, now: datetime) -> Any:
    alive = or_(entries.c.tier == Tier.WARM.value, entries.c.frozen_at > now)
    return alive if tier is None else alive & (entries.c.tier == tier.value)


def _scored(found: Any, now: datetime) -> list[TierEntry]:
    return [replace(entry, score=current_score(entry, now)) for entry in found]
