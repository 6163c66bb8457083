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
from typing import NamedTuple

import numpy as np

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


def best_matches(query: Vectors, texts: Sequence[Tokens]) -> Vectors:
    """How well each token of a query is answered by the best token of each text, times its weight.

    Args:
        query: from ``query_tokens``.
        texts: the tokens of each text, of shape (its tokens, token dimensions); none may be without tokens.

    Returns:
        an array of shape (texts, tokens of the query).
    """
    if not texts:
        return np.zeros((0, len(query)), dtype=np.float32)
    weights = np.ascontiguousarray(query.T / _TOKEN_LENGTH)
    tokens = np.concatenate(texts).astype(np.float32)
    matches = np.empty((len(tokens), len(query)), dtype=np.float32)
    rows = max(1, _LARGEST_PRODUCT // max(1, weights.size))
    for start in range(0, len(tokens), rows):
        np.matmul(tokens[start : start + rows], weights, out=matches[start : start + rows])
    beginnings = np.cumsum([0, *map(len, texts[:-1])])
    best: Vectors = np.maximum.reduceat(matches, beginnings, axis=0)
    return best


def telling(query: Vectors, matches: Sequence[Vectors]) -> Vectors:
    """What each token of a query counts for, beside its weight: the less, the better all texts match it.

    A token that every text answers tells none from the others, as a word that stands in all of them (what full text
    calls rarity). What the tokens weigh together stays as it is.

    Args:
        query: from ``query_tokens``.
        matches: the best matches of all texts that are compared, each of shape (tokens of the query,).

    Returns:
        an array of shape (tokens of the query,), to be multiplied with matches.
    """
    weights = np.maximum(np.linalg.norm(query, axis=1), _NOTHING)
    usual = (np.sum(matches, axis=0) / weights + _TEXTS_UNSEEN * _USUAL_MATCH) / (len(matches) + _TEXTS_UNSEEN)
    rare = 1.0 - np.clip(usual, 0.0, 0.95)
    share: Vectors = rare * (weights.sum() / max(float(rare @ weights), _NOTHING))
    return share


class Around(NamedTuple):
    """The best matches of a text and of what stands around it, each of shape (tokens of the query,).

    Attributes:
        own: the text's.
        beside: those of the texts before and after it.
        further: those of the texts beside these.
        learned: those of the facts learned from it.
    """

    own: Vectors
    beside: Sequence[Vectors] = ()
    further: Sequence[Vectors] = ()
    learned: Sequence[Vectors] = ()


def likenesses(texts: Sequence[Around], counting: Vectors | float = 1.0) -> list[float]:
    """How well each text answers a query, together with the texts around it and what was learned from it.

    Args:
        texts: what is known of each.
        counting: what each token counts for, from ``telling``.
    """
    if not texts:
        return []
    rows: list[Vectors] = []
    weights: list[float] = []
    beginnings: list[int] = []
    for own, beside, further, learned in texts:
        beginnings.append(len(rows))
        rows += (own, *beside, *further, *learned)
        weights += [1.0] + [_WEIGHT_OF_NEIGHBOURS] * len(beside) + [_WEIGHT_OF_SECOND_NEIGHBOURS] * len(further)
        weights += [_WEIGHT_OF_FACTS] * len(learned)
    # One array for all texts: text by text this takes several times as long.
    matches = np.concatenate(rows).reshape(len(rows), -1) * np.array(weights, dtype=np.float32)[:, None]
    best: Vectors = np.maximum.reduceat(matches, beginnings, axis=0)
    sums: list[float] = (best * counting).sum(axis=1).tolist()
    return sums
