"""How many of a query's words stand in a text, for searches that do without an index.

Invariant: from 0 to 1, and 1 exactly where every word of the query stands there.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"\w+")


def words_of(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return set(_WORDS.findall(text.casefold()))


def overlap(query: str, text: str) -> float:
    """The share of the query's words that stand in the text; 0 for a query without words."""
    asked = words_of(query)
    return len(asked & words_of(text)) / len(asked) if asked else 0.0
