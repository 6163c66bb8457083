"""What happened in a session, and how a person wants things done."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.records.scopes import Scope
from memory.records.versions import Change


class Outcome(StrEnum):
    """How a session ended for what the person wanted."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"


class MomentKind(StrEnum):
    """What made a moment matter."""

    DECISION = "decision"
    PROBLEM = "problem discovered"
    SOLUTION = "solution found"
    PREFERENCE = "preference revealed"
    CORRECTION = "misunderstanding corrected"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMoment:
    """A moment of a session.

    Attributes:
        what: what happened, in one sentence.
        why: why it matters; may be empty.
        message: the number of its message in the session, from 0; None where none was named.
    """

    kind: MomentKind
    what: str
    why: str = ""
    message: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrative:
    """The story of a session.

    Attributes:
        summary: two or three sentences, in the past tense.
        goal: what the person wanted; may be empty.
        journey: the steps and turns, in order.
        lessons: what to do again or differently, each one sentence.
        tags: words to filter by.
        importance: 0 to 1.
    """

    summary: str
    goal: str = ""
    journey: tuple[str, ...] = ()
    outcome: Outcome = Outcome.PARTIAL
    key_moments: tuple[KeyMoment, ...] = ()
    lessons: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A session as it is remembered.

    Attributes:
        conversation: where it took place; with the scope's audience its setting.
        started_at, ended_at: its first and its last message.
        participants: the names of those who spoke.
        message_count: messages that the person and the agent wrote.
        first_message, last_message: the messages it was made from stand in recall, from the one to the other.
        made_at, change: when and by what it was written; ``change.session_id`` is its session.
        forgotten_at, forgotten_reason: since when and why it is not found any more; None and empty while it is.
    """

    id: int
    scope: Scope
    conversation: str
    started_at: datetime
    ended_at: datetime
    participants: tuple[str, ...]
    message_count: int
    first_message: int
    last_message: int
    narrative: Narrative
    made_at: datetime
    change: Change
    forgotten_at: datetime | None = None
    forgotten_reason: str = ""

    @property
    def duration_minutes(self) -> float:
        """From the first message to the last."""
        return (self.ended_at - self.started_at).total_seconds() / 60


class Difficulty(StrEnum):
    """How hard a skill is to imitate."""

    EASY = "easily approximated"
    MODERATE = "moderately difficult"
    HARD = "difficult"
    VERY_HARD = "very difficult"


class ProcedureState(StrEnum):
    """Whether a procedure may be followed: only an approved one ever reaches a prompt."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """What was asked, and the answer that was right."""

    input: str
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HowTo:
    """How something is to be done, as it was written down.

    Attributes:
        name: a few words, unlike any other's of the scope.
        description: what it is for, in one sentence.
        steps: in order.
        triggers: words in a message that call for it.
    """

    name: str
    description: str
    steps: tuple[str, ...]
    examples: tuple[Example, ...] = ()
    triggers: tuple[str, ...] = ()
    difficulty: Difficulty = Difficulty.EASY


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """A procedure as it stands.

    Attributes:
        version: how often it was changed, 1 at first.
        usage_count: how often it was said how well it worked.
        success_rate: the running share of good outcomes, 0 to 1; None before the first.
    """

    id: int
    scope: Scope
    how_to: HowTo
    state: ProcedureState
    version: int
    created_at: datetime
    updated_at: datetime
    usage_count: int = 0
    success_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureVersion:
    """One change of a procedure.

    Attributes:
        action: ``propose``, ``approve``, ``edit``, ``retire`` or ``undo``.
    """

    procedure_id: int
    version: int
    action: str
    how_to: HowTo
    state: ProcedureState
    changed_at: datetime
    change: Change
