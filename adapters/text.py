"""Splitting an answer into messages that a platform accepts; pure.

A code block is what Discord and Slack take for one: from a run of three or more backticks, wherever it stands,
to the next run that is at least as long.

Invariant: every part fits the limit, is not blank, and leaves no code block open. Apart from whitespace at the
cuts and the fences that close and reopen a block, the parts joined are the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

SMALLEST_LIMIT = 64
_LONGEST_FENCE = 8
_LONGEST_LANGUAGE = 20
_CLOSING_ROOM = len("\n") + _LONGEST_FENCE

_FENCE = re.compile(rf"(?<!`)`{{3,{_LONGEST_FENCE}}}(?!`)")
_INFO = re.compile(r"([^\s`]*)[^\n`]*\n")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")

_BOUNDARIES = (
    re.compile(r"\n(?:[ \t]*\n)+"),  # paragraph
    re.compile(r"\n"),  # line
    re.compile(r"(?<=[.!?…])[ \t]+|(?<=[。！？])"),  # sentence
    re.compile(r"[ \t]+"),  # word
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CodeBlock:
    """Offsets into the text. A block that is never closed ends, with an empty closing fence, where the text does.

    Attributes:
        start: where the opening fence begins.
        content: where the code begins, after the line of the opening fence.
        end: where the closing fence begins.
        after: just behind the closing fence.
        fence: the backticks of the opening fence.
        language: its language, or nothing where it has none or one too long to repeat.
    """

    start: int
    content: int
    end: int
    after: int
    fence: str
    language: str

    @property
    def reopening(self) -> str:
        return f"{self.fence}{self.language}\n"

    @property
    def closing(self) -> str:
        return f"\n{self.fence}"


def split(text: str, limit: int) -> list[str]:
    """Split Markdown into messages, at the end of a paragraph, line, sentence or word where there is one.

    A code block that is cut is closed in one part and reopened, with its language, in the next. A block that
    the text never closes is closed, since Discord would show it as prose.

    Args:
        text: Markdown.
        limit: the most characters of a part; at least ``SMALLEST_LIMIT``.

    Returns:
        The parts in order; none for a blank text.

    Raises:
        ValueError: the limit is too small to hold the fences of a cut code block and some code.
    """
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a limit of {limit} is too small; give at least {SMALLEST_LIMIT}")
    text = text.strip("\n").rstrip()
    blocks = list(_code_blocks(text))
    parts = []
    start = 0
    while start < len(text):
        block = _block_open_at(start, blocks)
        opening = block.reopening if block else ""
        body, next_start = _next_body(text, start, limit - len(opening), blocks)
        if body.strip():
            parts.append(opening + body)
        start = next_start
        if _block_open_at(start, blocks) is None:
            start = _end_of_blank_lines(text, start)
    return parts


def _end_of_blank_lines(text: str, start: int) -> int:
    found = _BLANK_LINES.match(text, start)
    return found.end() if found else start


def _code_blocks(text: str) -> Iterator[_CodeBlock]:
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif len(fence[0]) >= len(opening[0]):
            yield _code_block(text, opening, fence.start(), fence.end())
            opening = None
    if opening is not None:
        yield _code_block(text, opening, len(text), len(text))


def _code_block(text: str, opening: re.Match[str], end: int, after: int) -> _CodeBlock:
    info = _INFO.match(text, opening.end())
    language = info[1] if info and len(info[1]) <= _LONGEST_LANGUAGE else ""
    content = info.end() if info else opening.end()
    return _CodeBlock(start=opening.start(), content=content, end=end, after=after, fence=opening[0], language=language)


def _block_before(position: int, blocks: list[_CodeBlock]) -> _CodeBlock | None:
    """The last block that begins before the position; no other can hold it."""
    index = bisect_left(blocks, position, key=lambda block: block.start)
    return blocks[index - 1] if index else None


def _block_open_at(position: int, blocks: list[_CodeBlock]) -> _CodeBlock | None:
    block = _block_before(position, blocks)
    return block if block is not None and position < block.after else None


def _next_body(text: str, start: int, room: int, blocks: list[_CodeBlock]) -> tuple[str, int]:
    """What goes into the part that begins at ``start``, a closing fence included, and where the next begins."""
    closing = blocks[-1].closing if blocks and blocks[-1].end == blocks[-1].after else ""
    if len(text) - start + len(closing) <= room:
        return text[start:] + closing, len(text)
    end, next_start = _cut(text, start, start + room - _CLOSING_ROOM, blocks)
    body = text[start:end].rstrip()
    block = _block_open_at(end, blocks)
    if block is None:
        return body, next_start
    if not text[next_start : block.end].strip():
        next_start = block.after  # the closing fence we add takes the place of its own
    return body + block.closing, next_start


def _cut(text: str, start: int, last: int, blocks: list[_CodeBlock]) -> tuple[int, int]:
    """Where to end a part, at ``last`` at the latest, and where to begin the next."""
    for earliest in ((start + last) // 2, start + 1):
        for boundary in _BOUNDARIES:
            cuts = [
                found.span()
                for found in boundary.finditer(text, start, last + 1)
                if earliest <= found.start() <= last and _may_cut(found.start(), blocks)
            ]
            if cuts:
                return cuts[-1]
    position = _hard_cut(start, last, blocks)
    return position, position


def _may_cut(position: int, blocks: list[_CodeBlock]) -> bool:
    """Not within a fence, nor where it would leave the opening fence of a block alone in the earlier part."""
    block = _block_before(position, blocks)
    return block is None or not (position <= block.content or block.end < position < block.after)


def _hard_cut(start: int, last: int, blocks: list[_CodeBlock]) -> int:
    block = _block_before(last, blocks)
    if block is None:
        return last
    if start < block.start and last <= block.content:
        return block.start
    if start < block.end < last < block.after:
        return block.end
    return last
