"""Durable jobs, the audit log, and what was used on a day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from memory.records.scopes import Scope


class JobState(StrEnum):
    """How far a job has come: pending -> done, or pending -> dead after its last attempt."""

    PENDING = "pending"
    DONE = "done"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A piece of work that survives the process.

    Attributes:
        id: rises in the order of creation; jobs of a scope run in this order.
        key: names the work, for example ``close_session:42``; a scope never has two jobs of one key.
        kind: which handler does it.
        payload: what the handler needs, as JSON values.
        attempts: how often it was tried.
        due_at: not tried before.
        claimed_until: until when a process has it to itself; None where none has.
        last_error: why it failed the last time.
    """

    id: int
    scope: Scope
    key: str
    kind: str
    payload: Mapping[str, Any]
    state: JobState
    attempts: int
    due_at: datetime
    created_at: datetime
    claimed_until: datetime | None = None
    last_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """A look at or change of a person's memory by somebody else.

    Attributes:
        actor: who did it, as a person or ``operator`` for the command line.
        action: the command, for example ``memory rollback``.
        detail: what it was about, without any text of the memory.
    """

    id: int
    scope: Scope
    at: datetime
    actor: str
    action: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What was used on one day.

    Attributes:
        turns: answered messages.
        tokens: of the requests and answers of the chat model.
    """

    turns: int = 0
    tokens: int = 0
