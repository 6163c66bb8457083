"""What the rows of an export may hold, store by store; ``export_format`` puts them together.

Invariant: a row that passes can be stored as it is. Every column is there, nothing is longer than its column, no
text holds a NUL, and no id lies in the future.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from memory.errors import InvalidInput
from memory.messages import Role
from memory.policy.fact_text import text_hash
from memory.records import (
    BLOCK_LABELS,
    ArchiveReason,
    EvictionReason,
    FactState,
    JournalCategory,
    ReminderState,
    check_audience,
    check_person,
)

_LARGEST_COUNT = 2**31 - 1
_DIGITS = re.compile(r"[0-9]{1,19}")
_FIRST_MILLISECOND, _LAST_MILLISECOND = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999


def _known_person(person: str) -> str:
    try:
        return check_person(person)
    except InvalidInput as error:
        raise ValueError("it names nobody") from error


def _known_audience(audience: str) -> str:
    try:
        return check_audience(audience)
    except InvalidInput as error:
        raise ValueError("it is no audience") from error


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("it is no time zone")
    return name


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("it holds a NUL character")
    return text


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


def _of_the_past(value: int, info: ValidationInfo[int]) -> int:
    if value > info.context:
        raise ValueError("it is an id of the future")
    return value


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC).replace(microsecond=moment.microsecond // 1000 * 1000)
    except OverflowError as error:
        raise ValueError("it is out of range") from error


Id = Annotated[int, BeforeValidator(_number), Field(ge=1), AfterValidator(_of_the_past)]
Count = Annotated[int, Field(ge=0, le=_LARGEST_COUNT)]
Version = Annotated[int, Field(ge=1, le=_LARGEST_COUNT)]
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
Milliseconds = Annotated[int, Field(ge=_FIRST_MILLISECOND, le=_LAST_MILLISECOND)]
IdText = Annotated[str, Field(pattern=r"^[0-9]{1,19}$")]
Share = Annotated[float, Field(ge=0, le=1)]
Text = Annotated[str, AfterValidator(_without_nul)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_without_nul)]
Actor = Annotated[str, Field(max_length=128), AfterValidator(_without_nul)]
Tag = Annotated[str, Field(max_length=16), AfterValidator(_without_nul)]
Word = Annotated[str, Field(max_length=64), AfterValidator(_without_nul)]
Person = Annotated[str, AfterValidator(_known_person)]
Audience = Annotated[str, AfterValidator(_known_audience)]


class Strict(BaseModel):
    """Takes exactly its fields, and of each exactly its type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_enum_values=True)


class TextPartValue(Strict):
    """A ``TextPart``."""

    type: Literal["text"]
    text: Text


class ToolCallValue(Strict):
    """A ``ToolCall``."""

    type: Literal["tool_call"]
    id: Text
    name: Text
    arguments: dict[str, Any]
    malformed: str | None = None


class ToolResultValue(Strict):
    """A ``ToolResult``."""

    type: Literal["tool_result"]
    call_id: Text
    name: Text
    content: Text
    is_error: bool
    is_memory: bool = False


class FilePartValue(Strict):
    """A ``FilePart``."""

    type: Literal["file"]
    name: Text
    media_type: Text
    size: int
    text: Text
    note: Text


PartValue = Annotated[TextPartValue | ToolCallValue | ToolResultValue | FilePartValue, Field(discriminator="type")]


class SessionRow(Strict):
    """A row of ``sessions``."""

    id: Id
    conversation: Name
    community: Audience | None
    started_at: Moment
    last_activity_at: Moment
    ended_at: Moment | None
    window_summary: Text
    kept: bool
    summary_version: Version | None


class MessageRow(Strict):
    """A row of ``recall``."""

    id: Id
    conversation: Name
    session_id: Id
    exchange_id: Id
    role: Role
    author: Name
    parts: tuple[PartValue, ...]
    sent_at: Moment
    tokens: Count
    platform_id: Name | None
    evicted_at: Moment | None
    eviction_reason: EvictionReason | None
    folded: bool
    edited_at: Moment | None = None


class BlockVersionRow(Strict):
    """A row of ``blocks``."""

    label: str
    version: Version
    value: Text
    changed_at: Moment
    actor: Name
    reason: Text
    source_message: Id | None
    session_id: Id | None
    job: Name | None

    @model_validator(mode="after")
    def _label_known(self) -> BlockVersionRow:
        if self.label not in BLOCK_LABELS:
            raise ValueError(f"its label is none of {' and '.join(BLOCK_LABELS)}")
        return self


