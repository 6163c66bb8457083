"""What was said: messages, the sessions they belong to, and the inbox they arrive in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.messages import Message
from memory.records.scopes import Scope


class EvictionReason(StrEnum):
    """Why a message left the window."""

    THRESHOLD = "threshold"
    HISTORY_LIMIT = "history_limit"
    SESSION_END = "session_end"
    REFUSED = "refused"
    UNANSWERED = "unanswered"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message to be stored.

    Attributes:
        message: role and parts.
        author: the speaker's display name.
        sent_at: when it was said.
        platform_id: the platform's own id of the message, where it has one.
        tokens: the token counter's estimate of the message, uncalibrated.
        edited_at: when its author last changed it before it was stored; None for never.
    """

    message: Message
    author: str
    sent_at: datetime
    platform_id: str | None = None
    tokens: int = 0
    edited_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message of the recall log, verbatim.

    Attributes:
        id: rises with every message of the scope; the order of the conversation.
        conversation: the channel, thread or direct chat it was said in.
        session_id: the session it belongs to.
        exchange_id: the id of the user message that began its exchange.
        evicted_at: when it left the window; None while it is in it.
        folded: whether the window summary covers it already.
        edited_at: when its author last changed it on the platform; None for never.
    """

    id: int
    scope: Scope
    conversation: str
    session_id: int
    exchange_id: int
    author: str
    message: Message
    sent_at: datetime
    tokens: int
    platform_id: str | None = None
    evicted_at: datetime | None = None
    eviction_reason: EvictionReason | None = None
    folded: bool = False
    edited_at: datetime | None = None

    @property
    def text(self) -> str:
        """The text parts of the message."""
        return self.message.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One sitting of a conversation, from its first message to the idle limit.

    Attributes:
        community: the server or team a private channel belongs to (``guild:<id>``, ``team:<id>``), or None.
        window_summary: digest of what left the window; empty at first.
        kept: False where the person asked that nothing of it be remembered: its messages are gone once they
            leave the window, and nothing is learned from them.
        summary_version: the version of the rolling summary that covers it; None while none does.
    """

    id: int
    scope: Scope
    conversation: str
    community: str | None
    started_at: datetime
    last_activity_at: datetime
    ended_at: datetime | None = None
    window_summary: str = ""
    kept: bool = True
    summary_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSize:
    """How much a window holds.

    Attributes:
        tokens: estimated, as the messages were stored.
    """

    messages: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptHeld:
    """What a prompt was made from, by size.

    Attributes:
        fixed_tokens: of all that is no message, estimated.
        history: of the window before the newest message.
    """

    fixed_tokens: int
    history: WindowSize


class InboxState(StrEnum):
    """How far an accepted message has come.

    accepted -> sending -> delivered, or accepted -> dropped (too old to be answered). Answered are those whose reply an
    older version had stored, but not yet claimed.
    """

    ACCEPTED = "accepted"
    ANSWERED = "answered"
    SENDING = "sending"
    DELIVERED = "delivered"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyReaction:
    """What a person reacted to an answer while it was still being written.

    Attributes:
        post: the platform's id of the post that it is on.
        sign: an emoji, or its name.
        taken_back: whether it was removed.
    """

    post: str
    sign: str
    taken_back: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """An accepted incoming message and what became of it.

    Attributes:
        id: rises in the order of acceptance.
        platform_id: the platform's id of the message; with ``conversation`` it identifies the message.
        payload: the incoming message as JSON, the adapter seam's own form.
        message_id: the id of its copy in the recall log, once a turn has begun.
        reply: the reply's text, once there is one.
        draft: the platform's ids of the messages that show the answer while it is written; empty where the first
            is about to be posted, None where none is.
        edited_text: what the message says by now, where its author changed it before its turn began.
        edited_at: when that was.
        claimed_by: the process that is sending the answer.
        claimed_until: until when it has it to itself.
    """

    id: int
    scope: Scope
    conversation: str
    platform_id: str
    payload: str
    accepted_at: datetime
    state: InboxState
    message_id: int | None = None
    reply: str | None = None
    draft: tuple[str, ...] | None = None
    edited_text: str | None = None
    edited_at: datetime | None = None
    claimed_by: str | None = None
    claimed_until: datetime | None = None
