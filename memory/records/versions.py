"""Texts of memory that have versions: core memory blocks and the rolling summary, and why each version came to be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.errors import InvalidInput

PERSONA = "persona"
HUMAN = "human"
BLOCK_LABELS = (PERSONA, HUMAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBlock:
    """A labelled piece of core memory, always in the prompt."""

    label: str
    value: str
    version: int
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Who or what changes a memory, and why. Stands beside every version.

    Attributes:
        actor: ``agent``, ``person``, ``admin:<person>`` or ``system``.
        reason: one short sentence or a tool's name.
        source_message: the id of the message it was learned from, if any.
        session_id: the session in which it happened, if any.
        job: the key of the job that did it, if any.
    """

    actor: str
    reason: str
    source_message: int | None = None
    session_id: int | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who looks or changes from outside a conversation: a person, or the operator where ``person`` is None.

    Attributes:
        own: whether it is the person's own memory.
    """

    person: str | None = None
    own: bool = False

    @property
    def audited(self) -> str:
        """The actor of an audit entry."""
        return self.person or "operator"

    @property
    def actor(self) -> str:
        """The actor of a version."""
        if self.own:
            return "person"
        return f"admin:{self.person}" if self.person else "operator"

    @property
    def command(self) -> str:
        """The top-level command that it is done with."""
        return "mydata" if self.own else "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What made changes: a session or a job, one of the two.

    Raises:
        InvalidInput: neither is named, or both are.
    """

    session_id: int | None = None
    job: str | None = None

    def __post_init__(self) -> None:
        if (self.session_id is None) == (self.job is None):
            raise InvalidInput("Changes are looked for by what made them. Name a session or a job.")

    def __str__(self) -> str:
        return f"session {self.session_id}" if self.job is None else f"job {self.job}"

    def made(self, change: Change) -> bool:
        """Whether a change comes from it."""
        return change.session_id == self.session_id if self.job is None else change.job == self.job


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockVersion:
    """One version of a core memory block; the newest one is the block."""

    label: str
    version: int
    value: str
    changed_at: datetime
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryVersion:
    """One version of a scope's rolling summary; the newest one is the summary.

    Attributes:
        version: 1 for the first.
        words: its length.
        first_message, last_message: the ids of the messages it was made from, both included; None for a rollback.
    """

    version: int
    text: str
    words: int
    changed_at: datetime
    change: Change
    first_message: int | None = None
    last_message: int | None = None
