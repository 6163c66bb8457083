"""How facts change: what a new statement adds to a known one, and what taking a change back leaves.

Invariant: nothing here loses a word of a known fact. Where two texts each say something that the other does not,
both stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from memory.policy.fact_text import normalised, text_hash
from memory.policy.slots import Slot, slot, takes_back
from memory.records import Candidate, Fact, FactState, Scope

_ARTICLE_WORDS = "a an the der die das den dem ein eine einen einem le la les un une el los las una il lo"
_ARTICLES = frozenset(_ARTICLE_WORDS.split())

PREVIOUS_VALUE = "previous_value"
_CONFIRMED_BY = "confirmed_by"
_CONFIRMATIONS = 20

_NEVER_TAKEN_BACK = frozenset({"id", "scope", "source_message", "created_at", "confidence"})
_SAID = ("text", "subject", "predicate", "object", "valid_from", "expires_at", "state", "superseded_by", "pinned")


def new_fact(fact_id: int, scope: Scope, said: Candidate, source_message: int | None, at: datetime) -> Fact:
    """What a candidate is once it is learned.

    Args:
        fact_id: its number.
        scope: whose it is.
        said: what was found.
        source_message: the message that it comes from, where it comes from one.
        at: when it was said.
    """
    return Fact(
        id=fact_id,
        scope=scope,
        text=said.text,
        subject=said.subject,
        predicate=said.predicate,
        object=said.object,
        confidence=said.confidence,
        category=said.category,
        importance=said.importance,
        metadata=said.metadata,
        source_message=source_message,
        created_at=at,
        updated_at=at,
        valid_from=said.valid_from,
        expires_at=said.expires_at,
    )


def with_previous_value(fact: Fact, replaced: Sequence[Fact]) -> Fact:
    """The new fact, with the object that it replaces in its metadata."""
    before = [old.object for old in replaced if (old.subject, old.predicate) == (fact.subject, fact.predicate)]
    return replace(fact, metadata={**fact.metadata, PREVIOUS_VALUE: before[-1]}) if any(before) else fact


def same_statement(fact: Fact, candidate: Candidate) -> bool:
    """Whether the candidate says what the fact says: in the same words, or as the same triple and nothing beyond.

    Similarity of vectors is no part of it: "has two cats" and "has three cats" are nearly the same vector.
    """
    if text_hash(fact.text) == text_hash(candidate.text):
        return True
    if not _same_slot(fact, candidate) or _contradict(fact, candidate):
        return False
    known, said = _words(fact.text), _words(candidate.text)
    return known == said or (_same_object(fact, candidate) and _in_order(said, known))


def adds_detail(fact: Fact, candidate: Candidate) -> bool:
    """Whether the candidate is the same triple as the fact and says all that the fact says, and more."""
    return (
        _same_slot(fact, candidate)
        and _same_object(fact, candidate)
        and not _contradict(fact, candidate)
        and _in_order(_words(fact.text), _words(candidate.text))
    )


def was_unsaid(before: Fact, after: Fact, candidate: Candidate) -> bool:
    """Whether a change took away what the candidate says: the fact said it before, and says it no longer.

    Args:
        before, after: the fact on both sides of the change.
        candidate: what is about to be learned.
    """
    return _holds(before, candidate) and not _holds(after, candidate)


def confirmed(fact: Fact, candidate: Candidate) -> Fact:
    """The fact, said again: as sure as the surer of the two."""
    return replace(fact, confidence=max(fact.confidence, candidate.confidence))


def said_again_in(fact: Fact, message_id: int | None) -> Fact:
    """The fact, with one more message that says it; the last twenty are known."""
    known = confirmations(fact)
    if message_id is None or message_id in (fact.source_message, *known):
        return fact
    return _with_confirmations(fact, [*known, message_id][-_CONFIRMATIONS:])


def confirmations(fact: Fact) -> list[int]:
    """The messages that said a fact again, oldest first."""
    return confirmed_by(fact.metadata)


def confirmed_by(metadata: Mapping[str, Any]) -> list[int]:
    """The same, from a fact's metadata."""
    return [int(message_id) for message_id in metadata.get(_CONFIRMED_BY, ())]


def not_said_in(fact: Fact, message_id: int) -> Fact:
    """The fact, without a message among those that said it again."""
    return _with_confirmations(fact, [known for known in confirmations(fact) if known != message_id])


def without_previous_value(fact: Fact, value: str) -> Fact:
    """The fact, without the value that it took the place of."""
    if not value or fact.metadata.get(PREVIOUS_VALUE) != value:
        return fact
    return replace(fact, metadata={name: kept for name, kept in fact.metadata.items() if name != PREVIOUS_VALUE})


def wordless(fact: Fact) -> Fact:
    """The fact with nothing of what it said; what became of it stays."""
    return replace(fact, text="", subject="", predicate="", object="", metadata={})


