"""Whether a note is of use later: a link for a tool, a command for what was run, a next step for what was decided.

Invariant: a warning names its line and nothing is changed; where nothing is missing there is no warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory.policy.daily_notes import DECISION
from memory.policy.metadata import URL, metadata_of

_NEARBY = 2  # lines before and after
_SHOWN = 60  # characters of a line

_TOOL = re.compile(
    r"\b(?i:tool|library|package|framework|plugin|extension|sdk|api|cli|repo|repository|docs|documentation)\b"
    r"|\b(?i:using|use|used|uses|tried|adopted|switched to|migrated to)\s+(?:the\s+)?[^\W\d_a-z][\w.+#-]+",
)
_ACTION = re.compile(
    r"\b(?:install|deploy|execut|configur|compil|migrat|upgrad|clon|restart|provision)(?:ed|ing|e|s|es)?\b"
    r"|\b(?:ran|run|running|built|build|set up)\b",
    re.I,
)
_NEXT_STEP = re.compile(
    r"\b(?:next|to-?do|then|will|going to|plan(?:s|ned)? to|need(?:s)? to|follow[- ]?up|action item|steps?|tomorrow"
    r"|until|due|deadline|starts? (?:on|with)"
    r"|by (?:\d|monday|tuesday|wednesday|thursday|friday|saturday|sunday|the end))\b"
    r"|[-*+]\s+\[[ ]?\]",
    re.I,
)
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_CODE = re.compile(r"`[^`\n]+`|^[ \t]*\$ \S", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """What is missing.

    Attributes:
        warnings: what is missing where, a sentence each.
        suggestions: what to add, one for each kind of warning.
    """

    warnings: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    """What a line must have nearby.

    Attributes:
        sign: says that a line needs it.
        met_by: whether some lines have it.
    """

    sign: re.Pattern[str]
    met_by: Callable[[str], bool]
    warning: str
    suggestion: str


_CHECKS = (
    _Check(
        sign=_TOOL,
        met_by=lambda lines: URL.search(lines) is not None,
        warning="a tool without a link nearby",
        suggestion="Add the address of each tool: its documentation or its repository.",
    ),
    _Check(
        sign=_ACTION,
        met_by=lambda lines: _CODE.search(lines) is not None or "commands" in metadata_of(lines),
        warning="something was done without an example of the command",
        suggestion="Add the command as it was typed, in backticks or after a $ sign.",
    ),
    _Check(
        sign=DECISION,
        met_by=lambda lines: _NEXT_STEP.search(lines) is not None,
        warning="a decision without a next step",
        suggestion="Add what follows from each decision: what is to be done next, by whom or until when.",
    ),
)


def completeness_of(note: str) -> Completeness:
    """What a note lacks.

    Args:
        note: what a person wrote; code in fences is an example, of which nothing is asked.
    """
    lines = note.splitlines()
    prose = _prose(lines)
    warnings: list[str] = []
    suggestions: list[str] = []
    for check in _CHECKS:
        told = [place for place in prose if check.sign.search(lines[place])]
        missing = [place for place in told if not check.met_by(_near(lines, place))]
        warnings += [f"Line {place + 1}: {check.warning}: {_shown(lines[place])}" for place in missing]
        suggestions += [check.suggestion] if missing else []
    return Completeness(warnings=tuple(warnings), suggestions=tuple(suggestions))


def _prose(lines: Sequence[str]) -> list[int]:
    """The places of the lines that are neither code nor headings."""
    places, in_code = [], False
    for place, line in enumerate(lines):
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code and line.strip() and not line.lstrip().startswith("#"):
            places.append(place)
    return places


def _near(lines: Sequence[str], place: int) -> str:
    """A line with those around it; a line of a fence stands for a command."""
    around = lines[max(0, place - _NEARBY) : place + _NEARBY + 1]
    return "\n".join("`code`" if _FENCE.match(line) else line for line in around)


def _shown(line: str) -> str:
    plain = " ".join(line.split())
    return plain if len(plain) <= _SHOWN else f"{plain[: _SHOWN - 1]}…"