class PassageRow(Strict):
    """A row of ``archival``."""

    id: Id
    content: Text
    content_hash: str
    memory_type: Word
    importance: Share
    created_at: Moment
    last_accessed_at: Moment
    access_count: Count
    metadata: dict[str, Any]
    source_message: Id | None
    forgotten_at: Moment | None
    forgotten_reason: Text | None = None

    @model_validator(mode="after")
    def _hash_right(self) -> PassageRow:
        if hashlib.sha256(self.content.encode()).hexdigest() != self.content_hash:
            raise ValueError("its content_hash is not that of its content")
        return self


class FactRow(Strict):
    """A row of ``facts``."""

    id: Id
    text: Text
    text_hash: str
    subject: Text
    predicate: Text
    object: Text
    confidence: Share
    category: Name
    importance: Share
    metadata: dict[str, Any]
    source_message: Id | None
    created_at: Moment
    updated_at: Moment
    valid_from: Moment | None
    expires_at: Moment | None
    state: FactState
    superseded_by: Id | None
    pinned: bool

    @model_validator(mode="after")
    def _hash_right(self) -> FactRow:
        if text_hash(self.text) != self.text_hash:
            raise ValueError("its text_hash is not that of its text")
        return self


class FactValue(Strict):
    """A whole fact on one side of a revision, with times in milliseconds since 1970."""

    text: Text
    subject: Text
    predicate: Text
    object: Text
    confidence: Share
    category: Name
    importance: Share
    metadata: dict[str, Any]
    source_message: IdText | None
    created_at: Milliseconds
    updated_at: Milliseconds
    valid_from: Milliseconds | None
    expires_at: Milliseconds | None
    state: FactState
    superseded_by: IdText | None
    pinned: bool


class FactRevisionRow(Strict):
    """A row of ``fact_revisions``."""

    id: Id
    fact_id: Id
    action: Tag
    before: FactValue | None
    after: FactValue
    candidate: Text | None
    changed_at: Moment
    actor: Name
    reason: Text
    source_message: Id | None
    session_id: Id | None
    job: Name | None


class JournalRow(Strict):
    """A row of ``journal``."""

    id: Id
    at: Moment
    text: Text
    text_hash: str
    importance: Share
    noted_at: Moment
    source_message: Id | None
    session_id: Id | None
    job: Name | None
    # Not there where the journal held events alone.
    category: JournalCategory = JournalCategory.EVENT
    result_message: Id | None = None
    call_id: Name | None = None
    archived_at: Moment | None = None
    archive_reason: ArchiveReason | None = None
    archived_in: Id | None = None
    archived_by: Name | None = None
    replaced_by: Id | None = None

    @model_validator(mode="after")
    def _hash_right(self) -> JournalRow:
        if text_hash(self.text) != self.text_hash:
            raise ValueError("its text_hash is not that of its text")
        return self


class ObservationValue(Strict):
    """An observation of working memory."""

    source: Text
    content: Text
    at: Text


class HypothesisValue(Strict):
    """A hypothesis of working memory."""

    text: Text
    confidence: Share
    evidence_for: tuple[Text, ...]
    evidence_against: tuple[Text, ...]


class WorkingState(Strict):
    """The state of a working memory."""

    goal: Text
    sub_goals: tuple[Text, ...]
    completed_steps: tuple[Text, ...]
    observations: tuple[ObservationValue, ...]
    notes: dict[Text, Text]
    hypotheses: tuple[HypothesisValue, ...]


class WorkingRow(Strict):
    """A row of ``working``."""

    conversation: Name
    session_id: Id
    state: WorkingState
    updated_at: Moment


class ReminderRow(Strict):
    """A row of ``reminders``."""

    id: Id
    conversation: Name
    heard_by: Audience
    community: Audience | None
    reply_to: Name
    text: Text
    due_at: Moment
    set_at: Moment
    state: ReminderState
    source_message: Id | None
    claimed_until: Moment | None
    first_tried_at: Moment | None
    ended_at: Moment | None


class PreferencesRow(Strict):
    """The row of ``preferences``."""

    time_zone: Annotated[str, AfterValidator(_known_zone)]


class SummaryVersionRow(Strict):
    """A row of ``summaries``."""

    version: Version
    text: Text
    words: Count
    changed_at: Moment
    actor: Name
    reason: Text
    session_id: Id | None
    job: Name | None
    first_message: Id | None
    last_message: Id | None


class AuditRow(Strict):
    """A row of ``audit``."""

    id: Id
    at: Moment
    actor: Actor
    action: Word
    detail: Text


class ConsentRow(Strict):
    """The row of ``consent``."""

    greeted_at: Moment | None
    paused_at: Moment | None
