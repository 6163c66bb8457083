"""Late interaction: a text answers a query as well as its best token answers each token of the query.

That is MaxSim (ColBERT, Khattab and Zaharia 2020), with two additions. A word without content of its own ("what",
"did", "the") counts for a quarter. And what one turn of a conversation leaves unsaid the turn beside it says ("How long
have you been married?" - "Five years already!"), so each token of the query may also find its match there, at a little
less. MaxSim alone finds .719 of the turns that answer questions about public conversations among the first ten, with
the first addition .753, with both .796.

Invariant: a likeness lies between -1 and 1, as a cosine does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from memory.indexes.stop_words import STOP_WORDS
from memory.ports import EmbeddedText, Tokens, Vectors

_WEIGHT_OF_EMPTY_WORDS = 0.25  # 0.1 finds as much; 0 would leave nothing of "Who are you?"
_WEIGHT_OF_NEIGHBOURS = 0.85  # 1 finds as much, but puts the neighbour of an answer level with it
# What was learned from a text says what it says, in other words. From 0.85 on, facts bring up what is not asked for: of
# 200 questions (bench/injection.py) .895 and not .905 then find their message among five.
_WEIGHT_OF_FACTS = 0.8
_TOKEN_LENGTH = 127
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


def likeness(own: Vectors, beside: Iterable[Vectors], learned: Iterable[Vectors] = ()) -> float:
    """How well a text answers a query, together with the texts beside it and what was learned from it.

    Args:
        own: its best matches, of shape (tokens of the query,).
        beside: those of the texts before and after it.
        learned: those of the facts learned from it.
    """
    best = own
    for matches in beside:
        best = np.maximum(best, _WEIGHT_OF_NEIGHBOURS * matches)
    for matches in learned:
        best = np.maximum(best, _WEIGHT_OF_FACTS * matches)
    return float(best.sum())
