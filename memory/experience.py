"""What the agent does with episodes and procedures in a conversation, by its tools.

Invariant: what the agent writes down here is a proposal, which nobody follows before it is approved.
"""

from __future__ import annotations

from datetime import date, datetime, time

from memory.errors import InvalidInput
from memory.exchange import Exchange, Place
from memory.policy.time_expressions import Period
from memory.records import HowTo, Procedure, SearchHit
from memory.saving import saving
from memory.services import Services


class Experience:
    """Episodes and procedures as the agent uses them.

    Args:
        place: the conversation.
        services: every store and process.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self._place = place
        self._services = services
        self._stores = services.stores

    async def episodes(
        self, query: str, *, first: date | None = None, last: date | None = None, limit: int
    ) -> list[SearchHit]:
        """Earlier sessions: the most like a query, and those of the days it names.

        Args:
            query: any text.
            first, last: only those of these days and the days between them; one alone means that day.
            limit: how many at most.
        """
        days = await self._days(first, last)
        periods = [days] if days else await self._services.retriever.periods(self._place.reach, query)
        found = await self._stores.episodes.search(
            self._place.reach,
            query,
            limit=limit,
            periods=periods,
            embedded=await self._services.retriever.embed(query),
            within=days is not None,
        )
        zone = await self._stores.preferences.zone(self._place.scope)
        return [hit.seen_from(zone) for hit in found]

    async def propose(self, exchange: Exchange, how_to: HowTo) -> Procedure:
        """Write a procedure down, to be approved.

        Raises:
            InvalidInput: it lacks a part, or there is one of that name already.
            NotKept, PersonErased: nothing may be kept.
        """
        async with saving(self._services, exchange) as tx:
            change = exchange.by_agent("save_procedure")
            at = self._services.clock.now()
            proposed = await self._stores.procedures.propose(self._place.scope, tx, how_to=how_to, change=change, at=at)
        if proposed is None:
            raise InvalidInput(
                f"There is or was a procedure {how_to.name!r} already. The person can change it with "
                "/mydata procedures; choose another name for another one."
            )
        return proposed

    async def _days(self, first: date | None, last: date | None) -> Period | None:
        start, end = first or last, last or first
        if start is None or end is None:
            return None
        zone = await self._stores.preferences.zone(self._place.scope)
        return Period(
            start=datetime.combine(min(start, end), time.min, tzinfo=zone),
            end=datetime.combine(max(start, end), time.max, tzinfo=zone),
        )
