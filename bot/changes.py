"""What a platform tells of things that were said, and of places that the bot leaves or enters.

Invariant: nothing here knows a platform; an adapter translates, ``bot/following.py`` acts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEdited:
    """Its author changed a message.

    Attributes:
        channel: the key of the channel, thread or direct chat; the threads of a channel count as part of it.
        id: the platform's id of the message.
        text: what it says now, as ``IncomingMessage.text``.
        at: when it was changed.
    """

    channel: str
    id: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesDeleted:
    """Messages are gone, by whosever hand.

    Attributes:
        channel: as in ``MessageEdited``.
        ids: the platform's ids of the messages.
    """

    channel: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """Somebody reacted to a message, or took a reaction back.

    Attributes:
        channel: as in ``MessageEdited``.
        id: the platform's id of the message.
        person: who, as ``IncomingMessage.person``.
        sign: an emoji, or its name without colons.
        taken_back: whether it was removed.
    """

    channel: str
    id: str
    person: str
    sign: str
    taken_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceLeft:
    """The bot is no longer in a place, or the place is gone: ``guild:<id>``, ``team:<id>`` or ``channel:<id>``."""

    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceEntered:
    """The bot is in a place (again)."""

    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesKnown:
    """All the communities of one kind that the bot is in; it is in no other.

    Attributes:
        kind: ``guild`` or ``team``.
        places: them.
    """

    kind: str
    places: frozenset[str]


PlatformChange = MessageEdited | MessagesDeleted | Reaction | PlaceLeft | PlaceEntered | PlacesKnown

OnChange = Callable[[PlatformChange], Awaitable[None]]
"""Follows what a platform tells. Returns once that is durable."""


async def ignore_change(change: PlatformChange) -> None:
    """For an adapter whose changes nobody follows."""
