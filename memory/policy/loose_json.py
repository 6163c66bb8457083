"""JSON as models write it: in fences and prose, with trailing commas, single quotes, comments, or cut off.

Invariant: what strict JSON reads is read the same; of an answer that was cut off, only what had been written
completely is returned. Nothing raises: text without any JSON is None.
"""

from __future__ import annotations

import json
import re
from typing import Any

Value = Any  # what JSON holds

_THINKING = re.compile(r"<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|,)*", re.DOTALL)
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "“", "‘": "’", "«": "»"}
_BARE = re.compile(r"[^\s,:\[\]{}\"'“”]+")
_WORDS: dict[str, Value] = {"true": True, "false": False, "null": None, "none": None, "nan": None}
_OPENING = re.compile(r"[{\[]")
_DEEPEST = 40
_MOST_OPENINGS = 200


def read_json(text: str) -> dict[str, Value] | list[Value] | None:
    """The object or list in a text; of several the longest, and several alike as one list. None where there is none.

    Args:
        text: a model's whole answer.
    """
    text = _THINKING.sub(" ", text).strip()
    try:
        strict = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _found_in_prose(text)
    return strict if isinstance(strict, (dict, list)) else None


def _found_in_prose(text: str) -> dict[str, Value] | list[Value] | None:
    found: list[tuple[int, dict[str, Value] | list[Value]]] = []
    place = 0
    for _ in range(_MOST_OPENINGS):
        opening = _OPENING.search(text, place)
        if opening is None:
            break
        reader = _Reader(text, opening.start())
        value = reader.read()
        place = opening.end() if value is None else reader.place
        if value is not None:
            found.append((reader.place - opening.start(), value))
    values = [value for _, value in found]
    if len(values) > 1 and _are_items(values):
        return values
    return max(found, key=lambda sized: sized[0])[1] if found else None


def _are_items(values: list[dict[str, Value] | list[Value]]) -> bool:
    """Whether these are objects alike that hold no others: one list, whose brackets were forgotten."""
    flat = [value for value in values if isinstance(value, dict) and not any(map(_holds_values, value.values()))]
    return len(flat) == len(values) and len({tuple(sorted(value)) for value in flat}) == 1


def _holds_values(value: Value) -> bool:
    return isinstance(value, (dict, list))


class _NoValueError(Exception):
    """What stands here is no value."""


class _CutError(Exception):
    """The text ends in the middle of a value."""


class _Reader:
    """Reads one value from a place in a text on; ``place`` is then behind it."""

    def __init__(self, text: str, place: int) -> None:
        self.text = text
        self.place = place
        self._is_cut = False

    def read(self) -> dict[str, Value] | list[Value] | None:
        """The object or list that opens here, or None where it is none after all."""
        try:
            value: dict[str, Value] | list[Value] = self._value(_DEEPEST)
        except (_NoValueError, _CutError):
            return None
        return None if self._is_cut and not value else value

    def _value(self, depth: int) -> Value:
        match self._peek():
            case "{" if depth:
                return self._object(depth - 1)
            case "[" if depth:
                return self._list(depth - 1)
            case character if character in _QUOTES:
                return self._string()
            case _:
                return self._bare()

    def _object(self, depth: int) -> dict[str, Value]:
        self.place += 1
        entries: dict[str, Value] = {}
        try:
            while self._peek() != "}":
                key = self._string() if self._peek() in _QUOTES else self._bare_text()
                if self._peek() not in (":", "="):
                    raise _NoValueError
                self.place += 1
                entries[str(key)] = self._value(depth)
            self.place += 1
        except _CutError:
            self._is_cut = True
        return entries

    def _list(self, depth: int) -> list[Value]:
        self.place += 1
        items: list[Value] = []
        try:
            while self._peek() != "]":
                item = self._value(depth)
                if self._is_cut:
                    raise _CutError
                items.append(item)
            self.place += 1
        except _CutError:
            self._is_cut = True
        return items

    def _string(self) -> str:
        """A string in any quotes. A quote inside it counts as its end only where something may follow a string."""
        closing = _QUOTES[self.text[self.place]]
        start = end = self.place + 1
        while True:
            end = self.text.find(closing, end)
            if end < 0:
                raise _CutError
            backslashes = len(self.text[start:end]) - len(self.text[start:end].rstrip("\\"))
            if backslashes % 2 == 0 and self._may_end(end + 1):
                break
            end += 1
        self.place = end + 1
        return _unescaped(self.text[start:end])

    def _may_end(self, place: int) -> bool:
        following = self.text[place : place + 200].lstrip()[:1]
        return following in ("", ",", ":", "]", "}", "/", *_QUOTES) or "\n" in self.text[place : place + 2]

    def _bare(self) -> Value:
        text = self._bare_text()
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        try:
            return float(text) if "." in text or "e" in text.lower() else int(text)
        except ValueError:
            raise _NoValueError from None

    def _bare_text(self) -> str:
        found = _BARE.match(self.text, self.place)
        if found is None:
            raise _NoValueError
        self.place = found.end()
        return found[0]

    def _peek(self) -> str:
        skipped = _SKIPPED.match(self.text, self.place)
        self.place = skipped.end() if skipped else self.place
        if self.place >= len(self.text):
            raise _CutError
        return self.text[self.place]


def _unescaped(body: str) -> str:
    escaped = re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', body.replace("\\'", "'"))
    try:
        value: str = json.loads(f'"{escaped}"', strict=False)
    except ValueError:
        return body
    return value
