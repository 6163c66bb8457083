"""Which predicates hold one value at a time and which hold many, and whether two statements can both be true.

Invariant: what is not known to hold one value never counts as such: an old fact beside a new one does less harm than
a true one lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.policy.fact_text import normalised
from memory.records import Candidate, Fact

# Names of one slot stand in one line; what a model calls it is not always the same.
_SINGLE_VALUED = """
    lives_in resides_in lives_at home_city home_town_now current_city current_location location address home_address
    works_at works_for employer employed_by company workplace
    job occupation profession job_title role works_as
    name first_name full_name is_called is_named called named
    nickname goes_by preferred_name
    age is_aged years_old
    birthday birth_date date_of_birth born_on birthdate
    birthplace place_of_birth born_in
    email email_address
    phone phone_number telephone mobile_number
    spouse wife husband married_to is_married_to
    partner girlfriend boyfriend fiance fiancee
    marital_status relationship_status
    time_zone timezone
    gender pronouns
    native_language mother_tongue
    height
    weight
    blood_type
"""
_SLOTS = {name: line.split()[0] for line in _SINGLE_VALUED.strip().splitlines() for name in line.split()}

_MANY_VALUED_NAMES = """
    likes loves enjoys adores is_fond_of fan_of interested_in hobby has_hobby hobbies dislikes hates favorite_things
    has owns has_pet pet pets has_child child children has_sibling sibling sister brother friend friends has_friend
    knows speaks speaks_language plays plays_instrument visited has_visited travelled_to has_been_to wants_to_visit
    allergic_to has_allergy allergy skill has_skill can studied reads watched read uses has_used collects eats drinks
    cooks practices does attends member_of plans plans_to wants wants_to
"""
_MANY_VALUED = frozenset(_MANY_VALUED_NAMES.split())
_PHRASES = {
    "lives in": "lives_in",
    "works at": "works_at",
    "works for": "works_at",
    "works as": "job",
    "name is": "name",
    "is called": "name",
    "is named": "name",
    "birthday is": "birthday",
    "is married to": "spouse",
}
# A fact without a triple: "User lives in Rome", "The user's name is Ann".
_SPOKEN_SLOT = re.compile(rf"(?:the )?user(?:'s)? (?:now )?({'|'.join(_PHRASES)}) (.+)")
_VERB = re.compile(r"(?:the )?user (?:also )?(\w+)")

_TAKEN_BACK = re.compile(
    r"\b(?:not|no|none|never|no longer|any ?more|without|stopped|quit|gave up|instead|used to|former|formerly|ex|sold"
    r"|lost|died|left|nicht|kein\w*|nie|aufgehört|ne .{1,30} (?:plus|pas)|n'\w+ (?:plus|pas)|jamais|nunca|dejó de"
    r"|non|mai|não|deixou de|niet|geen|не)\b|n't\b"
    r"|ない|ません|ではなく|やめ|不再|不是|没有|沒有|不喜欢|不喜歡|안 |않|아니|못|لم |لا |ليس",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What holds one value at a time, and the words of the value."""

    subject: str
    predicate: str
    value: frozenset[str]


def slot(statement: Fact | Candidate) -> Slot | None:
    """The slot that a statement fills; None where its predicate is not known to hold one value at a time."""
    if not statement.predicate:
        spoken = _SPOKEN_SLOT.match(normalised(statement.text))
        return spoken and Slot(subject="user", predicate=_PHRASES[spoken[1]], value=_words(spoken[2]))
    name = _SLOTS.get(_predicate(statement))
    if name is None or not (statement.subject and statement.object):
        return None
    return Slot(subject=normalised(statement.subject), predicate=name, value=_words(statement.object))


def takes_back(text: str) -> bool:
    """Whether the words say that something is not, or not any more, so."""
    return _TAKEN_BACK.search(text) is not None


def can_both_be_true(fact: Fact, candidate: Candidate) -> bool:
    """Whether the two are entries of one list: the same predicate of many values, and values with no word in common.

    "Likes tea" leaves "likes coffee" true; "has two cats" may well replace "has one cat".
    """
    if takes_back(candidate.text):
        return False
    known, said = _predicate(fact) or _verb(fact.text), _predicate(candidate) or _verb(candidate.text)
    if known != said or known not in _MANY_VALUED or normalised(fact.subject) != normalised(candidate.subject):
        return False
    return _words(listed_value(fact)).isdisjoint(_words(listed_value(candidate)))


def listed_value(statement: Fact | Candidate) -> str:
    """The entry of a list: the object, or what follows "User likes" where there is no triple."""
    return statement.object or _VERB.sub("", normalised(statement.text), count=1)


def _predicate(statement: Fact | Candidate) -> str:
    return re.sub(r"[\s-]+", "_", normalised(statement.predicate))


def _verb(text: str) -> str:
    found = _VERB.match(normalised(text))
    return found[1] if found else ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(normalised(text)))
