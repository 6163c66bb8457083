"""From a line of core memory to the fact that it states: a sentence, its triple, and where it is filed.

Invariant: the sentence says what the line says; the triple says no more than the sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.offline_rules.statement_words import AGE
from bot.offline_rules.wording import PETS, PROFESSIONS, RELATIONS, STATIVE, third


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """A fact as an extraction gives it.

    Attributes:
        text: one sentence that stands alone.
        subject, predicate, object: the same in three parts.
        category: a path such as ``personal/home``.
        importance: 0 to 1.
    """

    text: str
    subject: str = "user"
    predicate: str = ""
    object: str = ""
    category: str = "general"
    importance: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A line that matches ``pattern`` wholly has this predicate, a format string over the pattern's groups.

    Attributes:
        object: another one, for the triple's object.
        text: for the sentence, where it is not "User" and the line itself.
    """

    pattern: str
    predicate: str
    object: str = "{o}"
    text: str = ""
    category: str = "general"
    importance: float = 0.5


_PET = "|".join(PETS)
_RELATION = "|".join(RELATIONS)
_PROFESSION = "|".join(PROFESSIONS)
_UNCOUNTED_WORDS = "dust pollen milk gluten penicillin wheat soy latex fish shellfish seafood nickel grass"
_UNCOUNTED = frozenset(_UNCOUNTED_WORDS.split())
_SINCE = r"(?:,? since .+)?"
_A_NAME = r"(?P<o>(?:(?!and\b)[^\s,;]+ ?){1,4})"  # of one alone
_DIET = "vegan|vegetarian|pescatarian|kosher|halal"
_NATION_WORDS = """
    american british english irish scottish welsh french german italian spanish portuguese dutch swiss austrian polish
    russian ukrainian greek turkish swedish norwegian danish finnish indian pakistani chinese japanese korean
    vietnamese thai australian canadian mexican brazilian
"""
_NATION = "|".join(_NATION_WORDS.split())