def detailed(fact: Fact, candidate: Candidate, text: str) -> Fact:
    """The fact under a new text, with what the candidate adds to it.

    Args:
        fact: the known fact.
        candidate: what was said. A triple that is not whole leaves the fact's own.
        text: the new text.
    """
    changed = replace(
        confirmed(fact, candidate),
        text=text,
        importance=max(fact.importance, candidate.importance),
        metadata=_joined(fact.metadata, candidate.metadata),
        valid_from=candidate.valid_from or fact.valid_from,
        expires_at=candidate.expires_at or fact.expires_at,
    )
    if not (candidate.subject and candidate.predicate and candidate.object):
        return changed
    return replace(changed, subject=candidate.subject, predicate=candidate.predicate, object=candidate.object)


def outdated(facts: Iterable[Fact]) -> set[int]:
    """The ids of facts that a newer one, told in another audience, contradicts.

    Within an audience learning sees to it; but who told a server of Oslo and a friend in private of Rome, later, is
    not to be shown both in private.

    Args:
        facts: current facts of one person.
    """
    newest: dict[tuple[str, str], tuple[Fact, Slot]] = {}
    filled = [(fact, place) for fact in facts if (place := slot(fact)) is not None]
    for fact, place in filled:
        known, _ = newest.setdefault((place.subject, place.predicate), (fact, place))
        if fact.updated_at > known.updated_at:
            newest[place.subject, place.predicate] = (fact, place)
    old = set()
    for fact, place in filled:
        last, its_place = newest[place.subject, place.predicate]
        if fact.scope != last.scope and place.value != its_place.value:
            old.add(fact.id)
    return old


def taken_back(present: Fact, before: Fact | None, after: Fact) -> Fact:
    """A fact without what one change did to it; what other changes did stays.

    Args:
        present: the fact as it is now.
        before: as it was before the change; None where the change added it, which then counts as forgotten.
        after: as it was after the change.
    """
    if before is None:
        return replace(present, state=FactState.FORGOTTEN, superseded_by=None)
    names = [field.name for field in fields(Fact) if field.name not in _NEVER_TAKEN_BACK]
    undone = {name: getattr(before, name) for name in names if getattr(before, name) != getattr(after, name)}
    return replace(present, **undone)


def undone(work: Mapping[int, tuple[Fact | None, Fact]], present: Mapping[int, Fact]) -> tuple[list[Fact], list[Fact]]:
    """What is left of some facts when everything that one piece of work did to them is taken back.

    A fact that says something else by now than the work left it with stays as it is, and so does one that was
    superseded by such a fact: else an old truth would stand beside a newer one.

    Args:
        work: by fact, the fact before the first and after the last change of the work.
        present: the same facts as they are now.

    Returns:
        the facts that differ from the present ones, and those that stay although the work had changed them.
    """
    goals = {fact_id: taken_back(present[fact_id], before, after) for fact_id, (before, after) in work.items()}
    changed = [fact_id for fact_id, goal in goals.items() if goal != present[fact_id]]
    touched = {fact_id for fact_id in changed if not _is_untouched(present[fact_id], work[fact_id][1])}
    kept = touched | {fact_id for fact_id in changed if present[fact_id].superseded_by in touched}
    return [goals[fact_id] for fact_id in changed if fact_id not in kept], [present[fact_id] for fact_id in kept]


def _with_confirmations(fact: Fact, message_ids: Sequence[int]) -> Fact:
    metadata = {name: value for name, value in fact.metadata.items() if name != _CONFIRMED_BY}
    if message_ids:  # as text: readers of an export may have doubles alone
        metadata[_CONFIRMED_BY] = [str(message_id) for message_id in message_ids]
    return replace(fact, metadata=metadata)


def _holds(fact: Fact, candidate: Candidate) -> bool:
    """Whether the fact is current and says what the candidate says, in its words or as the value of the same slot."""
    if fact.state is not FactState.CURRENT or _contradict(fact, candidate):
        return False
    return same_statement(fact, candidate) or _fill_alike(slot(fact), slot(candidate))


def _fill_alike(known: Slot | None, said: Slot | None) -> bool:
    if known is None or said is None or (known.subject, known.predicate) != (said.subject, said.predicate):
        return False
    return known.value <= said.value or said.value <= known.value


def _is_untouched(present: Fact, after: Fact) -> bool:
    return all(getattr(present, name) == getattr(after, name) for name in _SAID)


def _same_slot(fact: Fact, candidate: Candidate) -> bool:
    return bool(fact.subject and fact.predicate) and (
        normalised(fact.subject) == normalised(candidate.subject)
        and normalised(fact.predicate) == normalised(candidate.predicate)
    )


def _contradict(fact: Fact, candidate: Candidate) -> bool:
    """Whether one says that something is so and the other that it is not, as in "no longer lives in Rome"."""
    return takes_back(fact.text) != takes_back(candidate.text)


def _same_object(fact: Fact, candidate: Candidate) -> bool:
    return bool(fact.object) and normalised(fact.object) == normalised(candidate.object)


def _words(text: str) -> list[str]:
    return [word for word in normalised(text).split() if word not in _ARTICLES]


def _in_order(words: list[str], among: list[str]) -> bool:
    rest = iter(among)
    return all(word in rest for word in words)


def _joined(known: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """Both, lists joined with nothing twice; of any other value the known one."""
    joined = {**added, **known}
    for key in known.keys() & added.keys():
        if isinstance(known[key], list) and isinstance(added[key], list):
            joined[key] = list(dict.fromkeys([*known[key], *added[key]]))
    return joined
