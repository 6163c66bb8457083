"""Says reminders when they are due.

A reminder is claimed, then sent, then marked as said. Of one that was claimed before, by a process that died or in
an attempt that failed, the platform is asked first whether it is there.

Invariant: a reminder is said once, at whatever instant a process dies, and never where its platform is not attached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import structlog

from bot import replies
from bot.chat import ChannelAdapter, Conversation, DeliveryFailed, DeliveryRefused, OutgoingMessage
from memory.ports import Clock
from memory.records import Reminder, ReminderState
from memory.stores.scoped import as_stored
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)

_AT_ONCE = 100
_SWEEPS_OF_A_LEASE = 12
_LATE_AFTER = timedelta(minutes=5)
_SILENCED_PAUSE = timedelta(hours=1)
# The platform's clock and ours may differ by so much, or a message would be looked for behind itself.
_CLOCKS_APART = timedelta(minutes=2)


class Reminders:
    """The reminders of everybody, on their way.

    Args:
        system: the memory of everybody.
        clock: says what is due.
        sweep_seconds: how often ``deliver_due`` is called; a claim lasts twelve times as long.
    """

    def __init__(self, *, system: MemorySystem, clock: Clock, sweep_seconds: float) -> None:
        self._system = system
        self._store = system.stores.reminders
        self._clock = clock
        self._lease = timedelta(seconds=sweep_seconds * _SWEEPS_OF_A_LEASE)
        self._channels: dict[str, ChannelAdapter] = {}

    def attach(self, channels: Mapping[str, ChannelAdapter]) -> None:
        """Say how reminders travel: adapters by platform, or by conversation key."""
        self._channels.update(channels)

    async def deliver_due(self) -> int:
        """Say what is due; how many were said."""
        due = await self._store.due(self._clock.now(), limit=_AT_ONCE)
        ours = [(reminder, channel) for reminder in due if (channel := self._channel(reminder)) is not None]
        return sum(await asyncio.gather(*(self._deliver(reminder, channel) for reminder, channel in ours)))

    def _channel(self, reminder: Reminder) -> ChannelAdapter | None:
        key = reminder.conversation
        return self._channels.get(key) or self._channels.get(key.partition(":")[0])

    async def _deliver(self, due: Reminder, channel: ChannelAdapter) -> bool:
        now = self._clock.now()
        async with self._system.transaction() as tx:
            reminder = await self._store.claim(due.scope, tx, reminder_id=due.id, now=now, lease=self._lease)
        if reminder is None:
            return False
        if (await self._system.stores.channels.load(reminder.conversation)).silenced:
            await self._postpone(reminder, _SILENCED_PAUSE)
            return False
        state = ReminderState.DELIVERED
        try:
            # Shorter than the claim, so that no other process has it meanwhile.
            async with asyncio.timeout(self._lease.total_seconds() * 0.8):
                await self._send(reminder, channel, tried_before=reminder.first_tried_at != as_stored(now))
        except (DeliveryFailed, TimeoutError) as error:
            _log.warning("reminder_failed", reminder=reminder.id, error=str(error) or type(error).__name__)
            await self._postpone(reminder, self._lease)
            return False
        except DeliveryRefused as error:
            _log.warning("reminder_refused", reminder=reminder.id, error=str(error))
            state = ReminderState.DROPPED
        async with self._system.transaction() as tx:
            await self._store.end(reminder.scope, tx, reminder_id=reminder.id, state=state, at=self._clock.now())
        _log.info("reminder_said", reminder=reminder.id, conversation=reminder.conversation, state=state)
        return state is ReminderState.DELIVERED

    async def _send(self, reminder: Reminder, channel: ChannelAdapter, *, tried_before: bool) -> None:
        first_tried_at = reminder.first_tried_at or reminder.due_at
        zone = await self._system.stores.preferences.zone(reminder.scope)
        is_late = first_tried_at - reminder.due_at > _LATE_AFTER
        outgoing = OutgoingMessage(
            conversation=Conversation(
                platform=channel.platform,
                key=reminder.conversation,
                audience=reminder.heard_by,
                community=reminder.community,
            ),
            text=replies.reminder(reminder.text, late_for=reminder.due_at.astimezone(zone) if is_late else None),
            in_reply_to=reminder.reply_to,
            delivery_key=f"reminder-{reminder.id:x}",
            recipient=reminder.scope.person,
            tried_since=first_tried_at - _CLOCKS_APART,
        )
        if not (tried_before and await channel.delivered_as(outgoing) is not None):
            await channel.send(outgoing)

    async def _postpone(self, reminder: Reminder, pause: timedelta) -> None:
        async with self._system.transaction() as tx:
            await self._store.postpone(reminder.scope, tx, reminder_id=reminder.id, until=self._clock.now() + pause)
