"""The guards between what a model asks to do with facts and what is done.

Invariant: following a plan loses nothing. A fact that leaves stays in the history and its successor stands in the
plan; pinned facts and facts the model was not shown are never touched; at most ``max_deletes`` facts leave at once
unless the person asked to forget.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.policy.details import keeps_details
from memory.policy.fact_changes import same_statement
from memory.policy.fact_text import text_hash
from memory.policy.slots import can_both_be_true, listed_value, slot, takes_back
from memory.records import WANTS_FORGOTTEN, Candidate, Fact, FactOp, FactOperation, FactState

UNKNOWN = "names no fact that was shown"
PINNED = "the fact is pinned"
SAME = "the new statement says the same"
OLDER = "the new statement is older than the fact"
COMPATIBLE = "both can be true"
TOO_MANY = "too many facts would leave at once"
RETIRED = "the fact leaves already"
WISH = "a wish to forget is no fact"

_FORGET = re.compile(
    r"\b(?:forget|unlearn|stop remembering|don'?t remember|do not remember|vergiss|vergessen sie|oublie[zr]?|olvid\w+"
    r"|dimentica\w*|esque[cç]\w+|vergeet|glöm|zapomnij)\b|merk dir das nicht|забудь\w*|忘れて|忘掉|忘记|忘記|잊어|انس",
    re.IGNORECASE,
)
# These mean memory only where it is spoken of.
_DELETE = re.compile(
    r"\b(?:erase|delete|remove|wipe|lösch\w*|entfern\w*|efface[zr]?|supprime[zr]?|borra\w*|elimina\w*|cancella\w*"
    r"|apag(?:a|ue|ar)|verwijder\w*)\b|удали\w*|消して|删除|刪除|지워|احذف",
    re.IGNORECASE,
)
_OF_MEMORY = re.compile(
    r"memor|remember|\bfacts?\b|about me\b|you know|gedächtnis|gemerkt|über mich|mémoire|souvenir|sur moi|sobre mí"
    r"|sobre mim|su di me|geheugen|over mij|памят|обо мне|記憶|私のこと|记忆|記憶|关于我|기억|ذاكرة",
    re.IGNORECASE,
)
_NOT_A_WISH = re.compile(
    r"(?:\b(?:don'?t|do not|never|won'?t|can'?t|cannot|didn'?t|i|we|always|to) (?:ever |always |sometimes )?"
    r"(?:forget|erase|delete|remove)\b|\bno (?:te )?olvides\b|\bn'oublie\w*|не забудь\w*|忘れないで|别忘|不要忘)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, and what not.

    Attributes:
        accepted: in order; every ADD and UPDATE has its text, every UPDATE and DELETE the id of a current fact. A
            NOOP names the fact that holds its candidate already, where there is one. A DELETE stands before the ADD
            of what takes the fact's place.
        rejected: what was asked for and is not done, each with the reason.
    """

    accepted: tuple[FactOperation, ...]
    rejected: tuple[tuple[FactOperation, str], ...]


def asks_to_forget(text: str) -> bool:
    """Whether the person's words are a wish that something be forgotten. "Don't forget" is the opposite."""
    wishes = _NOT_A_WISH.sub(" ", text)
    if _FORGET.search(wishes):
        return True
    return _DELETE.search(wishes) is not None and _OF_MEMORY.search(wishes) is not None


def guarded(
    operations: Sequence[FactOperation],
    *,
    stored: Sequence[Fact],
    candidates: Sequence[Candidate],
    max_deletes: int,
    asked_to_forget: bool,
    evidence_date: datetime,
) -> Plan:
    """What of a model's operations is done, in the order given.

    Args:
        operations: what the model asked for.
        stored: the facts it was shown, and any others that may say the same.
        candidates: what was learned. One that the model passed over, while it answered others, is added.
        max_deletes: facts that may leave, unless ``asked_to_forget``.
        asked_to_forget: whether the person asked for something to be forgotten.
        evidence_date: when the person said what the candidates say.
    """
    guard = _Guard(
        facts={fact.id: fact for fact in stored if fact.state is FactState.CURRENT},
        room=None if asked_to_forget else max_deletes,
        said_at=evidence_date,
    )
    for operation in operations:
        guard.take(operation)
    answered = [operation.candidate for operation in operations]
    passed_over = [candidate for candidate in candidates if operations and candidate not in answered]
    for candidate in passed_over:
        guard.take(FactOperation(op=FactOp.ADD, candidate=candidate, text=candidate.text))
    return guard.plan()


