"""Follows the platforms: what people edit, delete and react to there, and the places that the bot leaves and enters.

A platform may tell of a change before it hands over the message that it is about, or while that is being stored. So
a change is kept for a few minutes, in this process alone, and made good as soon as its message is there.

Invariant: whatever is told, in whatever order and however often, a message ends as its author left it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.changes import MessageEdited, MessagesDeleted, PlaceEntered, PlaceLeft, PlacesKnown, PlatformChange, Reaction
from bot.chat import IncomingMessage, OnMessage
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.ports import Clock
from memory.system import MemorySystem

_EARLY_FOR = timedelta(minutes=5)
_EARLY_CHANGES = 1_000


class Following:
    """Stands between the adapters and the application.

    Args:
        system: the memory of everybody.
        accept: stores a message durably.
        clock: tells how long a change is kept whose message is not there yet.
    """

    def __init__(self, *, system: MemorySystem, accept: OnMessage, clock: Clock) -> None:
        self._system = system
        self._accept = accept
        self._clock = clock
        self._early: dict[str, tuple[datetime, MessageEdited | MessagesDeleted]] = {}
        self._closed: frozenset[str] | None = None

    async def accept(self, incoming: IncomingMessage) -> bool:
        """Store a message durably, unless it is deleted already; see ``bot.chat.OnMessage``."""
        if isinstance(self._early_change(incoming), MessagesDeleted):
            return False
        await self._enter(incoming)
        accepted = await self._accept(incoming)
        early = self._early_change(incoming)  # perhaps it came while the message was being stored
        if early is not None:
            await self.apply(early)
        return accepted

    async def apply(self, change: PlatformChange) -> None:
        """Make a change good.

        Raises:
            StorageError: the database cannot be used.
        """
        match change:
            case MessageEdited():
                self._keep_early([change.id], change)
                text = redact(clean(change.text))
                self._system.talk.reword(change.channel, change.id, text)
                if await self._system.retraction.edited(change.channel, change.id, text=text, at=change.at):
                    self._early.pop(change.id, None)
            case MessagesDeleted():
                self._keep_early(change.ids, change)
                self._system.talk.retract(change.channel, change.ids)
                for message_id in await self._system.retraction.deleted(change.channel, change.ids):
                    self._early.pop(message_id, None)
            case Reaction():
                await self._system.feedback.react(
                    change.channel, change.id, person=change.person, sign=change.sign, taken_back=change.taken_back
                )
            case PlaceLeft():
                await self._system.places.leave(change.place)
                self._closed = None
            case PlaceEntered():
                await self._system.places.enter(change.place)
                self._closed = None
            case PlacesKnown():
                await self._system.places.reconcile(change.kind, change.places)
                self._closed = None

    async def _enter(self, incoming: IncomingMessage) -> None:
        """Open a place again in which somebody speaks to the bot: it must be there."""
        if self._closed is None:
            self._closed = await self._system.stores.closures.places()
        for place in self._closed.intersection(_places_of(incoming)):
            await self.apply(PlaceEntered(place=place))

    def _keep_early(self, ids: tuple[str, ...] | list[str], change: MessageEdited | MessagesDeleted) -> None:
        now = self._clock.now()
        for message_id in ids:
            self._early.pop(message_id, None)  # the newest stands last
            self._early[message_id] = (now, change)
        oldest = list(self._early.items())
        for count, (message_id, (since, _)) in enumerate(oldest):
            if len(oldest) - count <= _EARLY_CHANGES and now - since <= _EARLY_FOR:
                break
            del self._early[message_id]

    def _early_change(self, incoming: IncomingMessage) -> MessageEdited | MessagesDeleted | None:
        """A change of a message that came before the message."""
        _, change = self._early.get(incoming.id, (None, None))
        key = incoming.conversation.key
        return change if change is not None and f"{key}:".startswith(f"{change.channel}:") else None


def _places_of(incoming: IncomingMessage) -> Iterator[str]:
    where = incoming.conversation
    yield where.audience
    if where.community is not None:
        yield where.community
    platform, team, *_ = incoming.person.split(":")
    if platform == "slack":
        yield f"team:{team}"
