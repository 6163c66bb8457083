"""How well entries answer a query in words: BM25 (Robertson and Zaragoza 2009), each word counted once.

SQLite's own ``bm25()`` walks the entries of everybody for each word of a query; this needs only the entries of one
person, and says nothing of how often others use a word. In talk a word hardly ever stands in an entry twice, and
where it does, that says little.

Invariant: a score is above 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
        entries: those that hold it, each once.
        weight: what holding it is worth.
    """

    entries: Ids
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Entries and their scores, side by side."""

    ids: Ids
    scores: Scores


def rarity(holders: int, total: int) -> float:
    """What a word is worth that so many of all entries hold (BM25's idf), above 0."""
    return math.log1p((max(total, holders) - holders + 0.5) / (holders + 0.5))


def best(terms: Sequence[Term], more: Sequence[Term], limit: int) -> Scored:
    """The entries that hold the most of a query's words, with the sum of these words' weights, best first.

    Args:
        terms: each of them makes its entries candidates.
        more: words that only add to what is a candidate already.
        limit: entries at most; of equals the newest.
    """
    ids, place = np.unique(np.concatenate([term.entries for term in terms]), return_inverse=True)
    weights = np.repeat([term.weight for term in terms], [len(term.entries) for term in terms])
    scores: Scores = np.bincount(place, weights).astype(np.float64, copy=False)
    for term in more:
        scores[_places(term.entries, ids)] += term.weight
    return _first(ids, scores, limit)


def by_length(scored: Scored, lengths: NDArray[np.int64], limit: int) -> Scored:
    """The best of these entries with their length counted, best first: a word says more of a short text than of a long.

    Args:
        scored: from ``best``.
        lengths: of the same entries, in any unit; one that has none, as it is gone, has -1 and is left out.
        limit: entries at most; of equals the newest.
    """
    known = lengths >= 0
    ids, scores, own = scored.ids[known], scored.scores[known], lengths[known]
    mean = max(1.0, float(np.mean(own))) if len(own) else 1.0
    weighed = scores * (1 + _SATURATION) / (1 + _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * own / mean))
    return _first(ids, weighed, limit)


def _places(entries: Ids, ids: Ids) -> NDArray[np.intp]:
    """Where in ``ids``, which rise, those of the entries stand that are there."""
    places = np.minimum(np.searchsorted(ids, entries), len(ids) - 1)
    there: NDArray[np.intp] = places[ids[places] == entries]
    return there


def _first(ids: Ids, scores: Scores, limit: int) -> Scored:
    if 0 < limit < len(ids):  # so that few are put in order
        reached = scores >= np.partition(scores, -limit)[-limit]
        ids, scores = ids[reached], scores[reached]
    order = np.lexsort((-ids, -scores))[: max(0, limit)]
    return Scored(ids=ids[order], scores=scores[order])
