"""How well entries answer a query in words: BM25 (Robertson and Zaragoza 2009), each word counted once.

SQLite's own ``bm25()`` walks the entries of everybody for each word of a query; this needs only the entries of one
person, and says nothing of how often others use a word. In talk a word hardly ever stands in an entry twice, and
where it does, that says little.

Invariant: a score is above 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Scores = NDArray[np.float64]

_SATURATION = 1.2  # BM25's k1
_LENGTH_SHARE = 0.75  # BM25's b


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One word of a query.

    Attributes:
        entries: those that hold it.
        weight: what holding it is worth.
    """

    entries: Ids
    weight: float


def rarity(holders: int, total: int) -> float:
    """What a word is worth that so many of all entries hold (BM25's idf), above 0."""
    return math.log1p((max(total, holders) - holders + 0.5) / (holders + 0.5))


def best(terms: Sequence[Term], more: Sequence[Term], limit: int) -> dict[int, float]:
    """The entries that hold the most of a query's words, with the sum of these words' weights.

    Args:
        terms: each of them makes its entries candidates.
        more: words that only add to what is a candidate already.
        limit: entries at most; of equals the newest.
    """
    ids, place = np.unique(np.concatenate([term.entries for term in terms]), return_inverse=True)
    weights = np.concatenate([np.full(len(term.entries), term.weight) for term in terms])
    scores: Scores = np.zeros(len(ids))
    np.add.at(scores, place, weights)
    for term in more:
        scores += term.weight * np.isin(ids, term.entries)
    order = np.lexsort((-ids, -scores))[:limit]
    return dict(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def by_length(scores: Mapping[int, float], lengths: Mapping[int, int]) -> dict[int, float]:
    """The same entries with their length counted: a word says more of a short text than of a long one.

    Args:
        scores: from ``best``.
        lengths: of these entries, in any unit; an entry without one is left out.
    """
    known = {entry_id: score for entry_id, score in scores.items() if entry_id in lengths}
    mean = max(1.0, sum(lengths[entry_id] for entry_id in known) / max(1, len(known)))
    return {
        entry_id: score
        * (1 + _SATURATION)
        / (1 + _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths[entry_id] / mean))
        for entry_id, score in known.items()
    }
