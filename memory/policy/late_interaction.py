"""Late interaction: a text answers a query as well as its best token answers each token of the query.

That is MaxSim (ColBERT, Khattab and Zaharia 2020), with three additions. A word without content of its own ("what",
"did", "the") counts for a quarter. What one turn of a conversation leaves unsaid the turns around it say ("How long
have you been married?" - "Five years already!"), so each token of the query may also find its match there, at a little
less. And a token that all texts answer alike tells none from the others, and counts for less. MaxSim alone finds .719
of the turns that answer questions about public conversations among the first ten, with the first addition .753, with
the turns beside it .796; in the ranking of today the turns further off add .008, and the third addition .017.

Invariant: a likeness lies between -1 and 1, as a cosine does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory.indexes.stop_words import STOP_WORDS
from memory.ports import EmbeddedText, Tokens, Vectors

_WEIGHT_OF_EMPTY_WORDS = 0.25  # 0.1 finds as much; 0 would leave nothing of "Who are you?"
_WEIGHT_OF_NEIGHBOURS = 0.85  # 1 finds as much, but puts the neighbour of an answer level with it
# What was learned from a text says what it says, in other words. From 0.85 on, facts bring up what is not asked for: of
# 200 questions (bench/injection.py) .895 and not .905 then find their message among five.
_WEIGHT_OF_FACTS = 0.8
_WEIGHT_OF_SECOND_NEIGHBOURS = (
    0.72  # the square of the neighbours' (see ``policy.ranking``; 0: .844 .661, 0.6: .849 .666)
)
_USUAL_MATCH = 0.45  # of a token with the best one of a text that has nothing to do with it
_TEXTS_UNSEEN = 20  # that would match as usual, so that the only text there is is no evidence of how usual a match is
_TOKEN_LENGTH = 127
_NOTHING = 1e-6
# In multiplications. A larger product is shared between threads, which on a busy machine wait for one another: the
# 5,000 tokens of 120 texts take 20 ms at once, 0.7 ms text by text and 0.24 ms so.
_LARGEST_PRODUCT = 250_000

_WORD = re.compile(r"[^\W_]+")

Places = NDArray[np.intp]
"""Rows of an array."""


def query_tokens(text: str, embedded: EmbeddedText) -> Vectors:
    """The vectors of a query's tokens, each as long as its weight; the weights sum to 1.

    Args:
        text: the query.
        embedded: what the embedder made of it.

    Returns:
        an array of shape (tokens, token dimensions); without rows for a text without tokens.
    """
    content = [(word.start(), word.end()) for word in _WORD.finditer(text) if _has_content(word[0].lower())]
    weights = np.array(
        [
            1.0 if any(start <= first and last <= end for start, end in content) else _WEIGHT_OF_EMPTY_WORDS
            for first, last in embedded.spans
        ],
        dtype=np.float32,
    )
    unit = embedded.tokens.astype(np.float32) / _TOKEN_LENGTH
    weighted: Vectors = unit * (weights / max(weights.sum(), 1.0))[:, None]
    return weighted


def _has_content(word: str) -> bool:
    return word not in STOP_WORDS and not (len(word) == 1 and word.isascii())


def best_matches(query: Vectors, tokens: Tokens, lengths: Sequence[int]) -> Vectors:
    """How well each token of a query is answered by the best token of each text, times its weight.

    Args:
        query: from ``query_tokens``.
        tokens: those of all texts, one text after the other, of shape (tokens, token dimensions).
        lengths: how many of them are each text's; none may be without tokens.

    Returns:
        an array of shape (texts, tokens of the query).
    """
    if not lengths:
        return np.zeros((0, len(query)), dtype=np.float32)
    weights = np.ascontiguousarray(query.T / _TOKEN_LENGTH)
    exact = tokens.astype(np.float32)
    matches = np.empty((len(tokens), len(query)), dtype=np.float32)
    rows = max(1, _LARGEST_PRODUCT // max(1, weights.size))
    pieces, rest = divmod(len(tokens), rows)
    whole = len(tokens) - rest
    products = matches[:whole].reshape(pieces, rows, len(query))
    np.matmul(exact[:whole].reshape(pieces, rows, exact.shape[1]), weights, out=products)
    np.matmul(exact[whole:], weights, out=matches[whole:])
    best: Vectors = np.maximum.reduceat(matches, np.cumsum([0, *lengths[:-1]]), axis=0)
    return best


def telling(query: Vectors, matches: Vectors) -> Vectors:
    """What each token of a query counts for, beside its weight: the less, the better all texts match it.

    A token that every text answers tells none from the others, as a word that stands in all of them (what full text
    calls rarity). What the tokens weigh together stays as it is.

    Args:
        query: from ``query_tokens``.
        matches: the best matches of all texts that are compared, of shape (texts, tokens of the query).

    Returns:
        an array of shape (tokens of the query,), to be multiplied with matches.
    """
    weights = np.maximum(np.linalg.norm(query, axis=1), _NOTHING)
    usual = (np.sum(matches, axis=0) / weights + _TEXTS_UNSEEN * _USUAL_MATCH) / (len(matches) + _TEXTS_UNSEEN)
    rare = 1.0 - np.clip(usual, 0.0, 0.95)
    share: Vectors = rare * (weights.sum() / max(float(rare @ weights), _NOTHING))
    return share


def likenesses(
    matches: Vectors, beside: Places, learned: Sequence[tuple[int, Vectors]] = (), counting: Vectors | float = 1.0
) -> Vectors:
    """How well each text answers a query, together with the texts around it and what was learned from it.

    Args:
        matches: the best matches of each text, of shape (texts, tokens of the query); minus infinity for one of which
            nothing is known.
        beside: which texts stand before and after each, by their rows in ``matches``, of shape (texts, at most so many
            beside one); the number of texts where there is none.
        learned: a text, by its row, and the best matches of a fact learned from it, of shape (tokens of the query,).
        counting: what each token counts for, from ``telling``.

    Returns:
        an array of shape (texts,).
    """
    answers = np.vstack([matches, np.full((1, matches.shape[1]), -np.inf, dtype=np.float32)])  # what is not there: none
    best = matches.copy()
    for places, weight in ((beside, _WEIGHT_OF_NEIGHBOURS), (_further(beside), _WEIGHT_OF_SECOND_NEIGHBOURS)):
        np.maximum(best, weight * answers[places].max(axis=1, initial=-np.inf), out=best)
    for row, fact in learned:
        np.maximum(best[row], _WEIGHT_OF_FACTS * fact, out=best[row])
    sums: Vectors = (best * counting).sum(axis=1)
    return sums


def _further(beside: Places) -> Places:
    """What stands beside the texts beside each, without these and itself."""
    texts = len(beside)
    further = np.vstack([beside, np.full((1, beside.shape[1]), texts)])[beside].reshape(texts, -1)
    known = np.column_stack([beside, np.arange(texts)])
    return np.where((further[:, :, None] == known[:, None, :]).any(axis=2), texts, further)
