"""Differences between two texts: to be shown, and to be taken back.

Invariant: taking a change back from the very text it made gives the text before it.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")


def diff_lines(before: str, after: str) -> list[str]:
    """The difference as lines that begin with ``+``, ``-`` or a space, a sentence each: summaries have long lines."""
    old, new = _sentences(before), _sentences(after)
    shown: list[str] = []
    for operation, old_start, old_end, new_start, new_end in SequenceMatcher(
        a=old, b=new, autojunk=False
    ).get_opcodes():
        if operation == "equal":
            shown += [f"  {line}" for line in old[old_start:old_end]]
        else:
            shown += [f"- {line}" for line in old[old_start:old_end]]
            shown += [f"+ {line}" for line in new[new_start:new_end]]
    return shown


def reverse_lines(current: str, before: str, after: str) -> str:
    """Take a change back from a text that may have changed further since.

    Lines that the change added go, where they still stand; lines it removed come back, each behind the line it stood
    behind, or at the end where that one is gone. A line that somebody wrote again meanwhile is not doubled.

    Args:
        current: the text now.
        before, after: the text before and after the change.
    """
    if current == after:
        return before
    old, new = before.splitlines(), after.splitlines()
    added, removed = Counter(new) - Counter(old), Counter(old) - Counter(new)
    lines = _without(current.splitlines(), added)
    for position, line in enumerate(old):
        if removed[line] and lines.count(line) < old.count(line):
            removed[line] -= 1
            lines.insert(_place(lines, old[:position]), line)
    return "\n".join(lines)


def _sentences(text: str) -> list[str]:
    return [sentence for line in text.splitlines() for sentence in _SENTENCE_END.split(line) if sentence]


def _without(lines: list[str], gone: Counter[str]) -> list[str]:
    """The lines without the last of each that is to go: what was added stands at the end as a rule."""
    left = Counter(gone)
    kept: list[str] = []
    for line in reversed(lines):
        if left[line]:
            left[line] -= 1
        else:
            kept.append(line)
    return kept[::-1]


def _place(lines: list[str], preceding: list[str]) -> int:
    """Where a line goes: behind the nearest of the lines that stood before it; at the end where none is left."""
    for line in reversed(preceding):
        if line in lines:
            return len(lines) - lines[::-1].index(line)
    return 0 if not preceding else len(lines)