class _Guard:
    """Takes operations one after the other, knowing what those before will have done.

    Args:
        facts: the current facts that may be touched, by id.
        room: how many of them may leave; None for any number.
        said_at: when the candidates were said.
    """

    def __init__(self, *, facts: dict[int, Fact], room: int | None, said_at: datetime) -> None:
        self._facts = facts
        self._room = room
        self._said_at = said_at
        self._retired: set[int] = set()
        self._held: dict[str, int | None] = {text_hash(fact.text): fact.id for fact in facts.values()}
        self._claims: list[Candidate] = []
        self._accepted: list[FactOperation] = []
        self._rejected: list[tuple[FactOperation, str]] = []

    def take(self, operation: FactOperation) -> None:
        """Accept the operation, accept a safe one in its place, or reject it."""
        if operation.candidate.predicate == WANTS_FORGOTTEN and operation.op is not FactOp.DELETE:
            self._rejected.append((operation, WISH))
            return
        match operation.op:
            case FactOp.ADD:
                self._add(operation.candidate, _text(operation))
            case FactOp.UPDATE:
                self._update(operation, _text(operation))
            case FactOp.DELETE:
                self._delete(operation)
            case FactOp.NOOP:
                self._leave(operation)

    def plan(self) -> Plan:
        """What came of it. What takes a leaving fact's place is added where the model forgot to ask for it."""
        if self._room is not None:
            for candidate in self._claims:
                self._add_forgotten(candidate)
        return Plan(accepted=tuple(self._accepted), rejected=tuple(self._rejected))

    def _add(self, candidate: Candidate, text: str) -> None:
        if (same := self._same(candidate, text)) is not None:
            self._accepted.append(replace(same, candidate=candidate))
            return
        for fact in self._current():
            if _replaces(candidate, fact) and not self._is_older(candidate, fact, unless_dated=True):
                self._delete(FactOperation(op=FactOp.DELETE, candidate=candidate, fact_id=fact.id))
        self._held[text_hash(text)] = None
        self._accepted.append(FactOperation(op=FactOp.ADD, candidate=candidate, text=text))

    def _update(self, operation: FactOperation, text: str) -> None:
        fact = self._fact(operation)
        if fact is None:
            self._rejected.append((operation, UNKNOWN))
        elif text_hash(text) in self._held:
            self._accepted.append(replace(operation, op=FactOp.NOOP, fact_id=self._held[text_hash(text)], text=None))
        elif fact.pinned or fact.id in self._retired or not _may_become(fact, text, operation.candidate):
            self._add(operation.candidate, text)
        else:
            self._held.pop(text_hash(fact.text), None)
            self._held[text_hash(text)] = fact.id
            self._facts[fact.id] = replace(fact, text=text)
            self._accepted.append(replace(operation, text=text))

    def _delete(self, operation: FactOperation) -> None:
        fact = self._fact(operation)
        if fact is None:
            self._rejected.append((operation, UNKNOWN))
            return
        reason = self._objection(fact, operation.candidate)
        if reason != SAME and operation.candidate not in self._claims:
            self._claims.append(operation.candidate)
        if reason is not None:
            self._rejected.append((operation, reason))
            return
        self._retired.add(fact.id)
        self._held.pop(text_hash(fact.text), None)
        self._accepted.append(replace(operation, text=None))

    def _leave(self, operation: FactOperation) -> None:
        fact = self._fact(operation)
        if fact is None:
            self._accepted.append(replace(operation, fact_id=None, text=None))
        elif fact.id in self._retired or not _covers(fact, operation.candidate):
            self._add(operation.candidate, operation.candidate.text)
        else:
            self._accepted.append(replace(operation, text=None))

    def _objection(self, fact: Fact, candidate: Candidate) -> str | None:
        """Why the fact may not leave on account of the candidate; None where it may."""
        objections = (
            (fact.id in self._retired, RETIRED),
            (fact.pinned, PINNED),
            (same_statement(fact, candidate), SAME),
            (self._is_older(candidate, fact), OLDER),
            (self._room is not None and can_both_be_true(fact, candidate), COMPATIBLE),
            (self._room is not None and len(self._retired) >= self._room, TOO_MANY),
        )
        return next((reason for objects, reason in objections if objects), None)

    def _is_older(self, candidate: Candidate, fact: Fact, *, unless_dated: bool = False) -> bool:
        """Whether the candidate speaks of a time before the fact's.

        Args:
            unless_dated: count a candidate with a date, beside a fact without one, as older if its date lies before
                the day that the fact was said on.
        """
        if candidate.expires_at is not None and candidate.expires_at <= self._said_at:
            return True
        if candidate.valid_from is not None and (fact.valid_from is not None or unless_dated):
            return candidate.valid_from < (fact.valid_from or fact.created_at)
        return self._said_at < fact.updated_at

    def _same(self, candidate: Candidate, text: str) -> FactOperation | None:
        """The NOOP that stands for an ADD of what is held already; None where it is not."""
        noop = FactOperation(op=FactOp.NOOP, candidate=candidate)
        if text_hash(text) in self._held:
            return replace(noop, fact_id=self._held[text_hash(text)])
        same = next((fact for fact in self._current() if same_statement(fact, candidate)), None)
        return replace(noop, fact_id=same.id) if same else None

    def _add_forgotten(self, candidate: Candidate) -> None:
        places = [place for place, operation in enumerate(self._accepted) if operation.candidate == candidate]
        held = any(_holds(self._accepted[place]) for place in places)
        if not held and self._same(candidate, candidate.text) is None:
            addition = FactOperation(op=FactOp.ADD, candidate=candidate, text=candidate.text)
            self._accepted.insert(max(places, default=len(self._accepted) - 1) + 1, addition)

    def _fact(self, operation: FactOperation) -> Fact | None:
        return None if operation.fact_id is None else self._facts.get(operation.fact_id)

    def _current(self) -> list[Fact]:
        return [fact for fact in self._facts.values() if fact.id not in self._retired]


