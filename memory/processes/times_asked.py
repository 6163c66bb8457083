"""Which times a question asks about: those it names, and those told by what happened then ("before the trip").

When something happened is looked up among facts, messages and the events of the journal, as any other question is.
"Last time" is the conversation that ended last.

Invariant: a look-up that fails leaves the time out, and says so in the log; what the question names stays.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, tzinfo

import structlog

from memory.errors import MemorySystemError
from memory.policy.audience import SHARED_AUDIENCE
from memory.policy.time_expressions import Period, anchors_in, asks_of_last_time, bounded, periods_in
from memory.ports import Clock
from memory.records import Reach, Scope
from memory.stores.facts import FactStore
from memory.stores.journal import JournalStore
from memory.stores.preferences import PreferenceStore
from memory.stores.recall import RecallStore
from memory.stores.search import SearchStore
from memory.stores.sessions import SessionStore

_log = structlog.get_logger(__name__)

_LEAST_STEP = timedelta(milliseconds=1)  # as moments are stored
_SAME_EVENT = 0.5  # the score of what tells of "the trip to Oslo"; of what has only a word of it in common it is less


class TimesAsked:
    """Reads the times of questions.

    Args:
        facts, recall, journal: where it may be said when something happened.
        search: embeds what happened.
        sessions: know when the last conversation was.
        preferences: know the time zone in which a person's days begin.
        clock: says what "yesterday" is.
    """

    def __init__(
        self,
        *,
        facts: FactStore,
        recall: RecallStore,
        journal: JournalStore,
        search: SearchStore,
        sessions: SessionStore,
        preferences: PreferenceStore,
        clock: Clock,
    ) -> None:
        self._facts = facts
        self._recall = recall
        self._journal = journal
        self._search = search
        self._sessions = sessions
        self._preferences = preferences
        self._clock = clock

    async def of(self, reach: Reach, query: str, *, zone: tzinfo | None = None) -> tuple[Period, ...]:
        """The times that a query asks about, in no order.

        Args:
            reach: what may be read.
            query: any text.
            zone: where the person's days begin, where the caller knows it.
        """
        last = await self._last_time(reach) if asks_of_last_time(query) else ()
        anchors, now = anchors_in(query), self._clock.now()
        if zone is None:
            if not anchors and not periods_in(query, now):  # which spares most messages a look at the zone
                return last
            zone = await self._preferences.zone(Scope(person=reach.person, audience=SHARED_AUDIENCE))
        known = {anchor: at for anchor in anchors if (at := await self._happened(reach, anchor.event)) is not None}
        bounds = (bounded(anchor, at.astimezone(zone)) for anchor, at in known.items())
        return (*last, *periods_in(query, now.astimezone(zone)), *bounds)

    async def _last_time(self, reach: Reach) -> tuple[Period, ...]:
        """When the conversation was that ended last; nothing where there was none."""
        try:
            session = await self._sessions.last_ended(reach)
        except MemorySystemError as error:
            _log.warning("event_not_looked_up", error=str(error))
            return ()
        if session is None:
            return ()
        return (Period(start=session.started_at, end=session.last_activity_at + _LEAST_STEP),)

    async def _happened(self, reach: Reach, event: str) -> datetime | None:
        """When that was; None where nothing close enough to it is known."""
        embedded = await self._search.embedded(event)
        try:
            found = await asyncio.gather(
                self._facts.search(reach, event, limit=1, embedded=embedded),
                self._recall.search(reach, event, limit=1, evicted_only=False, embedded=embedded),
                self._journal.events(reach, event, limit=1, embedded=embedded),
            )
        except MemorySystemError as error:
            _log.warning("event_not_looked_up", error=str(error))
            return None
        about = [hit for hits in found for hit in hits if hit.score >= _SAME_EVENT]
        return max(about, key=lambda hit: hit.score).at if about else None
