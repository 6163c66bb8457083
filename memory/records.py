"""What is kept, as values. All times are aware UTC datetimes.

Invariant: everything kept about a person carries a ``Scope``: who, and who may hear it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memory.errors import InvalidInput
from memory.messages import Message

_PERSON = re.compile(r"(discord:\d+|slack:[A-Za-z0-9]+:[A-Za-z0-9]+|console:[^\s:/\\\ud800-\udfff]{1,64})\Z")
_AUDIENCE = re.compile(r"(dm|person|(guild|team|channel):[A-Za-z0-9._-]{1,64})\Z")


def check_person(person: str) -> str:
    """Return ``person`` unchanged if it is well formed.

    Raises:
        InvalidInput: it is not ``discord:<user id>``, ``slack:<team id>:<user id>`` or ``console:<name>``.
    """
    if not _PERSON.match(person):
        raise InvalidInput(
            f"{person!r} names nobody. Write discord:<user id>, slack:<team id>:<user id> or console:<name>."
        )
    return person


def check_audience(audience: str) -> str:
    """Return ``audience`` unchanged if it is well formed.

    Raises:
        InvalidInput: it is not ``dm``, ``guild:<id>``, ``team:<id>`` or ``channel:<id>``.
    """
    if not _AUDIENCE.match(audience):
        raise InvalidInput(
            f"{audience!r} is no audience. Write dm, guild:<id>, team:<id> or channel:<id>, for example guild:42."
        )
    return audience


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Who, and who may hear it.

    Attributes:
        person: ``discord:<user id>``, ``slack:<team id>:<user id>`` or ``console:<name>``.
        audience: ``dm``, ``guild:<id>``, ``team:<id>``, ``channel:<id>``, or ``person`` where memory is shared
            over all audiences (MEMORY_SHARING=person).
    """

    person: str
    audience: str

    def __str__(self) -> str:
        return f"{self.person}/{self.audience}"


_SLUG_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


def scope_slug(scope: Scope) -> str:
    """The scope as letters, digits, ``-`` and ``_``, reversible: other bytes become ``_xx`` in hexadecimal."""
    raw = f"{scope.person}/{scope.audience}".encode()
    return "".join(chr(byte) if chr(byte) in _SLUG_SAFE else f"_{byte:02x}" for byte in raw)


