"""How new facts fit the known ones, by rule: the answer to the request that ``memory.prompt.learning`` makes.

Invariant: a known fact is retired only by a candidate about the same subject that fills the same single place with
another value, says the opposite of it, or is the person's wish that it be forgotten.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.offline_rules.wording import terms
from memory.policy.details import keeps_details
from memory.policy.fact_text import normalised
from memory.policy.slots import slot
from memory.records import WANTS_FORGOTTEN, Candidate

_CANDIDATES = re.compile(r"<candidates>\n(.*)\n</candidates>", re.S)
_CANDIDATE = re.compile(r"^(?P<number>\d+)\. (?P<said>.*)", re.M)
_SIMILAR = re.compile(r"^\s+(?:similar )?\[(?P<id>\d+)\] (?P<said>.*?)(?:[,;] since \d{4}-\d\d-\d\d\)?)?$", re.M)
_TRIPLE = re.compile(r"(?P<text>.*) \((?P<subject>[^|]*) \| (?P<predicate>[^|]*) \| (?P<object>.*)\)", re.S)
_SINGLE = re.compile(r"favou?rite_\w+|diet|nationality|\w+_at|next_\w+")
_OPPOSITES = (
    (frozenset({"likes", "prefers"}), frozenset({"dislikes", "no_longer_likes"})),
    (frozenset({"lives_in"}), frozenset({"no_longer_lives_in"})),
    (frozenset({"eats", "likes"}), frozenset({"never_eats", "cant_eat", "doesnt_eat"})),
    (frozenset({"drinks", "likes"}), frozenset({"never_drinks", "cant_drink", "doesnt_drink"})),
    (frozenset({"drives", "has"}), frozenset({"doesnt_drive", "cant_drive"})),
    (frozenset({"smokes"}), frozenset({"doesnt_smoke", "no_longer_smokes"})),
    (frozenset({"owns", "has"}), frozenset({"doesnt_own", "doesnt_have", "no_longer_has"})),
)
_MEAT_WORDS = "meat beef pork steak chicken bacon sausage burger ham seafood fish lamb salami"
_MEAT = terms(_MEAT_WORDS)
_WITHOUT_MEAT = re.compile(r"\bvegan|vegetarian\b", re.I)
_BEGINNING = 4
_UNMARRIED = frozenset({"single", "divorced", "widowed"})
_ENOUGH_TO_FORGET = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A statement as the request shows it, under its number."""

    number: int
    said: Candidate


def reconciled(material: str, _agent_name: str) -> str:
    """What to do about each candidate, as JSON.

    Args:
        material: ``<candidates>``, each with the known facts most like it.
    """
    found = _CANDIDATES.search(material)
    starts = list(_CANDIDATE.finditer(found[1])) if found else []
    ops: list[dict[str, Any]] = []
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        block = found[1][start.end() : following.start() if following else None] if found else ""
        known = [_Said(number=int(one["id"]), said=_statement(one["said"])) for one in _SIMILAR.finditer(block)]
        ops.extend(_decided(_Said(number=int(start["number"]), said=_statement(start["said"])), known))
    return json.dumps({"ops": ops}, ensure_ascii=False)


def _statement(said: str) -> Candidate:
    triple = _TRIPLE.fullmatch(said.replace("&lt;", "<"))
    if triple is None:
        return Candidate(text=said)
    return Candidate(
        text=triple["text"], subject=triple["subject"], predicate=triple["predicate"], object=triple["object"]
    )


def _decided(new: _Said, known: Sequence[_Said]) -> Iterator[dict[str, Any]]:
    said = new.said
    if said.predicate == WANTS_FORGOTTEN:
        unwanted = _unwanted(said, known)
        yield from (_op(new, "DELETE", fact, "the person wants it forgotten") for fact in unwanted)
        if not unwanted:
            yield _op(new, "NOOP", None, "nothing like it is known")
        return
    if same := next((fact for fact in known if _covers(fact.said, said)), None):
        yield _op(new, "NOOP", same, "it is known already")
        return
    if less := next((fact for fact in known if _covers(said, fact.said)), None):
        yield _op(new, "UPDATE", less, "it adds detail", said.text)
        return
    yield from (_op(new, "DELETE", fact, "both cannot be true") for fact in known if _contradicts(said, fact.said))
    yield _op(new, "ADD", None, "no known fact covers it", said.text)


def _op(new: _Said, op: str, fact: _Said | None, reason: str, text: str | None = None) -> dict[str, Any]:
    number = fact.number if fact else None
    return {"candidate": new.number, "reason": reason, "op": op, "id": number, "text": text}


def _covers(wider: Candidate, said: Candidate) -> bool:
    """Whether ``wider`` says all that ``said`` says: the same triple, or more words about the same."""
    if normalised(wider.text) == normalised(said.text):
        return True
    if not _same_place(wider, said) or not keeps_details(wider.text, of=said.text):
        return False
    return bool(said.object) and terms(said.object) <= terms(wider.object)


def _same_place(one: Candidate, other: Candidate) -> bool:
    return (normalised(one.subject), one.predicate) == (normalised(other.subject), other.predicate)


def _contradicts(said: Candidate, fact: Candidate) -> bool:
    if normalised(said.subject) != normalised(fact.subject):
        return False
    new, old = slot(said), slot(fact)
    if new is not None and old is not None and new.predicate == old.predicate:
        return not (new.value <= old.value or old.value <= new.value)
    if {said.predicate, fact.predicate} == {"marital_status", "spouse"}:
        return bool(_UNMARRIED & {said.object.lower(), fact.object.lower()})
    if said.predicate == fact.predicate and _SINGLE.fullmatch(said.predicate):
        return terms(said.object) != terms(fact.object)
    if _WITHOUT_MEAT.search(said.object) and said.predicate in ("diet", "is"):
        return fact.predicate in ("likes", "eats") and bool(terms(fact.object) & _MEAT)
    return _opposite(said.predicate, fact.predicate) and _about_the_same(said.object, fact.object)


def _opposite(one: str, other: str) -> bool:
    return any(
        (one in positive and other in negative) or (one in negative and other in positive)
        for positive, negative in _OPPOSITES
    )


def _about_the_same(one: str, other: str) -> bool:
    first, second = terms(one), terms(other)
    return bool(first and second) and (first <= second or second <= first)


def _unwanted(wish: Candidate, known: Sequence[_Said]) -> list[_Said]:
    """The facts that a wish to forget means: those that share most of its words."""
    wanted = terms(wish.object)
    shares = [_share(wanted, _all_terms(fact.said)) for fact in known]
    best = max(shares, default=0.0)
    return [fact for fact, share in zip(known, shares, strict=True) if share == best >= _ENOUGH_TO_FORGET]


def _share(wanted: frozenset[str], present: frozenset[str]) -> float:
    """The share of the wanted terms that are present; of long ones the beginnings, since their endings bend."""
    beginnings = {term[:_BEGINNING] for term in present}
    return sum(term[:_BEGINNING] in beginnings for term in wanted) / len(wanted) if wanted else 0.0


def _all_terms(said: Candidate) -> frozenset[str]:
    return terms(f"{said.text} {said.subject} {said.predicate.replace('_', ' ')} {said.object}")
