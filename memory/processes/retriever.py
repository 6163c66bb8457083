"""Finds what known facts, past conversations and stored documents have to say about a message.

The candidates of all sources are found together, those of full text while the query is being embedded. Then all are
looked at in one trip to a thread, one source after the other: threads of their own would wait for one another's turn
in Python, and what facts are found says which messages to look at.

Invariant: nothing below the relevance floor, nothing that stands in the window already, nothing twice. A source that
fails is reported as failing, never as empty, and so is one that did not answer in time; what was found by then counts.
A message that said nothing but what the person wants forgotten answers nothing: only their own search finds it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import TypeVar

import structlog

from memory.database import Database
from memory.errors import MemorySystemError
from memory.policy.audience import reach_of_person
from memory.policy.histogram import Histogram
from memory.policy.merging import merged
from memory.policy.relevance import asks, has_content
from memory.policy.time_expressions import Period
from memory.ports import Clock, EmbeddedQuery
from memory.processes.times_asked import TimesAsked
from memory.processes.tree_search import Routes, TreeSearch
from memory.processes.wanted import Wanted
from memory.records import Candidates, Reach, Scope, SearchHit, Source
from memory.stores.archival import ArchivalStore
from memory.stores.episodes import EpisodeStore
from memory.stores.facts import FactStore
from memory.stores.passage_use import Trace
from memory.stores.procedures import ProcedureStore
from memory.stores.recall import RecallStore
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

# A question is in its beginning or its end; the embedder reads 256 tokens at most.
_QUERY_CHARACTERS = 1_000

# A search takes some hundredths of a second; what takes this long would keep the person waiting for nothing.
_DEADLINE_SECONDS = 5.0

_Read = TypeVar("_Read")
_Search = Callable[..., Awaitable[list[SearchHit]]]

_LATELY = timedelta(hours=1)

# Its words hardly matter: without a floor, whatever is nearest is found, and its rows are read.
_TRIAL_QUERY = "What did I say today?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What was found.

    Attributes:
        hits: best first.
        failed: the sources that could not be searched, of which it is not known what they hold.
    """

    hits: tuple[SearchHit, ...] = ()
    failed: tuple[Source, ...] = ()


