"""What of a text must not get lost when another text takes its place: numbers, dates, names, links.

Invariant: a text keeps all details of itself, and of every text that it contains whole words of.
"""

from __future__ import annotations

import re

from memory.policy.fact_text import normalised

_URL = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\w+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_DATE = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SENTENCE_START = re.compile(r"(?:\A|[.!?。:]\s+)[\"'“„(]*$")

_MONTHS = (
    "january jan januar janvier enero gennaio janeiro января",
    "february feb februar février febrero febbraio fevereiro февраля",
    "march mar märz mars marzo março марта",
    "april apr avril abril aprile апреля",
    "may mai mayo maggio maio мая",
    "june jun juni juin junio giugno junho июня",
    "july jul juli juillet julio luglio julho июля",
    "august aug août agosto августа",
    "september sep sept septembre septiembre settembre setembro сентября",
    "october oct oktober octobre octubre ottobre outubro октября",
    "november nov novembre noviembre novembro ноября",
    "december dec dezember décembre diciembre dicembre dezembro декабря",
)
_MONTH_NUMBERS = {name: str(number) for number, line in enumerate(_MONTHS, start=1) for name in line.split()}
_AMBIGUOUS_MONTHS = frozenset({"may", "march", "mars", "mar", "mai"})  # words of another meaning when written small
_COUNT_WORDS = "two three four five six seven eight nine ten eleven twelve"
_COUNTS = {name: str(number) for number, name in enumerate(_COUNT_WORDS.split(), start=2)}
_OPENING_WORDS = """
    a an at der die das el er es every he her his i in it la le my on she since the their they user users when
"""
_OPENERS = frozenset(_OPENING_WORDS.split())
_NO_NAMES = frozenset({"i", "user", "users", "user's"})


def details(text: str) -> set[str]:
    """The numbers, dates, names and links of a text, in one spelling each.

    Months count as their numbers and numbers lose leading zeros, so that ``2026-05-03`` and ``3 May 2026`` have the
    same details. A name is a capitalised word; the first word of a sentence counts unless it commonly stands there.
    """
    links = {link.rstrip(".,;:!?)").casefold() for link in _URL.findall(text)}
    rest = _DATE.sub(lambda date: " ".join(part for part in date.groups() if part), _URL.sub(" ", text))
    numbers = {number.lstrip("0") or "0" for number in _NUMBER.findall(rest)}
    return links | numbers | _months_and_counts(rest) | _names(rest)


def keeps_details(text: str, of: str, *, value: str = "") -> bool:
    """Whether a text that takes the place of another one keeps what must not get lost.

    Args:
        text: the new text.
        of: the text before.
        value: the object of the old fact's triple, whose words must stay too; empty for none.
    """
    kept = details(text)
    words = normalised(text)
    return all(detail in kept or _stands_in(detail, words) for detail in details(of)) and all(
        _stands_in(word, words) or _MONTH_NUMBERS.get(word) in kept for word in normalised(value).split()
    )


def _stands_in(detail: str, words: str) -> bool:
    """Whether a detail stands in normalised words: as a whole word, or anywhere in a script that sets no spaces."""
    if detail.isdecimal():
        return False
    pattern = re.escape(detail.casefold().strip(".,;:!?"))
    spaced = detail.isascii() or detail.lower() != detail.upper()
    return re.search(rf"(?<!\w){pattern}" if spaced else pattern, words) is not None


def _months_and_counts(text: str) -> set[str]:
    found = set()
    for word in _WORD.findall(text):
        lower = word.casefold()
        if lower in _COUNTS:
            found.add(_COUNTS[lower])
        elif lower in _MONTH_NUMBERS and (word != lower or lower not in _AMBIGUOUS_MONTHS):
            found.add(_MONTH_NUMBERS[lower])
    return found


def _names(text: str) -> set[str]:
    names = set()
    for found in _WORD.finditer(text):
        word = re.sub(r"['’]s$", "", found[0])
        lower = word.casefold()
        if word == word.lower() or lower in _NO_NAMES or lower in _MONTH_NUMBERS:
            continue
        if lower not in _OPENERS or not _SENTENCE_START.search(text[max(0, found.start() - 8) : found.start()]):
            names.add(lower)
    return names