_ROWS = (
    _Row(
        pattern="Name: (?P<o>.+)",
        predicate="name",
        text="User's name is {o}",
        category="personal/identity",
        importance=0.9,
    ),
    _Row(
        pattern=r"Age: (?P<o>\d+) \((?P<day>.+)\)",
        predicate="age",
        text="User is {o} years old ({day})",
        category="personal/identity",
        importance=0.9,
    ),
    _Row(pattern="Note: (?P<o>.+)", predicate="asked_to_remember", text="User asked to remember: {o}", importance=0.7),
    _Row(
        pattern="Favourite (?P<label>.+?): (?P<o>.+)",
        predicate="favourite_{label}",
        text="User's favourite {label} is {o}",
        category="preferences",
        importance=0.7,
    ),
    _Row(pattern="Used to (?P<o>.+)", predicate="used_to"),
    _Row(
        pattern=r"(?:Job|Profession): (?:an? )?(?P<o>\w+(?<!ing))|Works as an? (?P<o2>\w+)"
        f"|Is an? (?P<o3>{_PROFESSION})",
        predicate="job",
        text="User works as {a} {o}",
        category="work",
        importance=0.7,
    ),
    _Row(
        pattern="(?P<label>[A-Z][\\w -]+?): (?P<o>.+)",
        predicate="{label}",
        text="User's {label} is {o}",
        category="personal/identity",
        importance=0.9,
    ),
    _Row(
        pattern=f"Lives? (?:in|at|near) (?P<o>.+?){_SINCE}",
        predicate="lives_in",
        category="personal/home",
        importance=0.9,
    ),
    _Row(pattern="No longer lives in (?P<o>.+)", predicate="no_longer_lives_in", category="personal/home"),
    _Row(pattern="Is from (?P<o>.+)", predicate="is_from", category="personal/identity", importance=0.7),
    _Row(pattern=f"Works (?:at|for) (?P<o>.+?){_SINCE}", predicate="works_at", category="work", importance=0.7),
    _Row(pattern=f"Works as (?P<o>.+?){_SINCE}", predicate="job", category="work", importance=0.7),
    _Row(
        pattern="(?:Likes|Loves|Enjoys|Adores|Is an? (?:[\\w-]+ )?fan of) (?P<o>.+)",
        predicate="likes",
        category="preferences",
        importance=0.7,
    ),
    _Row(pattern="Prefers (?P<o>.+)", predicate="prefers", category="preferences", importance=0.7),
    _Row(pattern="(?:Dislikes|Hates|Despises) (?P<o>.+)", predicate="dislikes", category="preferences", importance=0.7),
    _Row(pattern="No longer likes (?P<o>.+)", predicate="no_longer_likes", category="preferences", importance=0.7),
    _Row(pattern="Is allergic to (?P<o>.+)", predicate="allergic_to", category="health", importance=0.9),
    _Row(
        pattern="Has (?:an?|the) (?:(?:bad|severe|strong|mild) )?(?:(?P<one>[\\w-]+) allergy|allergy to (?P<o>.+))",
        predicate="allergic_to",
        text="User is allergic to {o}",
        category="health",
        importance=0.9,
    ),
    _Row(pattern=f"Is (?:an? )?(?P<o>{_DIET})", predicate="diet", category="preferences/food", importance=0.9),
    _Row(pattern="Is (?:now )?married to (?P<o>.+)", predicate="spouse", category="personal/family", importance=0.9),
    _Row(
        pattern="Is (?:now )?(?P<o>married|single|divorced|widowed|engaged)",
        predicate="marital_status",
        category="personal/family",
        importance=0.7,
    ),
    _Row(pattern=f"Is (?P<o>{_NATION})", predicate="nationality", category="personal/identity", importance=0.7),
    _Row(
        pattern=f"Has an? (?:[\\w-]+ )?(?P<kind>{_PET}) (?:called|named) {_A_NAME}",
        predicate="pet",
        object="{kind} {o}",
        text="User's {kind} is called {o}",
        category="personal/pets",
        importance=0.7,
    ),
    _Row(
        pattern=f"Has an? (?:(?:older|younger|little|big|twin) )?(?P<kind>{_RELATION}) (?:called|named) {_A_NAME}",
        predicate="{kind}",
        text="User's {kind} is called {o}",
        category="personal/family",
        importance=0.7,
    ),
    _Row(
        pattern="Plays (?:the )?(?P<o>.+)|Is an? (?P<o2>[\\w-]+) player",
        predicate="plays",
        text="User plays {the}{o}",
        category="interests",
    ),
    _Row(pattern="Wants to (?P<o>.+)", predicate="wants_to", category="plans", importance=0.7),
    _Row(pattern="Is learning (?P<o>.+)", predicate="learns", category="interests"),
    _Row(
        pattern="Is (?P<o>(?:going|flying|travell?ing|moving|driving|visiting|getting|meeting|starting|having) .+)",
        predicate="plans",
        category="plans",
        importance=0.7,
    ),
    _Row(pattern=f"Is (?P<o>{AGE})(?: years old)?", predicate="age", importance=0.7),
    _Row(pattern="Is (?P<o>.+)", predicate="is"),
    _Row(pattern="Has (?P<o>.+)", predicate="has"),
    _Row(pattern="(?P<v>Can't|Doesn't) (?P<verb>\\w+) (?P<o>.+)", predicate="{v} {verb}", importance=0.7),
    _Row(
        pattern="(?P<adverb>Never|Always|Usually|Often|Mostly|No longer) (?P<verb>\\w+) (?P<o>.+)",
        predicate="{adverb} {verb}",
    ),
    _Row(pattern="(?P<verb>[A-Z][a-z]+(?:s|ied|ated)) (?P<o>.+)", predicate="{verb}"),
)
_VERBS = "|".join(third(verb) for verb in STATIVE)
_OF_OTHERS = re.compile(
    r"Their (?P<who>.+?) (?P<rest>(?:is|are|was|has|had|likes?|loves?|hates?|lives?|works?|plays?"
    r"|studies|prefers?|can|can't|doesn't|needs?|wants?|speaks?|eats?|owns?|starts?|begins?|ends?|got|died|moved"
    rf"|goes|were|have|did|{_VERBS})\b.*)"
)
_NAMED = re.compile(r"(?:is|are) called (?P<o>.+)")
_PLACED = re.compile(r"(?P<is>is|are|starts?|begins?|ends?) (?:on|at|in) (?P<o>.+)")
_KIN = frozenset((*RELATIONS, *PETS))


