"""The file that an export writes and an import reads: its version, and what every row of it may hold.

Invariant: a file is sound as a whole, or it is refused with one sentence that says where it is not. The sentence
shows no text of the memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from memory.errors import InvalidInput
from memory.messages import Role
from memory.records import BLOCK_LABELS, EvictionReason, check_audience, check_person

FORMAT = "keepsake/1"

_LARGEST_COUNT = 2**31 - 1
_SHOWN_OF_A_NAME = 40
_DIGITS = re.compile(r"[0-9]{1,19}")


def read_export(data: bytes, *, newest_id: int) -> Export:
    """What a file holds, checked. Takes about a second for 50,000 messages.

    Args:
        data: the bytes of the file.
        newest_id: no id of the file may be larger; an id says when its row was made.

    Raises:
        InvalidInput: it is no export of this format, or damaged.
    """
    try:
        return Export.model_validate_json(data, context=newest_id)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        # Of a file in another format all else that is wrong is a consequence.
        first = min(problems, key=lambda problem: problem["loc"] != ("format",))
        raise InvalidInput(
            f"This file cannot be imported: {_where(first['loc'])}{_what(first)}. Nothing was imported."
        ) from error


def _where(loc: Sequence[int | str]) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{_printable(step)}" for step in loc)
    return f"{path.removeprefix('.')}: " if path else ""


def _printable(name: str) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in name[:_SHOWN_OF_A_NAME])
    return shown + ("…" if len(name) > _SHOWN_OF_A_NAME else "")


def _what(problem: Any) -> str:
    sentences = {"missing": "it is missing", "extra_forbidden": f"{FORMAT} knows nothing of that name"}
    told: str = sentences.get(problem["type"], problem["msg"].removeprefix("Value error, ").rstrip("."))
    return told


def _known_format(name: str) -> str:
    if name != FORMAT:
        raise ValueError(f"it is {_printable(name)!r}, and this version of the program reads {FORMAT!r}")
    return name


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
Text = Annotated[str, AfterValidator(_without_nul)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_without_nul)]
Actor = Annotated[str, Field(max_length=128), AfterValidator(_without_nul)]
Word = Annotated[str, Field(max_length=64), AfterValidator(_without_nul)]
Person = Annotated[str, AfterValidator(_known_person)]
Audience = Annotated[str, AfterValidator(_known_audience)]


class _Strict(BaseModel):
    # Built when a file is read: no start of the program should wait for it.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class TextPartValue(_Strict):
    """A ``TextPart``."""

    type: Literal["text"]
    text: Text


class ToolCallValue(_Strict):
    """A ``ToolCall``."""

    type: Literal["tool_call"]
    id: Text
    name: Text
    arguments: dict[str, Any]
    malformed: str | None = None


class ToolResultValue(_Strict):
    """A ``ToolResult``."""

    type: Literal["tool_result"]
    call_id: Text
    name: Text
    content: Text
    is_error: bool


PartValue = Annotated[TextPartValue | ToolCallValue | ToolResultValue, Field(discriminator="type")]


class SessionRow(_Strict):
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


class MessageRow(_Strict):
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


class BlockVersionRow(_Strict):
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


class PassageRow(_Strict):
    """A row of ``archival``."""

    id: Id
    content: Text
    content_hash: str
    memory_type: Word
    importance: Annotated[float, Field(ge=0, le=1)]
    created_at: Moment
    last_accessed_at: Moment
    access_count: Count
    metadata: dict[str, Any]
    source_message: Id | None
    forgotten_at: Moment | None

    @model_validator(mode="after")
    def _hash_right(self) -> PassageRow:
        if hashlib.sha256(self.content.encode()).hexdigest() != self.content_hash:
            raise ValueError("its content_hash is not that of its content")
        return self


class SummaryVersionRow(_Strict):
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


class AuditRow(_Strict):
    """A row of ``audit``."""

    id: Id
    at: Moment
    actor: Actor
    action: Word
    detail: Text


class ConsentRow(_Strict):
    """The row of ``consent``."""

    greeted_at: Moment | None
    paused_at: Moment | None


class KeptInScope(_Strict):
    """What one audience's memory holds, by store."""

    sessions: tuple[SessionRow, ...] = ()
    recall: tuple[MessageRow, ...] = ()
    blocks: tuple[BlockVersionRow, ...] = ()
    archival: tuple[PassageRow, ...] = ()
    summaries: tuple[SummaryVersionRow, ...] = ()
    audit: tuple[AuditRow, ...] = ()
    consent: Annotated[tuple[ConsentRow, ...], Field(max_length=1)] = ()
    # Work in flight: of no meaning to another installation, and so not looked at.
    inbox: tuple[Any, ...] = ()
    jobs: tuple[Any, ...] = ()


class Export(_Strict):
    """A whole file."""

    format: Annotated[str, AfterValidator(_known_format)]
    person: Person
    exported_at: Moment
    scopes: dict[Audience, KeptInScope]


def as_exported(rows: Sequence[BaseModel]) -> list[dict[str, Any]]:
    """Rows as the ``export`` of their store gave them."""
    # Only what was set: a part of a message leaves some fields out.
    return [row.model_dump(exclude_unset=True) for row in rows]