class Retriever:
    """Searches every source at once for one message.

    Args:
        database: where all of it is.
        recall: the verbatim log.
        archival: the documents.
        facts: what is lastingly true.
        episodes: what happened.
        procedures: how things are to be done.
        tree_search: finds what is filed in categories.
        search: embeds the query, once for all sources.
        times: reads which times a query asks about.
        clock: says when a source failed.

    Attributes:
        seconds: how long retrievals took so far.
    """

    def __init__(
        self,
        *,
        database: Database,
        recall: RecallStore,
        archival: ArchivalStore,
        facts: FactStore,
        episodes: EpisodeStore,
        procedures: ProcedureStore,
        tree_search: TreeSearch,
        search: SearchStore,
        times: TimesAsked,
        clock: Clock,
    ) -> None:
        self._database = database
        self._recall = recall
        self._archival = archival
        self._facts = facts
        self._episodes = episodes
        self._procedures = procedures
        self._tree_search = tree_search
        self._search = search
        self._times = times
        self._clock = clock
        self._failed_at: dict[Source, datetime] = {}
        self.seconds = Histogram()

    async def retrieve(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        *,
        wanted: Wanted,
        exclude: frozenset[int] = frozenset(),
        floor: bool = True,
        embedding: Awaitable[EmbeddedQuery] | None = None,
        worded: Candidates | None = None,
        zone: tzinfo | None = None,
    ) -> Retrieved:
        """What answers a message best, of all sources together.

        Args:
            scope: the scope of the conversation.
            reach: what it may read.
            query: the person's message.
            wanted: how much of each source.
            exclude: messages that stand in the window already.
            floor: leave out what is not relevant enough to be shown unasked.
            embedding: the query's vectors, from ``compared``, where the caller has begun with that.
            worded: what ``worded`` gave for the same, where the caller asked already.
            zone: where the person's days begin, where the caller knows it.
        """
        if wanted.nothing or (floor and not has_content(query)):
            return Retrieved()
        began = time.perf_counter()
        query = shortened(query)
        begun = asyncio.ensure_future(self.compared(query, wanted) if embedding is None else embedding)
        try:
            if worded is None:
                worded = await _in_time(self._search.worded(reach, query, wanted.candidates(exclude)))
            periods = await self._times.of(reach, query, zone=zone)
            embedded = await begun
        finally:
            begun.cancel()
        routes = None
        if wanted.entries and self._tree_search.asks_a_model:  # which takes longer than anything else here
            routes = await self._tree_search.routes(scope, reach, query, unasked=floor)
        found: dict[Source, list[SearchHit]] = {}
        searches = self._searches(
            scope, reach, query, wanted, found, exclude=exclude, floor=floor, periods=periods, routes=routes
        )
        if worded is not None:
            look_up = partial(self._search.looked_up, worded, embedded)
            await self._search_all(look_up, searches, found, facts_are_filed=wanted.by_tree_alone)
        answers = dict(found)
        failed = tuple(source for source in searches if source not in answers)
        self._failed_at |= dict.fromkeys(failed, self._clock.now())
        hits = merged([hit for hits in answers.values() for hit in hits], wanted.most, unasked=floor)
        seconds = time.perf_counter() - began
        self.seconds = self.seconds.with_duration(seconds)
        _log.info(
            "memory_retrieval",
            seconds=round(seconds, 3),
            facts=sum(hit.source is Source.FACT for hit in hits),
            hits=len(hits),
            vector=embedded.vector is not None,
            failed=[source.value for source in failed],
        )
        return Retrieved(hits=hits, failed=failed)

    async def messages(self, reach: Reach, query: str, *, limit: int, evicted_only: bool) -> list[SearchHit]:
        """The messages that answer a query best, best first, as a turn finds them: by what was learned from them, too.

        Args:
            reach: what may be read.
            query: any text.
            limit: hits at most.
            evicted_only: leave out what still stands in a window.

        Raises:
            StorageError: the database cannot be used.
        """
        query = shortened(query)
        limits = Wanted(facts=limit).candidates() | {Source.RECALL: limit}
        embedded, worded, periods = await asyncio.gather(
            self.embed(query), self._search.worded(reach, query, limits), self.periods(reach, query)
        )

        async def search() -> list[SearchHit]:
            known = await self._search.looked_up(worded, embedded)
            facts = await self._facts.search(reach, query, limit=limit, embedded=known)
            return await self._recall.search(
                reach,
                query,
                limit=limit,
                evicted_only=evicted_only,
                embedded=known,
                periods=periods,
                besides=_learned_from(facts),
                forgotten=False,
            )

        return await self._database.read_in_one_trip(search)

    def failed_lately(self) -> Mapping[Source, datetime]:
        """The sources that could not be searched at times within the last hour, and when they last could not."""
        since = self._clock.now() - _LATELY
        return {source: at for source, at in self._failed_at.items() if at >= since}

    async def check(self) -> tuple[Source, ...]:
        """Search every source once in the memory of whoever spoke last, and return the sources that fail.

        Raises:
            StorageError: the database cannot be used.
        """
        scope = await self._search.newest_scope()
        if scope is None:
            return ()
        wanted = Wanted(hits=1, facts=1, episodes=1, procedures=1, entries=1)
        reach = reach_of_person(scope.person)
        return (await self.retrieve(scope, reach, _TRIAL_QUERY, wanted=wanted, floor=False)).failed

    def _searches(
        self,
        scope: Scope,
        reach: Reach,
        query: str,
        wanted: Wanted,
        found: Mapping[Source, Sequence[SearchHit]],
        *,
        periods: Sequence[Period],
        exclude: frozenset[int],
        floor: bool,
        routes: Routes | None,
    ) -> dict[Source, _Search]:
        """The searches to make, by source, in their order. A new source gets its line here.

        Each is called with the query as ``embedded``, of which the candidates are known.

        Args:
            found: what was found when a search begins.
            routes: the categories to look into where a model chose them.
        """
        trace = Trace.LATER if floor else Trace.NEVER
        of_days = periods if not floor or asks(query) else ()
        searches: dict[Source, _Search] = {}
        if limit := wanted.facts:
            searches[Source.FACT] = partial(self._facts.search, reach, query, limit=limit, floor=floor)
        if limit := wanted.hits:
            searches[Source.RECALL] = lambda embedded: self._recall.search(
                reach,
                query,
                # A message whose fact is shown leaves its place to another.
                limit=wanted.hits + (len(found.get(Source.FACT, ())) if floor else 0),
                evicted_only=False,
                exclude=exclude,
                embedded=embedded,
                periods=periods,
                floor=floor,
                besides=_learned_from(found.get(Source.FACT, ())),
                forgotten=not floor,
            )
            searches[Source.ARCHIVAL] = partial(
                self._archival.search, scope, reach, query, limit=limit, trace=trace, floor=floor
            )
        if limit := wanted.episodes:
            searches[Source.EPISODE] = partial(
                self._episodes.search, reach, query, limit=limit, periods=of_days, floor=floor
            )
        if limit := wanted.procedures:
            searches[Source.PROCEDURE] = partial(self._procedures.applicable, reach, query, limit=limit, floor=floor)
        if wanted.entries:
            searches[Source.ENTRY] = lambda embedded: self._tree_search.filed(
                scope,
                reach,
                query,
                limit=wanted.entries,
                routes=routes,
                words=wanted.by_tree_alone,
                unasked=floor,
                exclude=exclude,
            )
        return searches

    async def _search_all(
        self,
        look_up: Callable[[], Awaitable[EmbeddedQuery]],
        searches: Mapping[Source, _Search],
        found: dict[Source, list[SearchHit]],
        *,
        facts_are_filed: bool,
    ) -> None:
        """Search one source after the other; ``found`` fills with what each found, those that fail left out.

        Args:
            facts_are_filed: the search for entries finds facts, too, and is made where there are facts alone.
        """

        async def search_all() -> None:
            embedded = await look_up()
            held = set(embedded.candidates.found) if embedded.candidates else set()
            if facts_are_filed and Source.FACT in held:
                held.add(Source.ENTRY)
            for source, search in searches.items():
                try:
                    found[source] = await search(embedded=embedded) if source in held else []
                except MemorySystemError as error:
                    _log.warning("search_failed", source=source.value, error=str(error))

        await _in_time(self._database.read_in_one_trip(search_all))

    async def periods(self, reach: Reach, query: str) -> tuple[Period, ...]:
        """The times that a query asks about."""
        return await self._times.of(reach, shortened(query))

    async def worded(
        self, reach: Reach, query: str, *, wanted: Wanted, exclude: frozenset[int] = frozenset()
    ) -> Candidates | None:
        """What full text brings up for a message, ahead of ``retrieve``, which takes the same arguments.

        Returns:
            None where nothing is wanted, and (with a log line) where it fails, so that ``retrieve`` tries again.
        """
        if wanted.nothing:
            return None
        try:
            return await self._search.worded(reach, shortened(query), wanted.candidates(exclude))
        except MemorySystemError as error:
            _log.warning("search_failed", error=str(error))
            return None

    async def compared(self, query: str, wanted: Wanted) -> EmbeddedQuery:
        """The query's vectors where meanings are to be compared, else none."""
        return EmbeddedQuery() if wanted.nothing or wanted.by_tree_alone else await self.embed(query)

    async def embed(self, query: str) -> EmbeddedQuery:
        """The query's vectors, or none (with a log line) where the embedder fails: full text still answers."""
        return await self._search.embedded(shortened(query))


async def _in_time(reading: Awaitable[_Read]) -> _Read | None:
    """What was read; None, and a line in the log, where that fails or takes too long."""
    try:
        async with asyncio.timeout(_DEADLINE_SECONDS):
            return await reading
    except TimeoutError:
        _log.warning("search_failed", error=f"no answer within {_DEADLINE_SECONDS} seconds")
    except MemorySystemError as error:
        _log.warning("search_failed", error=str(error))
    return None


def _learned_from(facts: Sequence[SearchHit]) -> frozenset[int]:
    """The messages that facts were learned from."""
    return frozenset(message_id for fact in facts for message_id in fact.message_ids)


def shortened(query: str) -> str:
    """The beginning and the end of an overlong query."""
    if len(query) <= 2 * _QUERY_CHARACTERS:
        return query
    return f"{query[:_QUERY_CHARACTERS]}\n{query[-_QUERY_CHARACTERS:]}"
