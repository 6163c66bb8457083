"""Which texts look like an answer, by their form alone: what asks seldom answers, "when" wants a time, "how many" a
number.

Invariant: nothing is left out for its form, which moves a score by a tenth at most.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.policy.calendar_names import MONTHS, WEEKDAYS
from memory.policy.chunking import without_heading

# In brackets recall@10 and mean reciprocal rank with these and with others, as in ``policy.ranking``: .852 and .665.
_SHARE_OF_A_QUESTION = 0.95  # (1: .843 .656, 0.9: .847 .663)
_BOOST_OF_KIND = 1.1  # (1: .850 .659, 1.15: .851 .671)

_MOMENTS = """
    yesterday today tonight tomorrow ago last next recently just week weeks weekend month months year years morning
    evening
"""
_NUMBERS = """
    one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
    once twice dozen couple few first second third
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of answer.

    Attributes:
        asked: what the question says that wants it.
        words: words, in lower case, one of which a text says that may be it.
        digits: or it has these.
    """

    asked: re.Pattern[str]
    words: frozenset[str]
    digits: re.Pattern[str]


_KINDS = (
    Kind(
        asked=re.compile(
            r"^\W*(?:when|(?:what|which) (?:date|day|month|year)|how long|wann|quand|cu[aá]ndo|quando|когда)\b", re.I
        ),
        words=frozenset((*_MOMENTS.split(), *WEEKDAYS, *MONTHS)),
        digits=re.compile(r"\b\d{4}\b"),
    ),
    Kind(
        asked=re.compile(r"\bhow (?:many|much|old|often|long|far|tall|big)\b|\b(?:wie ?viele?|combien)\b", re.I),
        words=frozenset(_NUMBERS.split()),
        digits=re.compile(r"\d"),
    ),
)
_WORD = re.compile(r"\w+")
_ASKS = re.compile(r"[?？؟]\W*$")


def kinds_asked_for(query: str) -> tuple[Kind, ...]:
    """The kinds of answer that a question wants; none for most."""
    return tuple(kind for kind in _KINDS if kind.asked.search(query))


def fitness(text: str, wanted: Sequence[Kind]) -> float:
    """How much a text looks like an answer, as a factor of its score.

    Args:
        text: what was said, as it is indexed.
        wanted: what ``kinds_asked_for`` gives for the query.
    """
    # Most texts hold no mark at all, and the pattern walks each of them to its end.
    asks = ("?" in text or "？" in text or "؟" in text) and _ASKS.search(text)
    share = _SHARE_OF_A_QUESTION if asks else 1.0
    return share * (_BOOST_OF_KIND if wanted and _is_any_of(wanted, text) else 1.0)


def _is_any_of(kinds: Sequence[Kind], text: str) -> bool:
    said = without_heading(text)  # which has a date
    words = _WORD.findall(said.lower())  # takes a quarter of the time of a pattern with all of a kind's words
    return any(not kind.words.isdisjoint(words) or kind.digits.search(said) for kind in kinds)
