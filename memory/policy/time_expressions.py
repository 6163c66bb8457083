"""Which days a question asks about: "on 8 May 2023", "in May", "yesterday", "last Tuesday", "two weeks ago".

English only; in other languages ISO dates (2023-05-08) and years are understood. What is named without its year is
taken for the latest that has begun by now, since questions to a memory are about the past.

"Before the trip" and "last time" name a time as well; when that was is for the caller to look up.

Invariant: no text raises, and every period ends after it begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from memory.indexes.stop_words import STOP_WORDS
from memory.policy.calendar_names import MONTHS

_NUMBER_OF_MONTH = {name: number for number, name in enumerate(MONTHS, start=1)} | {
    name[:3]: number for number, name in enumerate(MONTHS, start=1)
}
_WEEKDAYS = {"mon": 0, "tues": 1, "wednes": 2, "thurs": 3, "fri": 4, "satur": 5, "sun": 6}
_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {name: number for number, name in enumerate(_COUNTED, start=1)}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2}
_DAYS_BACK = {"the day before yesterday": 2, "yesterday": 1, "last night": 1, "today": 0, "tonight": 0}
_OLDEST_YEAR, _NEWEST_YEAR = 1900, 2100
_DAY = timedelta(days=1)
_OPEN_END = timedelta(days=36_500)

# The event ends where the sentence or its part does: "What did I eat before the wedding, and where?"
_ANCHOR = re.compile(r"\b(?P<bound>before|after|since|until)\s+(?P<event>[^.,;:!?\n]{3,60})", re.IGNORECASE)
_QUESTION = re.compile(
    r"\?|^\s*(?:what|when|where|who|whom|whose|which|why|how|did|do|does|was|were|had|have)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_WORDS_OF_SAYING = """
    say said talk talked tell told mention mentioned chat discuss discussed happen happened since s d re ve ll t