def _text(operation: FactOperation) -> str:
    return operation.text or operation.candidate.text


def _holds(operation: FactOperation) -> bool:
    """Whether what the operation's candidate says is kept after it."""
    return operation.op in (FactOp.ADD, FactOp.UPDATE) or (
        operation.op is FactOp.NOOP and operation.fact_id is not None
    )


def _may_become(fact: Fact, text: str, candidate: Candidate) -> bool:
    """Whether the text says what the fact says, with more detail."""
    value = listed_value(fact) if can_both_be_true(fact, candidate) else fact.object
    return keeps_details(text, of=fact.text, value=value)


def _covers(fact: Fact, candidate: Candidate) -> bool:
    """Whether the fact may well say all that the candidate says, so that leaving it out loses nothing."""
    return (
        keeps_details(fact.text, of=candidate.text)
        and takes_back(fact.text) == takes_back(candidate.text)
        and not can_both_be_true(fact, candidate)
    )


def _replaces(candidate: Candidate, fact: Fact) -> bool:
    """Whether the candidate fills the one slot that the fact fills, with another value."""
    said, known = slot(candidate), slot(fact)
    return (
        said is not None
        and known is not None
        and (said.subject, said.predicate) == (known.subject, known.predicate)
        and not (said.value <= known.value or known.value <= said.value)
        and not takes_back(candidate.text)
        and not takes_back(fact.text)
    )
