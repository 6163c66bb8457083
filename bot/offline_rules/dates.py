"""Dates in the person's words: relative ones become dates that still mean something next year.

Invariant: nothing is guessed. What has two readings ("next Friday") keeps its words and gains the day they were
said on.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from memory.policy.calendar_names import MONTHS, WEEKDAYS

_WEEKDAY = "|".join(WEEKDAYS)
_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?" + (
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_AMBIGUOUS = re.compile(
    rf"\b(?:next (?:week(?:end)?|month|year|{_WEEKDAY})|this (?:week(?:end)?|month)|tonight)\b", re.I
)
_RELATIVE = re.compile(
    r"\b(?P<phrase>the day after tomorrow|tomorrow|today|yesterday)\b"
    r"|\bin (?P<count>\d{1,3}|a|one|two|three|four) (?P<unit>day|week)s?\b"
    rf"|\b(?:on|this|this coming) (?P<weekday>{_WEEKDAY})\b",
    re.I,
)
_ABSOLUTE = re.compile(
    r"\b(?P<iso>\d{4}-\d\d-\d\d)\b"
    rf"|\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH}),? (?P<year>\d{{4}})\b"
    rf"|\b(?P<us_month>{_MONTH}) (?P<us_day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<us_year>\d{{4}})\b",
    re.I,
)
_ANY = re.compile(
    rf"\d{{4}}-\d\d-\d\d|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b{_MONTH} \d{{1,2}}\b"
    rf"|\b(?:in|next|this) {_MONTH}\b|\bin \d{{4}}\b|\b\d{{1,2}}[./]\d{{1,2}}\b|\b(?:{_WEEKDAY})\b|\bnext \w+",
    re.I,
)
_PHRASES = {"today": 0, "tomorrow": 1, "the day after tomorrow": 2, "yesterday": -1}
_COUNTS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4}


def spoken(day: date) -> str:
    """``8 May 2023``."""
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"


def with_weekday(day: date) -> str:
    """``Monday 8 May 2023``."""
    return f"{WEEKDAYS[day.weekday()].capitalize()} {spoken(day)}"


def names_a_date(text: str) -> bool:
    """Whether the text names a day, a month or a year, in absolute or relative words."""
    return bool(_ANY.search(text) or _RELATIVE.search(text) or _AMBIGUOUS.search(text))


def made_absolute(text: str, today: date | None) -> str:
    """The text with "tomorrow", "in 3 days" and "on Friday" as dates, and with the day of speaking after what
    has two readings. Unchanged where today is unknown."""
    if today is None:
        return text
    resolved = _RELATIVE.sub(lambda found: f"on {with_weekday(_relative_day(found, today))}", text)
    return _AMBIGUOUS.sub(lambda found: f"{found[0]} (said on {spoken(today)})", resolved)


def first_date(text: str, today: date | None, *, past: bool = False) -> date | None:
    """The first date the text names completely, or None; a weekday is the next one, or the last one of the past."""
    if found := _ABSOLUTE.search(text):
        return _absolute_day(found)
    if today is not None and (found := _RELATIVE.search(text)):
        return _relative_day(found, today) - timedelta(weeks=1 if past and found["weekday"] else 0)
    return None


def _relative_day(found: re.Match[str], today: date) -> date:
    if phrase := found["phrase"]:
        return today + timedelta(days=_PHRASES[phrase.lower()])
    if weekday := found["weekday"]:
        ahead = (WEEKDAYS.index(weekday.lower()) - today.weekday() - 1) % 7 + 1
        return today + timedelta(days=ahead)
    count = _COUNTS.get(found["count"].lower()) or int(found["count"])
    return today + timedelta(days=count if found["unit"].lower() == "day" else 7 * count)


def _absolute_day(found: re.Match[str]) -> date | None:
    try:
        if found["iso"]:
            return date.fromisoformat(found["iso"])
        month = (found["month"] or found["us_month"]).lower()[:3]
        number = next(index for index, name in enumerate(MONTHS, start=1) if name.startswith(month))
        return date(int(found["year"] or found["us_year"]), number, int(found["day"] or found["us_day"]))
    except ValueError:
        return None
