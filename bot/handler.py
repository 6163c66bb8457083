"""From an incoming event to its turn: store it, queue it in its scope, have it answered.

Invariant: a message is in the inbox before anything else happens with it, and its state there says at every
instant what is left to do. One outermost handler turns what was not foreseen into a plain sentence and an id.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import structlog

from bot import replies
from bot.agent import Agent
from bot.answering import Answering
from bot.attachments import DEFAULT_LIMITS, AttachmentLimits
from bot.budgets import Budgets
from bot.chat import ChannelAdapter, DeliveryFailed, IncomingMessage, incoming_from_json, incoming_to_json
from bot.delivery import Delivery, Task
from bot.incoming import memory_of
from bot.measures import Measures
from bot.refusals import Refusals
from bot.scope_queues import ScopeQueues
from memory.errors import AnsweredElsewhere, MemorySystemError
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.ports import Clock, Sleep
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)


class ChatHandler:
    """Answers what the adapters bring.

    Args:
        system: the memory of everybody.
        agent: runs turns.
        clock: where the time comes from.
        admin_reads_dms: SLACK_ADMIN_READS_DMS, of which people are told.
        attachment_limits: how large a file may be to be read.
        drafts: STREAM_REPLIES, whether an answer is shown while it is written.
        sleep: waits for so many seconds.
        budgets: what may be used in a day; None for no limits.
        measures: times what a turn takes.

    Attributes:
        refusals: the channels that take no answers for now.
    """

    def __init__(
        self,
        *,
        system: MemorySystem,
        agent: Agent,
        clock: Clock,
        admin_reads_dms: bool = True,
        attachment_limits: AttachmentLimits = DEFAULT_LIMITS,
        drafts: bool = True,
        sleep: Sleep = asyncio.sleep,
        budgets: Budgets | None = None,
        measures: Measures | None = None,
    ) -> None:
        self._system = system
        self._clock = clock
        self._measures = measures or Measures()
        self.refusals = Refusals(clock)
        self._delivery = Delivery(
            system=system,
            admin_reads_dms=admin_reads_dms,
            drafts=drafts,
            sleep=sleep,
            refusals=self.refusals,
            measures=self._measures,
        )
        self._answering = Answering(
            system=system,
            agent=agent,
            clock=clock,
            budgets=budgets or Budgets(system=system, clock=clock, zone=system.parameters.zone),
            delivery=self._delivery,
            attachment_limits=attachment_limits,
        )
        self._channels: dict[str, ChannelAdapter] = {}
        self._queues = ScopeQueues()
        self._in_flight: set[int] = set()
        # Messages are stored in the order they came, and what is not queued yet must not look like something left.
        self._taking_up = asyncio.Lock()

    def attach(self, channels: Mapping[str, ChannelAdapter]) -> None:
        """Say how answers travel.

        Args:
            channels: adapters by platform, or by conversation key where one serves a single conversation.
        """
        self._channels.update(channels)

    def open(self) -> None:
        """Begin to answer; until then accepted messages only queue up."""
        self._queues.open()

    async def accept(self, incoming: IncomingMessage) -> bool:
        """Clean a message's text, take secrets out of it, store it durably and queue its turn.

        Returns:
            False if the same message was accepted before.
        """
        async with self._taking_up:
            return await self._take_up(incoming)

    async def _take_up(self, incoming: IncomingMessage) -> bool:
        incoming = replace(incoming, text=redact(clean(incoming.text)), author_name=clean(incoming.author_name))
        memory = memory_of(self._system, incoming)
        item = await self._system.stores.inbox.accept(
            memory.place.scope,
            conversation=incoming.conversation.key,
            platform_id=incoming.id,
            payload=incoming_to_json(incoming),
            at=self._clock.now(),
        )
        if item is None:
            return False
        channel = self._channels[self._route(incoming)]
        self._queue(Task(item=item, incoming=incoming, channel=channel, is_new=True, draft=None))
        return True

    async def recover(self) -> int:
        """Queue what is unfinished and not under way: left by a stopped process, or not delivered at first.

        Returns:
            How many messages were queued.
        """
        queued = 0
        async with self._taking_up:
            under_way = frozenset(self._in_flight)  # a turn that ends while we look is not left over
            for item in await self._system.stores.inbox.pending():
                incoming = incoming_from_json(item.payload)
                channel = self._channels.get(self._route(incoming))
                if channel is not None and item.id not in under_way:
                    self._queue(Task(item=item, incoming=incoming, channel=channel, is_new=False, draft=item.draft))
                    queued += 1
        return queued

    async def drain(self, timeout: float) -> bool:
        """Finish the running turns; what is queued is answered after the next start."""
        return await self._queues.drain(timeout)

    async def idle(self) -> None:
        """Wait until every queued turn is done."""
        await self._queues.idle()

    def _queue(self, task: Task) -> None:
        async def turn() -> None:
            try:
                await self._turn(task)
            finally:
                self._in_flight.discard(task.item.id)

        self._in_flight.add(task.item.id)
        self._queues.submit(task.item.scope, turn)

    def _route(self, incoming: IncomingMessage) -> str:
        where = incoming.conversation
        return where.key if where.key in self._channels else where.platform

    async def _turn(self, task: Task) -> None:
        log = _log.bind(inbox_id=task.item.id, conversation=task.incoming.conversation.key)
        try:
            with self._measures.phase("turn"):
                await self._answering.answer(task)
        except DeliveryFailed as error:
            log.warning("delivery_failed", error=str(error))
        except AnsweredElsewhere:
            log.info("answered_elsewhere")
        except MemorySystemError as error:
            log.error("turn_failed", error=str(error), kind=type(error).__name__)
        except Exception:  # the outermost handler: the person is told, the operator finds the id
            error_id = secrets.token_hex(4)
            log.exception("turn_broke", error_id=error_id)
            with suppress(DeliveryFailed, MemorySystemError):
                await self._delivery.deliver(task, replies.bug(error_id))
