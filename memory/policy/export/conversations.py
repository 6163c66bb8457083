"""What an export holds of sessions, messages and their summaries."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from memory.messages import Role
from memory.policy.export.values import Audience, Count, Id, Moment, Name, Strict, Text, Version
from memory.records import EvictionReason


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
