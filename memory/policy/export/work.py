"""What an export holds of the journal, working memory and reminders."""

from __future__ import annotations

from pydantic import model_validator

from memory.policy.export.values import Audience, Id, Moment, Name, Share, Strict, Text
from memory.policy.fact_text import text_hash
from memory.records import ArchiveReason, JournalCategory, ReminderState


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
