"""What the rows of an export may hold of episodes and procedures.

Invariant: what is JSON in its table is a list here, as it comes back from there.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memory.policy.export.values import Count, Id, Moment, Name, Share, Strict, Tag, Text, Version
from memory.records import Difficulty, MomentKind, Outcome, ProcedureState


class KeyMomentValue(Strict):
    """A ``KeyMoment``."""

    kind: MomentKind
    what: Text
    why: Text
    message: Count | None


class EpisodeRow(Strict):
    """A row of ``episodes``."""

    id: Id
    conversation: Name
    started_at: Moment
    ended_at: Moment
    participants: list[Name]
    message_count: Count
    first_message: Id
    last_message: Id
    summary: Text
    goal: Text
    journey: list[Text]
    outcome: Outcome
    key_moments: list[KeyMomentValue]
    lessons: list[Text]
    tags: list[Text]
    importance: Share
    made_at: Moment
    actor: Name
    reason: Text
    source_message: Id | None
    session_id: Id | None
    job: Name | None
    forgotten_at: Moment | None
    forgotten_reason: Text


class ExampleValue(Strict):
    """An ``Example``."""

    input: Text
    output: Text


class ProcedureContent(Strict):
    """What a procedure says, besides its name."""

    description: Text
    steps: Annotated[list[Text], Field(min_length=1)]
    examples: list[ExampleValue]
    triggers: list[Text]
    difficulty: Difficulty


class ProcedureVersionRow(Strict):
    """A row of ``procedure_versions``."""

    procedure_id: Id
    version: Version
    action: Tag
    name: Name
    content: ProcedureContent
    state: ProcedureState
    changed_at: Moment
    actor: Name
    reason: Text
    source_message: Id | None
    session_id: Id | None
    job: Name | None


class ProcedureRow(Strict):
    """A row of ``procedures``."""

    id: Id
    name: Name
    content: ProcedureContent
    state: ProcedureState
    version: Version
    created_at: Moment
    updated_at: Moment
    usage_count: Count
    success_rate: Share | None
