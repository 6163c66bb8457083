"""When somebody wants to be reminded: "tomorrow at 9", "in 10 minutes", "on Friday at 5 pm", or an ISO time.

English only; in other languages ISO times are understood. A day without a time means nine in the morning; a time
without a day the next moment of that time.

Invariant: no text raises, and a moment that is found is aware. Whether it lies in the past is for the caller to say.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

_MONTHS = tuple(name.lower() for name in calendar.month_name if name)
_WEEKDAYS = tuple(name.lower() for name in calendar.day_name)
_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS: Mapping[str, float] = {
    **{name: number for number, name in enumerate(_COUNTED, start=1)},
    "a": 1,
    "an": 1,
    "half an": 0.5,
    "half a": 0.5,
    "a couple of": 2,
}
_MINUTES = {"s": 1 / 60, "m": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_DAYS_AHEAD = {"today": 0, "tonight": 0, "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2}
_PARTS = {
    "morning": time(9),
    "noon": time(12),
    "midday": time(12),
    "afternoon": time(15),
    "evening": time(19),
    "night": time(21),
    "midnight": time(0),
}
_MORNING = time(9)
_TONIGHT = time(20)

_NUMBER = rf"(?P<count>\d{{1,4}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_UNIT = (
    r"(?P<unit>sec(?:ond)?s?|min(?:ute)?s?|m|h(?:ou)?rs?|h|days?|weeks?|months?|years?)\b(?P<half>\s+and\s+a\s+half)?"
)
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)}|(?:{'|'.join(name[:3] for name in _MONTHS)})\b\.?)"
_DAY_OF_MONTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>20\d\d))?(?!\w)"
_BETWEEN = re.compile(r"\s*,?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A time that a text names.

    Attributes:
        moment: which.
        start, end: where its words stand in the text.
    """

    moment: datetime
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What the words say so far; each part is said at most once."""

    moment: datetime | None = None
    day: date | None = None
    clock: time | None = None

    def merged(self, other: _Said) -> _Said | None:
        """Both together; None where they say the same part twice."""
        if (self.moment or other.moment) or (self.day and other.day) or (self.clock and other.clock):
            return None
        return _Said(day=self.day or other.day, clock=self.clock or other.clock)


def moment_of(text: str, now: datetime) -> datetime | None:
    """The moment that a text as a whole stands for, or None.

    Args:
        text: an ISO date or time, or words.
        now: the present moment in the person's time zone, in which a time without a zone is meant.
    """
    words = text.strip()
    try:
        moment = datetime.fromisoformat(words)
    except ValueError:
        found = moments_in(words, now)
        return found[0].moment if len(found) == 1 else None
    if len(words) == len("2026-03-02"):
        return _at(moment.date(), _MORNING, now)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)


def moments_in(text: str, now: datetime) -> list[Found]:
    """The moments that a text names, in its order; words that belong together are one moment.

    Args:
        text: any text.
        now: the present moment in the person's time zone.
    """
    found: list[Found] = []
    place = 0
    while (first := _next_part(text, place, now)) is not None:
        start, end, said = first
        while (more := _part_at(text, end, now)) is not None and (both := said.merged(more[2])) is not None:
            end, said = more[1], both
        found.append(Found(moment=_resolved(said, now), start=start, end=end))
        place = end
    return found


def _next_part(text: str, place: int, now: datetime) -> tuple[int, int, _Said] | None:
    matches = (_read(pattern.search(text, place), read, now) for pattern, read in _FORMS)
    return min((match for match in matches if match is not None), key=lambda match: (match[0], -match[1]), default=None)


def _part_at(text: str, place: int, now: datetime) -> tuple[int, int, _Said] | None:
    """A further part right behind the one before it."""
    gap = _BETWEEN.match(text, place)
    start = gap.end() if gap else place
    matches = (_read(pattern.match(text, start), read, now) for pattern, read in _FORMS)
    return max((match for match in matches if match is not None), key=lambda match: match[1], default=None)


_Reader = Callable[[Mapping[str, str | None], datetime], "_Said | None"]


def _read(match: re.Match[str] | None, read: _Reader, now: datetime) -> tuple[int, int, _Said] | None:
    if match is None:
        return None
    words = {name: value.lower() if value else None for name, value in match.groupdict().items()}
    try:
        said = read(words, now)
    except (ValueError, OverflowError):  # no such day, or beyond the calendar
        said = None
    return None if said is None else (match.start(), match.end(), said)


def _resolved(said: _Said, now: datetime) -> datetime:
    if said.moment is not None:
        return said.moment
    if said.day is not None:
        return _at(said.day, said.clock or _MORNING, now)
    moment = _at(now.date(), said.clock or _MORNING, now)
    return moment if moment > now else _at(now.date() + timedelta(days=1), said.clock or _MORNING, now)


def _at(day: date, clock: time, now: datetime) -> datetime:
    return datetime.combine(day, clock, tzinfo=now.tzinfo)


_Words = Mapping[str, str | None]


def _ahead(words: _Words, now: datetime) -> _Said:
    """``in 10 minutes``, ``two weeks from now``. Hours and less pass as they do, days keep the time of day."""
    count = _NUMBERS.get(" ".join((words["count"] or "").split())) or float(words["count"] or 0)
    count += 0.5 if words["half"] else 0
    unit = (words["unit"] or "")[:1] if not (words["unit"] or "").startswith("mo") else "mo"
    if unit in ("s", "m", "h"):
        moment = now.astimezone(UTC) + timedelta(minutes=count * _MINUTES[unit])
        return _Said(moment=moment.astimezone(now.tzinfo))
    if unit in ("d", "w"):
        return _Said(day=(now + timedelta(minutes=count * _MINUTES[unit])).date(), clock=None)
    months = round(count * (12 if unit == "y" else 1))
    years, month = divmod(now.month - 1 + months, 12)
    year, month = now.year + years, month + 1
    return _Said(day=date(year, month, min(now.day, calendar.monthrange(year, month)[1])))


def _named_day(words: _Words, now: datetime) -> _Said:
    said = " ".join((words["name"] or "").split())
    day = now.date() + timedelta(days=_DAYS_AHEAD[said])
    return _Said(day=day, clock=_TONIGHT if said == "tonight" else None)


def _weekday(words: _Words, now: datetime) -> _Said:
    number = next(place for place, name in enumerate(_WEEKDAYS) if name.startswith(words["weekday"] or "?"))
    return _Said(day=now.date() + timedelta(days=(number - now.weekday() - 1) % 7 + 1))


def _next_week(words: _Words, now: datetime) -> _Said:
    return _Said(day=now.date() + timedelta(days=7 - now.weekday()))


def _iso_day(words: _Words, now: datetime) -> _Said:
    return _Said(day=date.fromisoformat(words["iso"] or ""))


def _iso_moment(words: _Words, now: datetime) -> _Said:
    moment = datetime.fromisoformat((words["iso"] or "").upper())
    return _Said(moment=moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo))


def _calendar_day(words: _Words, now: datetime) -> _Said:
    month = next(place for place, name in enumerate(_MONTHS, start=1) if name.startswith((words["month"] or "")[:3]))
    day = int(words["day"] or 0)
    if words["year"]:
        return _Said(day=date(int(words["year"]), month, day))
    this_year = date(now.year, month, day)
    return _Said(day=this_year if this_year >= now.date() else date(now.year + 1, month, day))


def _clock(words: _Words, now: datetime) -> _Said:
    hour, minute = int(words["hour"] or 0), int(words["minute"] or 0)
    half = (words.get("half_day") or "")[:1]
    if half and not 1 <= hour <= 12:
        return _Said(clock=time(hour, minute))
    return _Said(clock=time(hour % 12 + (12 if half == "p" else 0) if half else hour, minute))


def _part_of_day(words: _Words, now: datetime) -> _Said:
    return _Said(clock=_PARTS[words["part"] or ""])


def _forms() -> Iterator[tuple[str, _Reader]]:
    yield rf"\bin\s+{_NUMBER}\s*{_UNIT}", _ahead
    yield rf"\b{_NUMBER}\s*{_UNIT}\s+from\s+now\b", _ahead
    yield r"\b(?P<iso>20\d\d-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d)?(?:[Zz]|[+-]\d\d:?\d\d)?)(?!\w)", _iso_moment
    yield r"\b(?:on\s+)?(?P<iso>20\d\d-\d\d-\d\d)(?!\w)", _iso_day
    yield rf"\b(?:on\s+)?(?:the\s+)?{_DAY_OF_MONTH}\s+(?:of\s+)?{_MONTH}{_YEAR}", _calendar_day
    yield rf"\b(?:on\s+)?{_MONTH}\s+{_DAY_OF_MONTH}{_YEAR}", _calendar_day
    yield r"\b(?P<name>(?:the\s+)?day\s+after\s+tomorrow|tomorrow|today|tonight)\b", _named_day
    yield rf"\b(?:on\s+|this\s+|next\s+|this\s+coming\s+)?(?P<weekday>{'|'.join(_WEEKDAYS)})\b", _weekday
    yield r"\bnext\s+week\b", _next_week
    yield r"\b(?:at\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half_day>[ap]\.?m\.?)(?!\w)", _clock
    yield r"\b(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?![\w:])", _clock
    yield r"\bat\s+(?P<hour>\d{1,2})(?P<minute>)(?:\s*o['’]?clock)?(?![\w:]|\.\d)", _clock
    yield r"\b(?:in\s+the\s+|this\s+)?(?P<part>morning|afternoon|evening)\b", _part_of_day
    yield r"\bat\s+(?P<part>noon|midday|midnight|night)\b", _part_of_day


_FORMS = tuple((re.compile(pattern, re.I), read) for pattern, read in _forms())
