"""Limits on summaries and on what goes into one: pure functions of texts and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+")

T = TypeVar("T")


def within_words(text: str, limit: int) -> str:
    """The longest run of whole sentences from the beginning that has at most ``limit`` words.

    A first sentence that is too long by itself is cut at a word.
    """
    kept: list[str] = []
    left = limit
    for sentence in _SENTENCE_END.split(text.strip()):
        words = sentence.split()
        if len(words) > left:
            if not kept:
                kept.append(" ".join(words[:limit]))
            break
        if words:
            kept.append(sentence.strip())
            left -= len(words)
    return "\n".join(kept)


def in_pieces(items: Sequence[T], sizes: Sequence[int], limit: int) -> Iterator[tuple[T, ...]]:
    """Cut a sequence into runs whose sizes add up to at most ``limit``; an item over the limit stands alone.

    Args:
        items: what to cut, in order.
        sizes: the size of each item, in the unit of ``limit``.
        limit: the largest sum of one run.
    """
    piece: list[T] = []
    total = 0
    for item, size in zip(items, sizes, strict=True):
        if piece and total + size > limit:
            yield tuple(piece)
            piece, total = [], 0
        piece.append(item)
        total += size
    if piece:
        yield tuple(piece)
