"""Whether erased words still stand in a file: which pieces of text to look for, and where bytes hold them.

Invariant: ``find`` reports every occurrence in the bytes it is given, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

SHORTEST_PIECE = 6  # characters; a shorter one stands in any file by chance

# JSON writes quotes, backslashes and line ends differently, so a piece holds none of them.
_FRAGMENT = re.compile(r'[^"\\\x00-\x1f\x7f]{8,24}')

# A full-text index keeps words in lower case, without their inflected ends, and without the beginning that a word
# shares with the word before it in the alphabet. What is left of a long word in any case is its middle.
_LONG_WORD = re.compile(r"[A-Za-z0-9]{11,}")
_MIDDLE = slice(2, 9)

_HASH_BITS = 20
_HASH_FACTOR = np.uint32(2_654_435_761)  # Knuth's multiplicative hashing: 2**32 / golden ratio
_HEAD = 4  # bytes


def fragments(texts: Iterable[str], *, limit: int) -> list[str]:
    """Pieces of 8 to 24 characters, evenly from all over the texts.

    Args:
        texts: what was kept.
        limit: pieces at most.
    """
    return _evenly([piece for text in texts for piece in _FRAGMENT.findall(text)], limit)


def word_middles(texts: Iterable[str], *, limit: int) -> list[str]:
    """What a full-text index keeps of the longer words, in lower case, evenly from all over the texts.

    Args:
        texts: what was indexed.
        limit: pieces at most.
    """
    return _evenly([word.lower()[_MIDDLE] for text in texts for word in _LONG_WORD.findall(text)], limit)


def _evenly(pieces: Sequence[str], limit: int) -> list[str]:
    distinct = list(dict.fromkeys(pieces))
    stride = -(-len(distinct) // limit) or 1
    return distinct[::stride]


class Needles:
    """Finds many short pieces of text in one pass over bytes.

    Args:
        pieces: what to find, each of at least ``SHORTEST_PIECE`` characters; shorter ones are left out.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self._by_head: dict[bytes, list[tuple[bytes, str]]] = {}
        for piece in dict.fromkeys(pieces):
            if len(piece) >= SHORTEST_PIECE:
                needle = piece.encode()
                self._by_head.setdefault(needle[:_HEAD], []).append((needle, piece))
        self.longest = max((len(needle) for found in self._by_head.values() for needle, _ in found), default=1)
        self._possible = np.zeros(1 << _HASH_BITS, dtype=np.bool_)
        heads = np.frombuffer(b"".join(self._by_head), dtype="<u4")
        self._possible[_hashed(heads)] = True

    def __len__(self) -> int:
        return sum(map(len, self._by_head.values()))

    def find(self, data: bytes) -> Iterator[tuple[int, str]]:
        """Each occurrence as its position in ``data`` and the piece found there, in order of position."""
        if len(data) < _HEAD:
            return
        heads = np.ndarray(shape=(len(data) - _HEAD + 1,), dtype="<u4", buffer=data, strides=(1,))
        for position in np.flatnonzero(self._possible[_hashed(heads)]).tolist():
            for needle, piece in self._by_head.get(data[position : position + _HEAD], ()):
                if data.startswith(needle, position):
                    yield position, piece


def _hashed(heads: np.ndarray[Any, np.dtype[np.uint32]]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    return (heads * _HASH_FACTOR) >> np.uint32(32 - _HASH_BITS)