def scope_from_slug(slug: str) -> Scope:
    """The inverse of ``scope_slug``.

    Raises:
        InvalidInput: the text is no slug.
    """
    try:
        raw = re.sub(rb"_([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), slug.encode()).decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{slug!r} is no scope.") from error
    person, slash, audience = raw.rpartition("/")
    scope = Scope(person=person, audience=audience)
    if not slash or scope_slug(scope) != slug:
        raise InvalidInput(f"{slug!r} is no scope.")
    return scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a conversation may read: one person, and the audiences at least as public as its own.

    Made by ``policy.audience.reach_of`` alone.

    Attributes:
        person: whose memory.
        audiences: the readable audiences; None for all of this person's.
    """

    person: str
    audiences: frozenset[str] | None


class EvictionReason(StrEnum):
    """Why a message left the window."""

    THRESHOLD = "threshold"
    HISTORY_LIMIT = "history_limit"
    SESSION_END = "session_end"
    REFUSED = "refused"
    UNANSWERED = "unanswered"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message to be stored.

    Attributes:
        message: role and parts.
        author: the speaker's display name.
        sent_at: when it was said.
        platform_id: the platform's own id of the message, where it has one.
        tokens: the token counter's estimate of the message, uncalibrated.
    """

    message: Message
    author: str
    sent_at: datetime
    platform_id: str | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message of the recall log, verbatim.

    Attributes:
        id: rises with every message of the scope; the order of the conversation.
        conversation: the channel, thread or direct chat it was said in.
        session_id: the session it belongs to.
        exchange_id: the id of the user message that began its exchange.
        evicted_at: when it left the window; None while it is in it.
        folded: whether the window summary covers it already.
    """

    id: int
    scope: Scope
    conversation: str
    session_id: int
    exchange_id: int
    author: str
    message: Message
    sent_at: datetime
    tokens: int
    platform_id: str | None = None
    evicted_at: datetime | None = None
    eviction_reason: EvictionReason | None = None
    folded: bool = False

    @property
    def text(self) -> str:
        """The text parts of the message."""
        return self.message.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One sitting of a conversation, from its first message to the idle limit.

    Attributes:
        community: the server or team a private channel belongs to (``guild:<id>``, ``team:<id>``), or None.
        window_summary: digest of what left the window; empty at first.
        kept: False where the person asked that nothing of it be remembered: its messages are gone once they
            leave the window, and nothing is learned from them.
        summary_version: the version of the rolling summary that covers it; None while none does.
    """

    id: int
    scope: Scope
    conversation: str
    community: str | None
    started_at: datetime
    last_activity_at: datetime
    ended_at: datetime | None = None
    window_summary: str = ""
    kept: bool = True
    summary_version: int | None = None


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
class Passage:
    """A piece of archival memory.

    Attributes:
        memory_type: ``fact``, ``document``, ``preference``, ``episode`` or another word of the caller's.
        importance: 0 to 1.
        access_count: how often a search returned it.
        forgotten_at: when it was forgotten (it stays, but no search finds it).
    """

    id: int
    scope: Scope
    content: str
    memory_type: str
    importance: float
    created_at: datetime
    last_accessed_at: datetime
    access_count: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_message: int | None = None
    forgotten_at: datetime | None = None


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
        metadata: ``urls``, ``commands`` and ``paths`` that stood in it, each a list of strings.
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
        fact_id: the fact that UPDATE and DELETE are about; None otherwise.
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


class Source(StrEnum):
    """The kinds of record that can be searched."""

    RECALL = "recall"
    ARCHIVAL = "archival"
    FACT = "fact"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """What the search indexes hold for one record (or one chunk of a long one).

    Attributes:
        id: the entry's own id, unique in the database; full text and vectors are keyed by it.
        record_id: the id of the record in its store.
        chunk: 0, or the number of the chunk of a long text.
        text: the indexed text, speaker and date included.
    """

    id: int
    scope: Scope
    source: Source
    record_id: int
    chunk: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryScore:
    """What the indexes say of one entry for one query.

    Attributes:
        text_score: full-text score, higher is better, 0 where full text did not find it.
        similarity: cosine similarity, None where the vector index did not return it.
    """

    entry_id: int
    scope: Scope
    source: Source
    record_id: int
    text_score: float = 0.0
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One result of a search, ready to be shown.

    Attributes:
        source: the kind of record.
        record_id: its id in that store.
        score: the ranking score; comparable within one search only.
        text: the record's own text.
        author: who said it (recall), or None.
        at: when it was said or stored.
        reason: why it was found, in a few words.
        message_ids: the messages it comes from.
    """

    source: Source
    scope: Scope
    record_id: int
    score: float
    text: str
    author: str | None
    at: datetime
    reason: str
    message_ids: tuple[int, ...] = ()


class InboxState(StrEnum):
    """How far an accepted message has come.

    accepted -> answered -> sending -> delivered, or accepted -> dropped (too old to be answered).
    """

    ACCEPTED = "accepted"
    ANSWERED = "answered"
    SENDING = "sending"
    DELIVERED = "delivered"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """An accepted incoming message and what became of it.

    Attributes:
        id: rises in the order of acceptance.
        platform_id: the platform's id of the message; with ``conversation`` it identifies the message.
        payload: the incoming message as JSON, the adapter seam's own form.
        message_id: the id of its copy in the recall log, once a turn has begun.
        reply: the reply's text, once there is one.
    """

    id: int
    scope: Scope
    conversation: str
    platform_id: str
    payload: str
    accepted_at: datetime
    state: InboxState
    message_id: int | None = None
    reply: str | None = None
