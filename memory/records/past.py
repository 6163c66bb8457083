"""What was said before the bot was there, as an archive of a platform tells it.

Invariant: an archive is checked as a whole before the first message is read from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
"""Between these lies when people said something. Memory counts weeks and years forwards and backwards from it, and so
may not stand at the end of what a date can say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMessage:
    """A message of a person.

    Attributes:
        person: who said it.
        author: the name that others saw.
        audience: who could hear it.
        community: the server or team that a private channel belongs to, or None.
        conversation: the key of the channel, thread or direct chat.
        channel: the key of the channel in which the platform's id is unique: a thread's own where it has no other.
        platform_id: the platform's id.
        text: in plain words; never empty.
        sent_at: when it was said, from ``EARLIEST`` to ``LATEST``.
        edited_at: when its author last changed it; None for never.
    """

    person: str
    author: str
    audience: str
    community: str | None
    conversation: str
    channel: str
    platform_id: str
    text: str
    sent_at: datetime
    edited_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A checked archive.

    Attributes:
        title: what it is of, for people.
        messages: how many messages of people it holds.
        left_out: how many of bots and of the platform itself, and how many that say nothing.
        read: the messages, those of a channel together and oldest first.
    """

    title: str
    messages: int
    left_out: int
    read: Callable[[], Iterator[PastMessage]]
