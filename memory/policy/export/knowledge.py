"""What an export holds of core memory, archival passages, and facts with their history."""

from __future__ import annotations

import hashlib
from typing import Any

from pydantic import model_validator

from memory.policy.export.values import (
    Count,
    Id,
    IdText,
    Milliseconds,
    Moment,
    Name,
    Share,
    Strict,
    Tag,
    Text,
    Version,
    Word,
)
from memory.policy.fact_text import text_hash
from memory.records import BLOCK_LABELS, FactState


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
