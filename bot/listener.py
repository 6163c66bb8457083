"""Decides about everything that the adapters hear: what is for the bot, what is only overheard, what is neither.

Invariant: a thread that the bot answers in is known as one before the message is handed over, so that it is followed
after a restart too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from bot.chat import IncomingMessage, OnMessage
from bot.refusals import Refusals
from bot.speaking import Addressed, Heard, Speaker, SpeakingRules, Verdict, verdict
from memory.channel_talk import Line
from memory.policy.audience import scope_of
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.ports import Clock
from memory.records import ChannelState
from memory.system import MemorySystem

IsForUs = Callable[[Heard], Awaitable[bool]]
"""Whether something that was said is to be answered."""

_log = structlog.get_logger(__name__)

# A thread's engagement is noted anew when the last note is older than this.
_ENGAGED_ANEW = timedelta(days=1)


class Listener:
    """Listens for one installation.

    Args:
        system: knows the channels.
        rules: what the operator chose.
        clock: where the time comes from.
        refusals: the channels that take no answers for now.
    """

    def __init__(self, *, system: MemorySystem, rules: SpeakingRules, clock: Clock, refusals: Refusals) -> None:
        self._system = system
        self._rules = rules
        self._clock = clock
        self._refusals = refusals
        self._budget = LoopBudget()

    async def is_for_us(self, heard: Heard) -> bool:
        """Whether something that was said is to be answered; see ``bot.speaking``.

        Raises:
            StorageError: the database cannot be asked.
        """
        where = heard.message.conversation
        state = ChannelState()
        if not where.is_direct:  # whose owner alone may silence it, by not writing
            state = await self._system.stores.channels.load(where.key, where.parent)
        decided = verdict(heard, state, self._rules)
        answered = decided is Verdict.ANSWER and self._refusals.may_speak(where) and self._within_budget(heard)
        if decided is not Verdict.IGNORE and not where.is_direct:
            await self._overhear(heard, for_us=answered)
        if answered:
            await self._engage(heard, state)
        return answered

    def guard(self, accept: OnMessage) -> OnMessage:
        """``accept`` for a platform on which every message is for the bot, and that knows no servers."""

        async def guarded(message: IncomingMessage) -> bool:
            heard = Heard(message=message, addressed=Addressed.US)
            return await self.is_for_us(heard) and await accept(message)

        return guarded

    def _within_budget(self, heard: Heard) -> bool:
        where = heard.message.conversation.key
        if heard.speaker is Speaker.PERSON or self._budget.spend((heard.message.person, where), self._clock.now()):
            return True
        _log.warning("bot_loop_broken", conversation=where, bot=heard.message.person)
        return False

    async def _overhear(self, heard: Heard, *, for_us: bool) -> None:
        """Keep what was said for a while, unless its author asked that nothing be kept."""
        parameters, message = self._system.parameters, heard.message
        scope = scope_of(message.person, message.conversation.audience, parameters.sharing)
        if not parameters.channel_context_messages:
            return
        if not await self._system.oversight.sittings.keeps(scope, message.conversation.key):
            return
        line = Line(
            id=message.id,
            person=message.person,
            name=clean(message.author_name),
            text=redact(clean(message.text)),
            at=message.sent_at,
            for_us=for_us,
        )
        self._system.talk.note(
            line,
            conversation=message.conversation.key,
            parent=message.conversation.parent,
            in_parent=not heard.in_thread,
        )

    async def _engage(self, heard: Heard, state: ChannelState) -> None:
        where, now = heard.message.conversation, self._clock.now()
        if where.is_direct or where.parent is None:
            return
        if state.engaged_at is not None and now - state.engaged_at < _ENGAGED_ANEW:
            return
        async with self._system.transaction() as tx:
            await self._system.stores.channels.engage(
                tx, conversation=where.key, community=where.community or where.audience, at=now
            )


class LoopBudget:
    """How often another bot is answered in one channel, so that two bots do not talk to each other for ever."""

    ANSWERS = 20
    WITHIN = timedelta(seconds=60)
    _PAIRS = 1_000

    def __init__(self) -> None:
        self._spent: dict[tuple[str, str], deque[datetime]] = {}

    def spend(self, pair: tuple[str, str], now: datetime) -> bool:
        """Count one answer to a bot in a channel; False where that would be too many."""
        spent = self._spent.pop(pair, None) or deque()
        while spent and now - spent[0] >= self.WITHIN:
            spent.popleft()
        within = len(spent) < self.ANSWERS
        if within:
            spent.append(now)
        self._spent[pair] = spent
        if len(self._spent) > self._PAIRS:
            del self._spent[next(iter(self._spent))]
        return within


async def plainly_for_us(heard: Heard) -> bool:
    """The rule without lists and without what is known of a channel: direct chats, mentions and replies."""
    return verdict(heard, ChannelState(), SpeakingRules()) is Verdict.ANSWER
