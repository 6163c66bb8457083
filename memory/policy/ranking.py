"""How what the indexes say of an entry becomes one score, and what is too far off to be shown.

Invariant: scores lie between 0 and 1 (archival scores below 1.2), so that hits of two sources can be put in one
order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.records import EntryScore

_COSINE_WEIGHT = 2.0  # against 1 for full text; the plain sum finds more than rank fusion does

# Measured with all-MiniLM-L6-v2 on public conversations. A turn that answers a question, among the first five, has
# a cosine above 0.30 in 99.7 % of cases; a question about something never spoken of hardly ever reaches it. A turn
# found by one rare word (a name, a code) often lies lower, so a strong match of words counts too, unless the
# meaning is plainly another one.
_SIMILARITY_FLOOR = 0.30
_STRONG_TEXT = 0.5
_SIMILARITY_FLOOR_OF_STRONG_TEXT = 0.10

_WORD = re.compile(r"[^\W_]+")
_SHORTEST_NUMBER = 4  # digits: a year or a code may be looked for, the numbers of "2+2" may not
_SMALL_TALK_WORDS = """
    a afternoon again ah aha all alright am and are awesome bye cheers cool cya date day do doing evening fine for
    goodbye good great haha hahaha have hello hey hi hiya hmm how hows i is it its later lol lot me morning much my
    nah nice night no nope oh ok okay our perfect please right see so sup sure thank thanks that the there thx time
    to today tonight too u up very we welcome well what whats wow ya yay yeah yep yes yo you your
"""
_SMALL_TALK = frozenset(_SMALL_TALK_WORDS.split())

_ACCESS_BOOST = 0.2
_ACCESSES_OF_HALF_BOOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEntry:
    """An entry in its place among everything one search found.

    Attributes:
        entry: what the indexes said.
        text_share: its full-text score as a share of the best one of this search, 0 to 1.
        score: text and meaning together, 0 to 1.
    """

    entry: EntryScore
    text_share: float
    score: float


def rank(found: Sequence[EntryScore]) -> list[RankedEntry]:
    """One entry of each record, its best one, best first.

    The score is ``(text / best text + 2 x cosine) / 3``; what only one index found counts 0 on the other side.

    Args:
        found: everything one search found, in any order.
    """
    best_text = max((entry.text_score for entry in found), default=0.0)
    best: dict[int, RankedEntry] = {}
    for entry in found:
        candidate = _ranked(entry, best_text)
        present = best.get(entry.record_id)
        if present is None or candidate.score > present.score:
            best[entry.record_id] = candidate
    return sorted(best.values(), key=lambda ranked: (-ranked.score, -ranked.entry.record_id))


def _ranked(entry: EntryScore, best_text: float) -> RankedEntry:
    text_share = entry.text_score / best_text if best_text > 0 else 0.0
    similarity = max(0.0, entry.similarity or 0.0)
    score = (text_share + _COSINE_WEIGHT * similarity) / (1.0 + _COSINE_WEIGHT)
    return RankedEntry(entry=entry, text_share=text_share, score=score)


def above_floor(
    ranked: Sequence[RankedEntry], query: str, *, similarity_floor: float = _SIMILARITY_FLOOR
) -> list[RankedEntry]:
    """The entries worth showing unasked, in the given order; none where the query asks for nothing.

    Args:
        ranked: what ``rank`` returned.
        query: the text that was searched for.
        similarity_floor: cosine similarity that suffices without words in common.
    """
    if not has_content(query):
        return []
    return [entry for entry in ranked if is_relevant(entry, similarity_floor=similarity_floor)]


def is_relevant(ranked: RankedEntry, *, similarity_floor: float = _SIMILARITY_FLOOR) -> bool:
    """Whether the entry is close enough in meaning, or in words. One not embedded yet is judged by words alone."""
    similarity = ranked.entry.similarity
    strong_text = ranked.text_share >= _STRONG_TEXT
    if similarity is None:
        return strong_text
    return similarity >= similarity_floor or (strong_text and similarity >= _SIMILARITY_FLOOR_OF_STRONG_TEXT)


def has_content(query: str) -> bool:
    """Whether any word of the query is more than a greeting, a thank-you, a lone letter or a small number."""
    return any(_is_content(word.lower()) for word in _WORD.findall(query))


def _is_content(word: str) -> bool:
    if word.isdecimal():
        return len(word) >= _SHORTEST_NUMBER
    return word not in _SMALL_TALK and not (len(word) == 1 and word.isascii())


def why_found(ranked: RankedEntry) -> str:
    """Why a search returned the entry, in a few words for people."""
    reasons = []
    if ranked.text_share > 0:
        reasons.append("words in common")
    if ranked.entry.similarity is not None and ranked.entry.similarity >= _SIMILARITY_FLOOR:
        reasons.append(f"similar meaning ({ranked.entry.similarity:.2f})")
    return " and ".join(reasons) or "the nearest there is"


def archival_score(
    *,
    similarity: float,
    importance: float,
    days_since_access: float,
    access_count: int,
    recency_weight: float,
) -> float:
    """The rank of an archival passage.

    ``similarity x (0.5 + 0.5 x importance) x (0.7 + 0.3 x exp(-recency_weight x days)) x access factor``. The
    access factor is 1 for a passage never returned before and nears 1.2 for one returned often: bounded, so that
    what was once popular cannot crowd out the rest.

    Args:
        similarity: the score of ``rank``, 0 to 1.
        importance: 0 to 1.
        days_since_access: days since a search last returned it, or since it was stored.
        access_count: how often a search returned it.
        recency_weight: how fast it fades, per day; 0 for not at all.
    """
    recency = 0.7 + 0.3 * math.exp(-recency_weight * max(0.0, days_since_access))
    frequency = 1.0 + _ACCESS_BOOST * access_count / (access_count + _ACCESSES_OF_HALF_BOOST)
    return similarity * (0.5 + 0.5 * importance) * recency * frequency
