"""What the prompt shows of past sessions and approved procedures, and the questions that these answer.

Invariant: an answer quotes what stands there, with its day or its name. Nothing is concluded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from bot.offline_rules.dates import with_weekday
from bot.offline_rules.wording import terms
from memory.policy.time_expressions import asks_of_last_time, names_only_a_time, periods_in

_LINES = 3

_SECTION = r"<{name}>\n(.*?)\n</{name}>"
_EPISODES = re.compile(_SECTION.format(name="past_interactions"), re.S)
_PROCEDURES = re.compile(_SECTION.format(name="procedures"), re.S)
_EPISODE = re.compile(r"^- \[(?P<day>\d{4}-\d\d-\d\d), episode\] (?P<text>.*(?:\n  .*)*)", re.M)
_PROCEDURE = re.compile(r"^- (?P<text>.*(?:\n  .*)*)", re.M)
_OUTCOME = re.compile(r" \(outcome: \w+\)$")
_STEP = re.compile(r"\d+\. ")

# The lines of an episode begin with such a label; the words of a question that ask for them.
_ASKED_FOR = (
    ("Decision: ", re.compile(r"\b(?:decided?|decisions?|agreed?|chose|choose|settled?)(?: (?:on|to do))?\b", re.I)),
    ("Problem: ", re.compile(r"\b(?:problems?|(?:went|go|gone) wrong|fail(?:ed)?)\b", re.I)),
    ("Solution: ", re.compile(r"\b(?:solved?|solutions?|fix(?:ed)?)\b", re.I)),
    ("Lesson: ", re.compile(r"\b(?:learn(?:ed|t)?|lessons?)\b", re.I)),
)
_HOW = re.compile(r"\W*how (?:(?:do|should|must|would) (?:i|we|you)|(?:is|are) (?:my|our|the))\b", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSession:
    """An episode as the prompt shows it.

    Attributes:
        day: when it was.
        summary: what happened.
        lines: its goal, key moments and lessons, each with its label.
    """

    day: date
    summary: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """A procedure as the prompt shows it.

    Attributes:
        name: what it is called.
        steps: numbered.
    """

    name: str
    steps: tuple[str, ...]


def past_sessions(block: str) -> tuple[PastSession, ...]:
    """The episodes in a block of memory data, best first."""
    section = _EPISODES.search(block)
    return tuple(map(_past_session, _EPISODE.finditer(section[1]))) if section else ()


def approved(block: str) -> tuple[Approved, ...]:
    """The procedures in a block of memory data, best first."""
    section = _PROCEDURES.search(block)
    return tuple(map(_approved, _PROCEDURE.finditer(section[1]))) if section else ()


def days_asked_about(question: str, days: Collection[date], today: date | None) -> frozenset[date]:
    """Those of the days that a question names: of "last time", the newest.

    Args:
        question: "What did we do last Tuesday?", "What did we talk about last time?"
        days: those of which anything is known.
        today: the day it is; None where that is not known.
    """
    if asks_of_last_time(question):
        return frozenset([max(days)]) if days else frozenset()
    periods = () if today is None else periods_in(question, _noon(today))
    return frozenset(day for day in days if any(_noon(day) in period for period in periods))


def told_of_a_time(question: str, sessions: Sequence[PastSession], days: Collection[date]) -> str | None:
    """What the sessions of the time that a question names say of what it asks; None where they say nothing of it.

    Args:
        question: "What did we decide last Tuesday?", "What did we do last Tuesday?", without a further question.
        sessions: those in the prompt.
        days: those of the time, from ``days_asked_about``.
    """
    of_then = [one for one in sessions if one.day in days]
    asked = next(((label, pattern) for label, pattern in _ASKED_FOR if pattern.search(question)), None)
    if asked is not None:
        return _quoted(_labelled(question, of_then, *asked))
    return _quoted((one.day, one.summary) for one in of_then) if names_only_a_time(question) else None


def told_how(question: str, procedures: Iterable[Approved]) -> str | None:
    """The steps of the procedure that a question of how something is done names, or None."""
    about = terms(question) if _HOW.match(question) else frozenset()
    found = next((one for one in procedures if about & terms(one.name)), None)
    return "\n".join([f'Approved for "{found.name}":', *found.steps]) if found else None


def _past_session(found: re.Match[str]) -> PastSession:
    summary, *lines = (line.strip() for line in found["text"].splitlines())
    return PastSession(
        day=date.fromisoformat(found["day"]), summary=_OUTCOME.sub("", summary), lines=tuple(filter(None, lines))
    )


def _approved(found: re.Match[str]) -> Approved:
    name, *lines = (line.strip() for line in found["text"].splitlines())
    return Approved(name=name, steps=tuple(line for line in lines if _STEP.match(line)))


def _labelled(
    question: str, sessions: Iterable[PastSession], label: str, pattern: re.Pattern[str]
) -> Iterator[tuple[date, str]]:
    """The lines with a label, all of them or those with words of what else the question names."""
    rest = pattern.sub(" ", question)
    about = frozenset() if names_only_a_time(rest) else terms(rest)
    for session in sessions:
        for line in session.lines:
            if line.startswith(label) and (not about or about & terms(line)):
                yield session.day, line.removeprefix(label)


def _quoted(lines: Iterable[tuple[date, str]]) -> str | None:
    told = [f'My notes of {with_weekday(day)} say: "{line}"' for day, line in dict.fromkeys(lines)]
    return "\n".join(told[:_LINES]) or None


def _noon(day: date) -> datetime:
    """A moment of a day; which zone it is in makes no difference where all days are of the same."""
    return datetime.combine(day, time(12), UTC)
