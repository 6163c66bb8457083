"""The seam between platforms and the application: what comes in, what goes out, and who carries it.

Invariant: values here round-trip through JSON, so that an accepted message survives the process. Nothing here
knows a platform; an adapter is two translations and a thin handler.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Where a message was said: a channel, a thread or a one-to-one chat.

    Attributes:
        platform: ``discord``, ``slack`` or ``console``.
        key: identifies the conversation and is all its adapter needs to answer there, for example
            ``discord:123`` or ``slack:T1:C1:1700000001.000100``.
        audience: who hears it: ``dm``, ``guild:<id>``, ``team:<id>`` or ``channel:<id>``.
        community: the server or team that a private channel belongs to, as ``guild:<id>`` or ``team:<id>``;
            None elsewhere.
        parent: the key of the channel that a thread hangs on; None elsewhere.
    """

    platform: str
    key: str
    audience: str
    community: str | None = None
    parent: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether only one person hears it."""
        return self.audience == "dm"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file that came with a message, as its platform describes it. Where it can be fetched is not kept.

    Attributes:
        id: the platform's id of the file.
        name: its name.
        media_type: as the platform says, for example ``text/plain``; may be empty.
        size: in bytes; 0 where it is not known.
        width, height: of a picture, in pixels; 0 where they are not known.
    """

    id: str
    name: str
    media_type: str = ""
    size: int = 0
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingMessage:
    """A message for the bot, as an adapter hands it over.

    Attributes:
        id: the platform's id of the message, unique within the conversation.
        person: ``discord:<user id>``, ``slack:<team id>:<user id>`` or ``console:<name>``.
        author_name: the name others see.
        text: what was said, the mention of the bot removed, and a line that names each attached file.
        sent_at: when, aware, in UTC.
        attachments: the files that came with it.
        from_admin: its author administers the server or workspace, as the platform said with it.
        late: it was only found afterwards, since the connection had been away when it was said.
    """

    id: str
    conversation: Conversation
    person: str
    author_name: str
    text: str
    sent_at: datetime
    attachments: tuple[AttachedFile, ...] = ()
    from_admin: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """An answer.

    Attributes:
        conversation: where it goes.
        text: Markdown; the adapter splits it and turns it into what its platform shows.
        in_reply_to: the platform's id of the message it answers.
        delivery_key: the same for every attempt to deliver this answer, and for no other.
        notice: what the person has to be told once, below the answer; None otherwise.
        recipient: the person it answers.
        draft: the platform's ids of the messages that show a draft of it, in order; empty where one may be there
            whose id is not known; None where there is none.
        tried_since: when the first attempt to deliver it began, at the latest; None for right after the message that
            it answers. An earlier attempt is looked for from there on.
    """

    conversation: Conversation
    text: str
    in_reply_to: str
    delivery_key: str
    notice: str | None = None
    recipient: str | None = None
    draft: tuple[str, ...] | None = None
    tried_since: datetime | None = None

    @property
    def whole_text(self) -> str:
        """The answer, with the notice below it where there is one."""
        return self.text if self.notice is None else f"{self.text}\n\n{self.notice}"


class HistoryUnreadable(Exception):
    """The platform does not show what was said in a conversation. The text says why, in one sentence."""


class DeliveryFailed(Exception):
    """The platform did not take a message; trying again later may help.

    Args:
        message: for the log.
        retry_after: seconds after which trying again makes sense, or None where the platform did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DeliveryRefused(Exception):
    """The platform will never take this message (forbidden, channel gone). The text is for the log."""


class FileUnreadable(Exception):
    """A file cannot be read; the text says why, in words that stand behind the file's name and a colon."""


class AdapterStartFailed(Exception):
    """The platform refuses us or cannot be reached; the text says what to do."""


class ChannelAdapter(Protocol):
    """One platform. Errors of its SDK leave it only as DeliveryFailed or DeliveryRefused."""

    @property
    def platform(self) -> str:
        """``discord``, ``slack`` or ``console``."""
        ...

    @property
    def shows_drafts(self) -> bool:
        """Whether ``draft`` may be called."""
        ...

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Show what there is of an answer so far, in place of what earlier drafts of it showed.

        Returns:
            The platform's ids of the messages that show it now, for ``OutgoingMessage.draft``.
        """
        ...

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Deliver a whole answer, in order, split where the platform needs it; it takes the place of its draft.

        Returns:
            The platform's ids of the messages that show it, as far as they are known.
        """
        ...

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        """Look for what reached the platform in an earlier attempt, cut off by a crash.

        Returns:
            The platform's ids of the messages that show the answer, as far as they are known; None where it is not
            there whole. Where the platform will never let us look (forbidden, channel gone) it counts as there, since
            a doubled answer cannot be taken back.

        Raises:
            DeliveryFailed: the platform cannot be asked just now.
        """
        ...

    async def recent(self, conversation: Conversation, *, limit: int) -> Sequence[IncomingMessage]:
        """What was said in a conversation lately, oldest first, the bot's own words included.

        Args:
            conversation: which; a thread that has only begun stands for its channel.
            limit: messages at most.

        Raises:
            HistoryUnreadable: the platform does not show it.
        """
        ...

    async def fetch_file(self, message: IncomingMessage, file: AttachedFile, *, limit: int) -> bytes:
        """Fetch a file that came with a message, asking the platform anew where it is.

        Args:
            message: the message.
            file: one of its attachments.
            limit: the most bytes that are wanted.

        Raises:
            FileUnreadable: it is gone, too large, or cannot be had.
        """
        ...

    def typing(self, conversation: Conversation, asked: str) -> AbstractAsyncContextManager[None]:
        """Show that an answer is being written, for as long as the context is open. Never raises.

        Args:
            conversation: where it will be.
            asked: the platform's id of the message that is answered.
        """
        ...


class PlatformAdapter(ChannelAdapter, Protocol):
    """A platform that is connected to."""

    async def start(self) -> None:
        """Connect; returns once messages can arrive. Raises AdapterStartFailed."""
        ...

    async def closed(self) -> None:
        """Wait until it has stopped for good. Raises AdapterStartFailed where the platform refused us."""
        ...

    async def stop(self) -> None:
        """Disconnect. Safe to call twice, and before ``start`` has ended."""
        ...

    def state(self) -> Mapping[str, object]:
        """What the health page shows; ``connected`` is in it."""
        ...


OnMessage = Callable[[IncomingMessage], Awaitable[bool]]
"""Stores the message durably and returns; True if it was new. The turn itself goes on in the background."""


def incoming_to_json(message: IncomingMessage) -> str:
    """The message as JSON, as kept in the inbox."""
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    return json.dumps(values, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value of which JSON knows nothing: a moment, or a part of a message."""
    return value.isoformat() if isinstance(value, datetime) else asdict(value)


def incoming_from_json(text: str) -> IncomingMessage:
    """The inverse of ``incoming_to_json``."""
    value = json.loads(text)
    return IncomingMessage(
        id=value["id"],
        conversation=Conversation(**value["conversation"]),
        person=value["person"],
        author_name=value["author_name"],
        text=value["text"],
        sent_at=datetime.fromisoformat(value["sent_at"]),
        attachments=tuple(AttachedFile(**file) for file in value.get("attachments", ())),
        from_admin=value.get("from_admin", False),
        late=value.get("late", False),
    )


def readable_size(size: int) -> str:
    """A number of bytes as people read it: ``812 bytes``, ``14 KB``, ``3.7 MB``."""
    if size < 1_000:
        return f"{size} byte{'' if size == 1 else 's'}"
    return f"{size / 1_000:.0f} KB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