"""
_SAID_OR_DONE = frozenset(_WORDS_OF_SAYING.split())
_NO_EVENTS = frozenset({"all", "that", "this", "then", "long", "now", "dinner", "lunch", "breakfast", "work", "bed"})

_TALKED = r"(?:talked|spoke|chatted|met)"
_LAST_TIME = (
    rf"\b(?:(?:the )?last time(?= *(?:[.,;?!]|$)| we {_TALKED}\b)(?: we {_TALKED})?|when we last {_TALKED}"
    r"|(?:in |during )?(?:our|the) (?:last|previous) (?:conversation|chat|talk|session))\b"
)

_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|(?:{'|'.join(name[:3] for name in MONTHS)})\b\.?)"
_DAY_OF_MONTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_AMOUNT = rf"(?P<amount>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A time from ``start``, included, to ``end``, not included; both aware."""

    start: datetime
    end: datetime

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A time told by what happened then: "before the trip to Oslo".

    Attributes:
        event: what happened, in the words of the text.
        before: whether the time ends there; else it begins there.
    """

    event: str
    before: bool


def anchors_in(text: str) -> tuple[Anchor, ...]:
    """What happened at the bounds of the times that a question asks about; not where it names them as dates."""
    if not _QUESTION.search(text):
        return ()
    found = []
    for match in _ANCHOR.finditer(text):
        event = match["event"].strip()
        if event.lower() not in _NO_EVENTS and not any(pattern.search(event.lower()) for pattern, _ in _FORMS):
            found.append(Anchor(event=event, before=match["bound"].lower() in ("before", "until")))
    return tuple(found)


def bounded(anchor: Anchor, at: datetime) -> Period:
    """The days before or after something happened, its own among them: what came before or after may be told then.

    Args:
        anchor: from ``anchors_in``.
        at: when it happened, in the person's time zone.
    """
    day = datetime.combine(at.date(), time.min, tzinfo=at.tzinfo)
    if anchor.before:
        return Period(start=day - _OPEN_END, end=day + _DAY)
    return Period(start=day, end=day + _OPEN_END)


_Days = tuple[date, date]
"""The first day of a time, and the first day after it."""


def periods_in(text: str, now: datetime) -> tuple[Period, ...]:
    """The times that a text names, in no order.

    Args:
        text: a question or any other text.
        now: the present moment in the person's time zone, in which days begin.
    """
    periods: list[Period] = []
    rest = text.lower()
    if not _HINT.search(rest):
        return ()
    for pattern, read in _FORMS:
        matches = [*pattern.finditer(rest)]
        for found in matches:
            days = read(found.groupdict(), now.date())
            if days is not None:
                periods.append(_period(days, now.tzinfo))
        if matches:
            rest = pattern.sub(" ; ", rest)  # what one form has read is not read again as a part of it
    return tuple(periods)


def asks_of_last_time(text: str) -> bool:
    """Whether a text names the time of the last conversation: "What did we talk about last time?"."""
    return _OF_LAST_TIME.search(text.lower()) is not None


def names_only_a_time(text: str) -> bool:
    """Whether nothing is asked but what was said or done then: "What did I do last Monday?"."""
    rest = text.lower()
    for pattern, _ in _FORMS:
        rest = pattern.sub(" ", rest)
    return rest != text.lower() and all(word in STOP_WORDS | _SAID_OR_DONE for word in _WORD.findall(rest))


def _period(days: _Days, zone: tzinfo | None) -> Period:
    start, end = (datetime.combine(day, time.min, tzinfo=zone) for day in days)
    return Period(start=start, end=end)


_Found = Mapping[str, str | None]


def _days_unknown(found: _Found, today: date) -> _Days | None:
    return None


def _iso(found: _Found, today: date) -> _Days | None:
    return _one_day(_number(found["year"]), _number(found["month"]), _number(found["day"]))


def _day(found: _Found, today: date) -> _Days | None:
    month, day = _month_number(found), _number(found["day"])
    if found["year"]:
        return _one_day(_number(found["year"]), month, day)
    days = (_one_day(year, month, day) for year in (today.year, today.year - 1))
    return next((one for one in days if one is not None and one[0] <= today), None)


def _whole_month(found: _Found, today: date) -> _Days | None:
    month = _month_number(found)
    year = _number(found["year"]) if found["year"] else today.year - (month > today.month)
    return _month_of(year, month)


def _year(found: _Found, today: date) -> _Days | None:
    year = _number(found["year"])
    return date(year, 1, 1), date(year + 1, 1, 1)


def _days_back(found: _Found, today: date) -> _Days | None:
    day = today - _DAYS_BACK[found["words"] or ""] * _DAY
    return day, day + _DAY


def _ago(found: _Found, today: date) -> _Days | None:
    amount = found["amount"] or ""
    number = int(amount) if amount.isdigit() else _NUMBERS[amount]
    match found["unit"]:
        case "day":
            return _around(today - number * _DAY, 0)
        case "week":
            return _around(today - 7 * number * _DAY, 3)
        case "month":
            return _month_of(today.year, today.month - number)
        case _:
            return _in_years(today.year - number)


def _relative(found: _Found, today: date) -> _Days | None:
    back = 0 if found["which"] == "this" else 1
    match found["unit"]:
        case "week":
            monday = today - (today.weekday() + 7 * back) * _DAY
            return monday, monday + 7 * _DAY
        case "weekend":
            saturday = today - ((today.weekday() + 2) % 7 + 7 * (back and today.weekday() >= 5)) * _DAY
            return saturday, saturday + 2 * _DAY
        case "month":
            return _month_of(today.year, today.month - back)
        case _:
            return _in_years(today.year - back)


def _weekday(found: _Found, today: date) -> _Days | None:
    back = (today.weekday() - _WEEKDAYS[found["weekday"] or ""]) % 7
    if back == 0 and found["which"] == "last":
        back = 7
    return _around(today - back * _DAY, 0)


def _around(day: date, margin: int) -> _Days:
    return day - margin * _DAY, day + (margin + 1) * _DAY


def _one_day(year: int, month: int, day: int) -> _Days | None:
    try:
        return _around(date(year, month, day), 0)
    except ValueError:  # no such day
        return None


def _month_of(year: int, month: int) -> _Days | None:
    """A month, counted on from January of ``year``: 0 is the December before."""
    years, months = divmod(month - 1, 12)
    following, after = divmod(month, 12)
    if not _OLDEST_YEAR <= year + years <= _NEWEST_YEAR:
        return None
    return date(year + years, months + 1, 1), date(year + following, after + 1, 1)


def _in_years(year: int) -> _Days | None:
    return (date(year, 1, 1), date(year + 1, 1, 1)) if _OLDEST_YEAR <= year <= _NEWEST_YEAR else None


def _month_number(found: _Found) -> int:
    return _NUMBER_OF_MONTH[(found["month"] or "").rstrip(".")]


def _number(digits: str | None) -> int:
    return int(digits or 0)


def _forms() -> Iterator[tuple[str, Callable[[_Found, date], _Days | None]]]:
    """What is read, the longest forms first."""
    yield _LAST_TIME, _days_unknown
    yield rf"\b{_YEAR}-(?P<month>\d{{1,2}})-(?P<day>\d{{1,2}})\b", _iso
    yield rf"\b{_DAY_OF_MONTH}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?(?!\w)", _day
    yield rf"\b{_MONTH}\s+{_DAY_OF_MONTH}\b(?:,?\s+{_YEAR})?(?!\w)", _day
    yield rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b", _whole_month
    # "may" and "march" alone are also verbs.
    yield (
        rf"\b(?:in|of|during|since|until|by|from|for|last|this|early|mid|late)[\s-]+{_MONTH}(?P<year>)(?!\w)",
        _whole_month,
    )
    yield rf"\b{_YEAR}\b", _year
    yield rf"\b(?P<words>{'|'.join(_DAYS_BACK)})\b", _days_back
    yield rf"\b{_AMOUNT}\s+(?P<unit>day|week|month|year)s?\s+ago\b", _ago
    yield r"\b(?P<which>last|this|past|previous)\s+(?P<unit>weekend|week|month|year)\b", _relative
    yield rf"\b(?:(?P<which>last|this|on|past)\s+)(?P<weekday>{'|'.join(_WEEKDAYS)})day\b", _weekday


_OF_LAST_TIME = re.compile(_LAST_TIME)
_FORMS = tuple((re.compile(pattern), read) for pattern, read in _forms())
# Each form has one of these in it. Most messages have none, and are spared the search for each form.
_HINT = re.compile(rf"\d|ago|day|night|last|past|previous|this|\b(?:{'|'.join(name[:3] for name in MONTHS)})")