def stated(line: str) -> StatedFact:
    """The fact that a line of core memory, as ``statements.facts_in`` writes it, states."""
    body = line.strip().rstrip(".")
    if other := _OF_OTHERS.fullmatch(body):
        return _of_another(other["who"], other["rest"])
    for row in _ROWS:
        if match := re.fullmatch(row.pattern, body):
            return _filled(row, match, body)
    return StatedFact(text=f"User {_small(body)}.")


def _filled(row: _Row, match: re.Match[str], body: str) -> StatedFact:
    small = {name: value for name, value in match.groupdict().items() if value is not None}
    for name in {"label", "kind"} & small.keys():
        small[name] = small[name].lower()
    predicate = row.predicate.format(**small).lower().replace("'", "")
    small = {**small, "o": _object(small)}
    small["a"] = "an" if small["o"][:1].lower() in tuple("aeiou") else "a"
    small["the"] = "the " if re.search(r"\bthe " + re.escape(small["o"]), body) else ""
    return StatedFact(
        text=f"{row.text.format(**small) if row.text else f'User {_small(body)}'}.",
        predicate=re.sub(r"[\s-]+", "_", predicate),
        object=row.object.format(**small),
        category=row.category,
        importance=row.importance,
    )


def _object(groups: dict[str, str]) -> str:
    """The object under whichever of its names it was found; "a peanut allergy" is one to peanuts."""
    if one := groups.get("one"):
        return one if one.endswith("s") or one in _UNCOUNTED else f"{one}s"
    return groups.get("o") or groups.get("o2") or groups.get("o3") or ""


def _of_another(who: str, rest: str) -> StatedFact:
    """A fact about somebody or something of the person's: its subject is a name, or what it is to them."""
    kind, name = _kind_and_name(who)
    text = f"User's {who} {rest}."
    category = "personal/pets" if kind in PETS else "personal/family" if kind in RELATIONS else "general"
    if (called := _NAMED.fullmatch(rest)) and kind in _KIN:
        predicate = "pet" if kind in PETS else kind
        object_ = f"{kind} {called['o']}" if kind in PETS else called["o"]
        return StatedFact(text=text, predicate=predicate, object=object_, category=category, importance=0.7)
    subject = f"{kind} {name}".strip() if name else f"user's {who.lower()}"
    if called:
        return StatedFact(text=text, subject=subject, predicate="has_name", object=called["o"])
    if placed := _PLACED.fullmatch(rest):
        return StatedFact(
            text=text, subject=subject, predicate=f"{placed['is']}_at", object=placed["o"], category=category
        )
    inner = stated(rest[:1].upper() + rest[1:])
    return StatedFact(
        text=text,
        subject=subject,
        predicate=inner.predicate,
        object=inner.object,
        category=inner.category if category == "general" else category,
        importance=inner.importance,
    )


def _kind_and_name(who: str) -> tuple[str, str]:
    """``older sister Mia`` -> ``sister`` and ``Mia``; the name is empty where there is none."""
    words = who.split()
    name = words[-1] if len(words) > 1 and words[-1][:1].isupper() else ""
    kinds = [word.lower() for word in words if word.lower() in _KIN]
    return (kinds[-1] if kinds else ""), name


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]
