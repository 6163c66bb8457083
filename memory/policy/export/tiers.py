"""What an export holds of the tiers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from memory.policy.export.values import Count, Id, IdText, Moment, Name, Share, Strict, Tag, Text, Version
from memory.policy.fact_text import text_hash
from memory.records import Mode, Tier


class EntryRow(Strict):
    """A row of ``entries``."""

    id: Id
    tier: Tier
    text: Text
    text_hash: str
    category: Name
    importance: Share
    created_at: Moment
    access_count: Count
    touched_at: Moment
    frozen_at: Moment
    score: Annotated[float, Field(ge=0)]
    bytes: Count
    metadata: dict[str, Any]
    source_message: Id | None
    session_id: Id | None
    job: Name | None
    archived_at: Moment | None
    archive_reason: Annotated[str, Field(max_length=32)]
    archived_by: Name | None
    removed_at: Moment | None
    removed_by: Name | None

    @model_validator(mode="after")
    def _hash_right(self) -> EntryRow:
        if text_hash(self.text) != self.text_hash:
            raise ValueError("its text_hash is not that of its text")
        return self


class TreeNodeRow(Strict):
    """A row of ``tree``."""

    path: Name
    description: Annotated[str, Field(max_length=100)]
    warm: Count
    cold: Count
    created_at: Moment
    last_active_at: Moment


class TreeChangeRow(Strict):
    """A row of ``tree_changes``."""

    id: Id
    action: Tag
    path: Name
    target: Name
    description: Annotated[str, Field(max_length=100)]
    moved: list[IdText]
    changed_at: Moment
    actor: Name
    reason: Text
    source_message: Id | None
    session_id: Id | None
    job: Name | None
    undone_at: Moment | None


class HotItemValue(Strict):
    """A line of the hot state."""

    text: Text
    source: Annotated[str, Field(pattern=r"^((fact|entry):[0-9]{1,19})?$")] = ""
    message: IdText | None = None
    timestamp: Name = ""
    importance: Share = 0.0
    category: Name = ""
    description: Text = ""
    status: Name = ""


class HotStateValue(Strict):
    """A hot state."""

    agent_name: Name = ""
    relationship_start: Name = ""
    trust_level: Share = 0.5
    owner_name: list[HotItemValue] = Field(default_factory=list)
    owner_preferred_name: list[HotItemValue] = Field(default_factory=list)
    personality: list[HotItemValue] = Field(default_factory=list)
    family: list[HotItemValue] = Field(default_factory=list)
    topics_loved: list[HotItemValue] = Field(default_factory=list)
    topics_avoid: list[HotItemValue] = Field(default_factory=list)
    timezone: list[HotItemValue] = Field(default_factory=list)
    work_hours: list[HotItemValue] = Field(default_factory=list)
    projects: list[HotItemValue] = Field(default_factory=list)
    events: list[HotItemValue] = Field(default_factory=list)
    tasks: list[HotItemValue] = Field(default_factory=list)
    lessons: list[HotItemValue] = Field(default_factory=list)


class HotVersionRow(Strict):
    """A row of ``hot``."""

    version: Version
    state: HotStateValue
    changed_at: Moment
    actor: Name
    reason: Text
    source_message: Id | None
    session_id: Id | None
    job: Name | None


class ConsolidationRow(Strict):
    """A row of ``consolidations``."""

    id: Id
    mode: Mode
    at: Moment
    report: dict[str, Any]
