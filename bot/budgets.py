"""How much a person, and a whole server or workspace, may use in a day.

The counts are durable. The day is that of the installation's time zone.

Invariant: a turn is admitted and counted in one transaction, so that no two can take the last place. Nothing is
counted of what is not admitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

import structlog

from bot import replies
from bot.chat import Conversation, IncomingMessage
from memory.database import Transaction
from memory.policy.audience import scope_of
from memory.policy.limits import Limit, day_of, next_day, reached, strictest
from memory.ports import Clock
from memory.records import Scope, Used
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)


class NotAdmitted(Exception):
    """A limit leaves no room for a turn; the text is what to tell whoever asked for it."""


class Budgets:
    """Counts turns and tokens.

    Args:
        system: keeps the counts.
        clock: says which day it is.
        zone: where the day begins.
        limits: the operator's; what is not in it is not limited.
        owners: persons for whom nothing is limited.
        admins_exempt: whether nothing is limited for the admins of a server or workspace.
    """

    def __init__(
        self,
        *,
        system: MemorySystem,
        clock: Clock,
        zone: ZoneInfo,
        limits: Mapping[Limit, int] | None = None,
        owners: frozenset[str] = frozenset(),
        admins_exempt: bool = True,
    ) -> None:
        self._system = system
        self._clock = clock
        self._zone = zone
        self._limits = limits or {}
        self._owners = owners
        self._admins_exempt = admins_exempt

    async def admit(self, tx: Transaction, message: IncomingMessage) -> None:
        """Count a turn, if there is room for it.

        Args:
            tx: the open transaction, in which it is known that the message is still to be answered.
            message: what was said.

        Raises:
            NotAdmitted: there is none.
        """
        await self.check(tx, message)
        community, day = community_of(message.conversation, message.person), self._day(self._clock.now())
        await self._system.stores.usage.add(self._scope(message), tx, community=community, day=day, used=Used(turns=1))

    async def check(self, tx: Transaction, message: IncomingMessage) -> None:
        """The same without counting it, before anything is fetched for the turn."""
        now = self._clock.now()
        scope, community, day = self._scope(message), community_of(message.conversation, message.person), self._day(now)
        stores = self._system.stores
        limits = {} if self._is_exempt(message) else strictest(self._limits, await stores.limits.of(community))
        full = await self._reached(scope, tx, limits=limits, community=community, day=day) if limits else None
        if full is not None:
            _log.info("limit_reached", limit=full, conversation=message.conversation.key)
            raise NotAdmitted(replies.limit_reached(full, limits[full], resets=next_day(now, self._zone)))

    async def spend(self, tx: Transaction, message: IncomingMessage, tokens: int) -> None:
        """Count the tokens of an admitted turn, in the transaction in which it ends."""
        day, community = self._day(self._clock.now()), community_of(message.conversation, message.person)
        used = Used(tokens=tokens)
        await self._system.stores.usage.add(self._scope(message), tx, community=community, day=day, used=used)

    async def _reached(
        self, scope: Scope, tx: Transaction, *, limits: Mapping[Limit, int], community: str | None, day: str
    ) -> Limit | None:
        usage = self._system.stores.usage
        of_community = Used() if community is None else await usage.of_community(tx, community=community, day=day)
        return reached(limits, person=await usage.of_person(scope, tx, day=day), community=of_community)

    def _is_exempt(self, message: IncomingMessage) -> bool:
        return message.person in self._owners or (self._admins_exempt and message.from_admin)

    def _scope(self, message: IncomingMessage) -> Scope:
        return scope_of(message.person, message.conversation.audience, self._system.parameters.sharing)

    def _day(self, now: datetime) -> str:
        return day_of(now, self._zone)


def community_of(where: Conversation, person: str) -> str | None:
    """The server or workspace that a conversation counts for; a Slack direct chat counts for its workspace."""
    if where.is_direct:
        return f"team:{person.split(':')[1]}" if person.startswith("slack:") else None
    kind = where.audience.partition(":")[0]
    return where.community or (where.audience if kind in ("guild", "team") else None)
