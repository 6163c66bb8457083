"""Facts about a person, what an extraction proposes, and every change of a fact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memory.records.scopes import Scope
from memory.records.versions import Change


class FactState(StrEnum):
    """Whether a fact is true now. Only current facts reach a prompt."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A lasting fact about a person.

    Attributes:
        text: one short standalone sentence, in the language it was said in.
        subject, predicate, object: the same as a triple (``user``, ``lives_in``, ``Rome``); empty where it has none.
        confidence: 0 to 1.
        category: a path of up to four parts, for example ``personal/home``.
        importance: 0 to 1.
        metadata: ``urls``, ``commands`` and ``paths`` that stood in it, each a list of strings; ``previous_value``,
            what it took the place of; ``confirmed_by``, the ids of other messages that said it.
        source_message: the person's message it was learned from.
        created_at, updated_at: when it was learned and last confirmed or detailed.
        valid_from: since when it is true, where that was said.
        expires_at: from when on it is no longer true, where that was said.
        superseded_by: the fact that took its place.
        pinned: only an explicit wish of the person changes or retires it.
    """

    id: int
    scope: Scope
    text: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    confidence: float = 1.0
    category: str = "general"
    importance: float = 0.5
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_message: int | None = None
    created_at: datetime
    updated_at: datetime
    valid_from: datetime | None = None
    expires_at: datetime | None = None
    state: FactState = FactState.CURRENT
    superseded_by: int | None = None
    pinned: bool = False


WANTS_FORGOTTEN = "wants_forgotten"
"""The predicate of a candidate that is no fact but a wish that something be forgotten; its object says what."""


class CandidateKind(StrEnum):
    """What an extraction found."""

    FACT = "fact"
    EVENT = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What an extraction found in an exchange, not yet compared with what is known.

    Attributes: as in ``Fact``; an event is something that happened or was decided at a time.
    """

    text: str
    kind: CandidateKind = CandidateKind.FACT
    subject: str = ""
    predicate: str = ""
    object: str = ""
    confidence: float = 1.0
    category: str = "general"
    importance: float = 0.5
    metadata: Mapping[str, Any] = field(default_factory=dict)
    valid_from: datetime | None = None
    expires_at: datetime | None = None


class FactOp(StrEnum):
    """What reconciling a candidate with the known facts can ask for."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOperation:
    """One operation, as a model asked for it.

    Attributes:
        op: what to do.
        fact_id: the fact that UPDATE and DELETE are about, or that NOOP found to say it already; None otherwise.
        text: the new text of ADD and UPDATE; None otherwise.
        candidate: the candidate that it answers.
    """

    op: FactOp
    candidate: Candidate
    fact_id: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRevision:
    """One change of one fact, kept so that it can be reverted.

    Attributes:
        action: ``add``, ``update``, ``supersede``, ``forget``, ``correct``, ``pin``, ``unpin``, ``restore`` or
            ``revert``.
        before, after: the fact's text on both sides; None where it did not exist or is not current.
        candidate: the text that led to it, where one did.
    """

    id: int
    scope: Scope
    fact_id: int
    action: str
    before: str | None
    after: str | None
    changed_at: datetime
    change: Change
    candidate: str | None = None
