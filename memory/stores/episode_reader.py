"""The read side of episodes: by likeness, by the days that a query asks about, and one after the other.

Invariant: a forgotten episode is returned only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, or_, select
from sqlalchemy.engine import Connection

from memory.database import Database
from memory.policy.ranking import RankedEntry, rank
from memory.policy.relevance import above_floor
from memory.policy.time_expressions import Period
from memory.ports import EmbeddedQuery
from memory.records import Episode, Reach, SearchHit, Source
from memory.schema import episodes as table
from memory.stores.episode_rows import episode_of_row, hit_of_episode
from memory.stores.scoped import by_keys, in_reach, keys_of
from memory.stores.search import SearchStore

_OVERFETCH = 2  # what is forgotten or of another day is still found, and left out
_FOUND_BY_KEYS = by_keys(table).where(table.c.forgotten_at.is_(None))
_STANDING = _FOUND_BY_KEYS.with_only_columns(table.c.id)  # of dozens of candidates, whose stories are long


class EpisodeReader:
    """Reads the table of episodes. ``EpisodeStore`` adds the writes.

    Args:
        database: where the rows are.
        search: indexes their texts.
    """

    def __init__(self, database: Database, search: SearchStore) -> None:
        self._database = database
        self._search = search

    async def search(
        self,
        reach: Reach,
        query: str,
        *,
        limit: int = 3,
        periods: Sequence[Period] = (),
        embedded: EmbeddedQuery | None = None,
        floor: bool = False,
        within: bool = False,
    ) -> list[SearchHit]:
        """The episodes most like a query, and those of the days it asks about, best first.

        Args:
            reach: what may be read.
            query: any text.
            limit: hits at most.
            periods: the times that the query asks about; an episode of them counts more, and is found by that alone.
            embedded: the query's vectors, where the caller has them already.
            floor: leave out what is not relevant enough to be shown unasked.
            within: leave out what is not of these times.
        """
        if embedded is None:
            embedded = await self._search.embedded(query)
        look = partial(
            self._look,
            reach=reach,
            query=query,
            limit=limit,
            periods=periods,
            embedded=embedded,
            floor=floor,
            within=within,
        )
        return await self._database.read_together(look)

    def _look(
        self,
        connection: Connection,
        *,
        reach: Reach,
        query: str,
        limit: int,
        periods: Sequence[Period],
        embedded: EmbeddedQuery | None,
        floor: bool,
        within: bool,
    ) -> list[SearchHit]:
        entries = self._search.find(
            connection, reach=reach, source=Source.EPISODE, query=query, limit=limit * _OVERFETCH, embedded=embedded
        )
        standing = set(connection.execute(_STANDING, keys_of(entries)).scalars()) if entries else set()
        ranked = rank([entry for entry in entries if entry.record_id in standing])
        if floor:
            ranked = above_floor(ranked, query, floors=self._search.floors(Source.EPISODE))
        relevant = {one.entry.record_id: one for one in (ranked if periods else ranked[:limit])}
        episodes = {episode.id: episode for episode in _of_periods(connection, reach, periods, limit)}
        episodes |= _told(connection, relevant.values())
        hits = []
        for episode in episodes.values():
            of_the_day = _is_of_the_day(episode, periods) if periods else None
            if of_the_day or not within:
                hits.append(hit_of_episode(episode, relevant.get(episode.id), of_the_day=of_the_day))
        return sorted(hits, key=lambda hit: (-hit.score, -hit.record_id))[:limit]

    async def between(self, reach: Reach, start: datetime, end: datetime, *, limit: int = 20) -> list[Episode]:
        """Episodes that took place between two moments, both included, oldest first."""
        query = select(table).where(in_reach(table, reach), not_forgotten(), _overlaps(start, end))
        return await self._episodes(query.order_by(table.c.started_at, table.c.id).limit(limit))

    async def history(self, reach: Reach, *, limit: int = 10, forgotten: bool = False) -> list[Episode]:
        """The newest episodes, newest first.

        Args:
            forgotten: take the forgotten ones too.
        """
        query = select(table).where(in_reach(table, reach))
        query = query if forgotten else query.where(not_forgotten())
        return await self._episodes(query.order_by(table.c.started_at.desc(), table.c.id.desc()).limit(limit))

    async def get(self, reach: Reach, episode_ids: Collection[int]) -> list[Episode]:
        """The episodes of these ids within reach, forgotten or not; unknown ids are left out."""
        query = select(table).where(in_reach(table, reach), table.c.id.in_(episode_ids))
        return await self._episodes(query.order_by(table.c.id))

    async def _episodes(self, query: Select[Any]) -> list[Episode]:
        async with self._database.read() as connection:
            return [episode_of_row(row) for row in await connection.execute(query)]


def _told(connection: Connection, found: Collection[RankedEntry]) -> dict[int, Episode]:
    """The episodes that a search found, by their ids."""
    rows = connection.execute(_FOUND_BY_KEYS, keys_of(one.entry for one in found)).all() if found else ()
    return {row.id: episode_of_row(row) for row in rows}


def _of_periods(connection: Connection, reach: Reach, periods: Sequence[Period], limit: int) -> list[Episode]:
    if not periods:
        return []
    inside = or_(*(_overlaps(period.start, period.end, end_included=False) for period in periods))
    query = select(table).where(in_reach(table, reach), not_forgotten(), inside)
    rows = connection.execute(query.order_by(table.c.importance.desc(), table.c.id.desc()).limit(limit)).all()
    return [episode_of_row(row) for row in rows]


def _is_of_the_day(episode: Episode, periods: Sequence[Period]) -> bool:
    return any(episode.started_at < period.end and episode.ended_at >= period.start for period in periods)


def not_forgotten() -> ColumnElement[bool]:
    """The episodes that may be found."""
    return table.c.forgotten_at.is_(None)


def _overlaps(start: datetime, end: datetime, *, end_included: bool = True) -> ColumnElement[bool]:
    begun = table.c.started_at <= end if end_included else table.c.started_at < end
    return and_(begun, table.c.ended_at >= start)
