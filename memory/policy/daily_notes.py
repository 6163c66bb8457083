"""Daily notes: how the journal of a day is written for people, and what is taken in of what people write there.

A note of a day is ``2026-03-02.md``. What a person writes stands above a line that marks where the journal begins.

Invariant: what stands below the mark is never read as anybody's words, and what stands above it is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from typing import Any

from memory.policy.answers import share_of
from memory.policy.category_tree import path_of
from memory.policy.loose_json import read_json
from memory.policy.metadata import metadata_of
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.records import JournalEntry

_MARK = (
    "<!-- Journal by Keepsake. What stands above this line is yours and is read; what stands below is written anew. -->"
)
_MARKED = re.compile(r"^[ \t]*<!-- Journal by Keepsake\..*?-->[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")

TICKED = BOLD = 0.7
DECIDED = 0.75
_ASSUMED = 0.6

_SHORTEST = 10  # characters
_SHORTEST_DECISION = 15
_LONGEST = 500
_LONGEST_OF_MODEL = 150
_LONGEST_LINE = 2_000  # of which anything is looked for
_MOST_FACTS = 100  # of a note

_HEADING = re.compile(r"#{1,6}[ \t]+(.+)")
_FENCE = re.compile(r"(?:```|~~~)")
_BULLET = re.compile(r"(?:[-*+•]|\d{1,3}[.)])[ \t]+(.+)")
_TICKED = re.compile(r"[-*+•][ \t]+\[[xX✓✔]\][ \t]+(.+)")
_OPEN_BOX = re.compile(r"[-*+•][ \t]+\[[ ]?\][ \t]")
_BOLD_KEY = re.compile(r"(?:\*\*|__)([^*_\n]{1,80}?):?(?:\*\*|__):?[ \t]*(.+)")
DECISION = re.compile(
    r"\b(?:decid(?:ed|es)|chose|chosen|agreed|switched|adopted|selected|picked|settled on|went with|going with|opted"
    r"|approved|rejected|dropped|replaced|will use|moved to)\b",
    re.I,
)
"""Words by which a line tells a decision."""
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\((\S{1,1000}?)\)")
_MARKUP = re.compile(r"\*\*|__|~~")
_NO_WORDS = re.compile(r"\A[\W_]+|(?<![\W_])[\W_]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedFact:
    """What a note says.

    Attributes:
        text: in a sentence or a line.
        category: a path, of the heading it stands under.
        importance: 0 to 1.
        metadata: ``urls``, ``commands`` and ``paths`` of the whole line; only what there is.
    """

    text: str
    category: str = "general"
    importance: float = _ASSUMED
    metadata: Mapping[str, list[str]] = field(default_factory=dict)


def note_name(day: date) -> str:
    """The name of the note of a day."""
    return f"{day.isoformat()}.md"


def day_of(name: str) -> date | None:
    """The day that a note is about; None where its name says none."""
    found = _NAME.fullmatch(name)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def own_part(note: str) -> str:
    """What a person wrote in a note."""
    return _MARKED.split(note, maxsplit=1)[0].strip()


def with_journal(note: str, entries: Iterable[JournalEntry], *, day: date, zone: tzinfo) -> str:
    """A note with the journal of its day below what a person wrote in it; nothing of it where the day has none.

    Args:
        note: what stands there; may be empty.
        entries: of that day, oldest first.
        day: which it is.
        zone: in which the times are told.
    """
    own = own_part(note)
    lines = [f"- {entry.noted_at.astimezone(zone):%H:%M:%S} {' '.join(entry.text.split())}" for entry in entries]
    if not lines:
        return note if own and not _MARKED.search(note) else (f"{own}\n" if own else "")
    journal = "\n".join([_MARK, f"# Journal of {day.isoformat()}", "", *lines, ""])
    return f"{own}\n\n{journal}" if own else journal


def facts_in(note: str) -> list[NotedFact]:
    """What a note says by rule, each once: ticked items, lines with a bold key, bullets that tell a decision."""
    return _each_once(fact for category, line in _lines(note) if (fact := _fact(line, category)) is not None)


def facts_from(answer: str) -> list[NotedFact] | None:
    """What a model found in a note, each cut to 150 characters; None where the answer cannot be read.

    Args:
        answer: JSON with ``facts``, a list of ``text``, ``category`` and ``importance``, or that list alone.
    """
    said = read_json(answer)
    if isinstance(said, dict):
        said = next((value for value in said.values() if isinstance(value, list)), None)
    if not isinstance(said, list):
        return None
    items = [{"text": item} if isinstance(item, str) else item for item in said]
    found = [fact for item in items if isinstance(item, dict) and (fact := _of_model(item)) is not None]
    if items and not found:
        return None
    return _each_once(found)


def _each_once(facts: Iterable[NotedFact]) -> list[NotedFact]:
    found: dict[str, NotedFact] = {}
    for fact in facts:
        found.setdefault(fact.text.casefold(), fact)
    return list(found.values())[:_MOST_FACTS]


def _lines(note: str) -> Iterator[tuple[str, str]]:
    """The lines that are no code, each with the category of the heading above it."""
    category, in_code = "general", False
    for raw in redact(clean(note)).splitlines():
        line = raw.strip()[:_LONGEST_LINE]  # whoever writes a line of a megabyte does not hold up everybody
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code and (heading := _HEADING.fullmatch(line)):
            category = _category(heading[1])
        elif not in_code and line:
            yield category, line


def _category(heading: str) -> str:
    """A heading as a path; that of a whole day says nothing."""
    told = _NO_WORDS.sub("", _MARKUP.sub("", heading.rstrip(" \t#")))
    return path_of(told) if told and not re.search(r"\d{4}-\d{2}-\d{2}", told) else "general"


def _fact(line: str, category: str) -> NotedFact | None:
    if ticked := _TICKED.fullmatch(line):
        return _noted(ticked[1], category, TICKED, _SHORTEST)
    bullet = _BULLET.fullmatch(line)
    told = bullet[1] if bullet else line
    if bold := _BOLD_KEY.fullmatch(told):
        return _noted(f"{bold[1].strip()}: {bold[2]}", category, BOLD, _SHORTEST)
    if bullet and not _OPEN_BOX.match(line) and DECISION.search(told):
        return _noted(told, category, DECIDED, _SHORTEST_DECISION)
    return None


def _noted(line: str, category: str, importance: float, shortest: int) -> NotedFact | None:
    plain = _LINK.sub(r"\1 (\2)", _MARKUP.sub("", line))
    text = " ".join(plain.split())[:_LONGEST].strip()
    if len(text) < shortest:
        return None
    return NotedFact(text=text, category=category, importance=importance, metadata=metadata_of(plain))


def _of_model(item: Mapping[str, Any]) -> NotedFact | None:
    said = item.get("text") or item.get("fact")
    whole = " ".join(redact(clean(said)).split()) if isinstance(said, str) else ""
    if len(whole) < _SHORTEST:
        return None
    category = item.get("category")
    return NotedFact(
        text=whole[:_LONGEST_OF_MODEL].strip(),
        category=(path_of(category) if isinstance(category, str) else "") or "general",
        importance=share_of(item.get("importance"), _ASSUMED),
        metadata=metadata_of(whole),
    )


def noted_at(name: str, *, zone: tzinfo, now: datetime) -> datetime:
    """When what a note says happened: at noon of the day of its name, never later than now."""
    day = day_of(name)
    if day is None:
        return now
    return min(now, datetime(day.year, day.month, day.day, 12, tzinfo=zone))
