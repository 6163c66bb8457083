"""The journal: dated lines on what happened in a person's life and in the work of the agent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.records.scopes import Scope
from memory.records.versions import Change


class JournalCategory(StrEnum):
    """What a line of the journal is about.

    An event is of the person's life and learned from their words. The others are of the agent's work: what a tool
    answered, what was talked about in messages that left the window, a note of the agent's own, and a digest that
    stands for older lines.
    """

    EVENT = "event"
    TOOL_RESULT = "tool_result"
    CONVERSATION = "conversation"
    NOTE = "note"
    DIGEST = "digest"


class ArchiveReason(StrEnum):
    """Why an entry is kept but no longer in sight."""

    DIGESTED = "digested"
    EXPIRED = "expired"
    REWRITTEN = "rewritten"
    CLEARED = "cleared"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPlace:
    """Where the whole result of a tool stands: its message in the recall log, and the call that it answers."""

    message_id: int
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """A line of the journal.

    Attributes:
        at: when it happened, as far as that was said, else when it was told.
        text: of an event one short standalone sentence, in the language it was told in; of others their printed form
            without the time (``policy.journal``).
        importance: 0 to 1.
        noted_at: when it was told or done.
        source_message: the person's message that it comes from.
        result: of a tool's result, where the whole of it is.
        archived_at: when it went out of sight; None while it is shown to the agent.
        replaced_by: the entry that stands in its place.
    """

    id: int
    scope: Scope
    at: datetime
    text: str
    importance: float
    noted_at: datetime
    source_message: int | None = None
    category: JournalCategory = JournalCategory.EVENT
    result: ResultPlace | None = None
    archived_at: datetime | None = None
    archive_reason: ArchiveReason | None = None
    replaced_by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedEntry:
    """An entry under the number by which the agent names it: its place among those of the scope, for ever."""

    number: int
    entry: JournalEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestVersion:
    """That a digest took the place of older entries, and why."""

    changed_at: datetime
    change: Change
