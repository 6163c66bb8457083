"""Cuts a long text into pieces that can be searched.

An embedder reads the first 256 tokens of a text and full text ranks long texts poorly, so one long text would be
found by its beginning alone.

Invariant: every word of the text stands in a piece, and no piece without its heading is longer than
``PIECE_CHARACTERS``.
"""

from __future__ import annotations

import re

PIECE_CHARACTERS = 1_000

_HEADING = re.compile(r"\A[^\n]{0,200}?\(\d{1,2} [^\W\d_]+ \d{4}\): ")
_BREAK = re.compile(r"\s+|(?<=[。！？])")


def pieces(text: str, *, heading: str) -> list[str]:
    """The text in pieces, each behind the same heading; a short text is one piece.

    Args:
        text: the text to be searched.
        heading: who said it and when, as every indexed text begins with.
    """
    return [f"{heading}: {piece}" for piece in cut(text)]


def without_heading(piece: str) -> str:
    """What was said in a piece, without the name and the date that it is indexed under."""
    heading = _HEADING.match(piece)
    return piece if heading is None else piece[heading.end() :]


def cut(text: str) -> list[str]:
    """The text in pieces without a heading; a short text is one piece."""
    done = []
    while len(text) > PIECE_CHARACTERS:
        end = _last_break(text)
        done.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*done, text]


def _last_break(text: str) -> int:
    """Where the first piece ends: at the end of a line, else a sentence, else a word, in its second half."""
    ends = [
        (_strength(found[0], text[found.start() - 1]), found.end())
        for found in _BREAK.finditer(text, PIECE_CHARACTERS // 2, PIECE_CHARACTERS)
    ]
    return max(ends)[1] if ends else PIECE_CHARACTERS


def _strength(gap: str, before: str) -> int:
    if "\n" in gap:
        return 2
    return 1 if before in ".!?。！？" else 0
