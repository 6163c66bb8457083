"""What somebody wants to be reminded of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.records.scopes import Scope


class ReminderState(StrEnum):
    """How far a reminder has come.

    waiting -> sending -> delivered, or waiting -> cancelled; dropped where the platform will never take it.
    """

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    CANCELLED = "cancelled"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """A text that is to be said again at a moment, where it was asked for.

    Attributes:
        conversation: where it was set and will be said.
        heard_by: the audience of that conversation, also where memory is shared over all audiences.
        community: the server or team of a private channel, or None.
        reply_to: the platform's id of the message that asked for it; empty where it has none.
        text: what to say, on one or more lines.
        due_at: when.
        set_at: when it was asked for.
        source_message: the person's message, in the recall log.
        claimed_until: until when a process has it to itself; None where none has.
        first_tried_at: when it was first taken up to be said; None while it was not. It fixes whether it was late.
        ended_at: when it was delivered, cancelled or dropped.
    """

    id: int
    scope: Scope
    conversation: str
    heard_by: str
    community: str | None
    reply_to: str
    text: str
    due_at: datetime
    set_at: datetime
    state: ReminderState
    source_message: int | None = None
    claimed_until: datetime | None = None
    first_tried_at: datetime | None = None
    ended_at: datetime | None = None
