"""Whether what a clause says can be understood by itself, years later: what is talk, mood or pointing is not kept.

Invariant: a text with a number or a full date in it is never judged to be a mood, and nothing is judged by its
subject alone.
"""

from __future__ import annotations

import re

from bot.offline_rules.wording import words

_ELABORATION = re.compile(
    r"\s*(?:\s[-–—]+|[-–—]\s|[–—])\s*(?!\d).*"
    r"|\s*[,;]?\s+(?:'cause|cuz|although|even though|whenever)\b.*"
    r"|\s*[,;:]\s*(?:and |but |so |though )?(?:it|it's|that|that's|this|they|they're|he|he's|she|she's|there|there's"
    r"|these|those|which|who|but|so|no longer|not|especially|though|you|because|of course|no matter|check|what"
    r"|since (?:it|they|he|she))\b.*",
    re.I | re.S,
)
_DANGLING_WORDS = """
    about also as being during everywhere for from he her him his how into off on onto out over she so than that them
    there these they this those through throughout to too until upon we when where whether which while who with without
    you your it its if not all both having
"""
_DANGLING = frozenset(_DANGLING_WORDS.split())
_MAY_OPEN = re.compile(
    r"(?:on|with|from|for|to|as|off) .*\d|to [a-z]{3,} .+|to [A-Z].*|from home|on (?:my|their) own|for .*[A-Z]"
)
_POINTING = re.compile(
    r"\b(?:it|this|that|these|those|him|her|you|your|yours|there|here|everyone|everything|something|anything"
    r"|someone|somebody|anyone|what|we|ones?|stuff|things?)\b",
    re.I,
)
_ABSTRACT = re.compile(
    r"(?:the|a|an) (?:[\w-]+ )?(?:feelings?|connection|structure|way|fact|energy|freedom|vibes?|idea|moment|sense"
    r"|options?|upside\S*|self-\w+|team)(?!\w)",
    re.I,
)
_MANNER = re.compile(r"[a-z]+ly\W*")
_OF_OTHERS = re.compile(r"\b(?:him|her)\b", re.I)
_DATED_POINTING = re.compile(r"\bthis (?:week(?:end)?|month|year|summer|autumn|fall|winter|spring)\b", re.I)
_VAGUE_WORDS = """
    lot lots bit kind sort way fan huge big total some other many few much more most good great nice new own same first
    really very so just also too always again still even actually pretty quite sure such work stuff theme
"""
_VAGUE = frozenset(_VAGUE_WORDS.split())
_MOOD_WORDS = """
    good great fine okay ok well nice cool fun awesome amazing incredible wonderful fantastic lovely super perfect
    special important terrible awful bad rough tough hard crazy busy happy glad sad excited exciting excellent thrilled
    proud tired grateful thankful stressed nervous worried upset inspiring inspired encouraging supportive rewarding
    finished done ready going gonna motivated motivation rock everything strength big small long cute sweet adorable
    sorry lucky blessed better best worse worst real insane wild boring weird funny hilarious different interesting
    start feeling time day week weekend one so really very pretty quite too super always
"""
_MOODS = frozenset(_MOOD_WORDS.split())
_MOST_WORDS = 18


def plain_clause(clause: str) -> str:
    """The clause without what was added in passing: "I love walks - they are so calming" becomes "I love walks"."""
    return _ELABORATION.sub("", clause, count=1)


def is_substantial(text: str, *, of_another: bool = False) -> bool:
    """Whether the text, an object of a statement, names something.

    Args:
        text: what stands behind the verb, in the person's own words.
        of_another: it is said of somebody who was named before, to whom "her" may point.
    """
    first = next(iter(text.lower().split()), "")
    if first.strip(",.") in _DANGLING and not _MAY_OPEN.match(text):
        return False
    if len(text.split()) > _MOST_WORDS or _points(text, of_another=of_another):
        return False
    if _ABSTRACT.match(text) or _MANNER.fullmatch(text):
        return False
    return any(word not in _VAGUE for word in words(text))


def _points(text: str, *, of_another: bool) -> bool:
    resolved = _DATED_POINTING.sub("", text)
    return _POINTING.search(_OF_OTHERS.sub("", resolved) if of_another else resolved) is not None


def is_mood(text: str) -> bool:
    """Whether the text says no more than how something is felt about: "so amazing", "going well"."""
    told = words(text)
    return not re.search(r"\d", text) and (not told or told[0] in _MOODS or all(word in _MOODS for word in told))
