"""What text may look like on its way in, inside a prompt, and where it is too long.

Invariant: ``clean`` and ``escape_data`` are idempotent, and no text that went through ``escape_data`` opens or
closes one of the tags that mark data in a prompt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any

DATA_TAGS = (
    "memory_data",
    "now",
    "channel",
    "working_memory",
    "attached_file",
    "retrieved",
    "core_memory",
    "persona",
    "human",
    "conversation_summary",
    "window_summary",
    "previous_summary",
    "evicted_messages",
    "session_log",
    "max_words",
    "facts",
    "past_interactions",
    "procedures",
    "unsearched",
    "summary",
    "context",
    "user_message",
    "assistant_reply",
    "candidates",
    "journal",
    "entries",
    "category_tree",
    "hot_memory",
    "query",
    "note",
)
"""Every tag that a prompt uses to mark data."""

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SURROGATES = re.compile("[\ud800-\udfff]")

# A model reads a tag in spite of odd spacing, width or invisible characters, so all of these count as the tag.
_UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
_WIDE = 0xFEE0  # from an ASCII character to its full-width form


def _spellings(word: str) -> str:
    return f"[{_UNSEEN}]*".join(f"[{letter}{chr(ord(letter) + _WIDE)}]" for letter in word)


_TAG_NAMES = "|".join(rf"[\s_\uff3f{_UNSEEN}-]*".join(map(_spellings, tag.split("_"))) for tag in DATA_TAGS)
_TAG_START = re.compile(
    rf"[<\uff1c\ufe64](?=[\s/\\\uff0f\u2044\u2215{_UNSEEN}]*(?:{_TAG_NAMES})(?![A-Za-z0-9]))", re.IGNORECASE
)


def clean(text: str) -> str:
    """Text as it is stored, whatever was sent.

    Line ends become ``\\n``, other control characters but the tab leave, lone surrogates become U+FFFD, the
    rest is brought to NFC and stripped of outer whitespace. What was nothing but such characters is empty.
    """
    text = _LINE_ENDS.sub("\n", text)
    text = _CONTROLS.sub("", text)
    text = _SURROGATES.sub("\ufffd", text)
    return unicodedata.normalize("NFC", text).strip()


def clean_value(value: Any) -> Any:
    """A JSON value with every text in it cleaned, keys included."""
    match value:
        case str():
            return clean(value)
        case Mapping():
            return {clean(str(key)): clean_value(inner) for key, inner in value.items()}
        case list() | tuple():
            return [clean_value(inner) for inner in value]
    return value


def escape_data(text: str) -> str:
    """Text that cannot open or close a data tag of the prompt it is put into; all else stays as it is."""
    return _TAG_START.sub("&lt;", text)


def cut_middle(text: str, max_chars: int) -> str:
    """The head and the tail of ``text`` with a note of how much is missing between them.

    Args:
        text: any text.
        max_chars: length of the result, at most, in characters, the note included. Where not even the note
            fits, the result is the head alone.
    """
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_cut_note(len(text)))
    if room < 2:
        return text[: max(0, max_chars)]
    tail = room // 3
    return text[: room - tail] + _cut_note(len(text) - room) + text[len(text) - tail :]


def _cut_note(missing: int) -> str:
    return f"\n[... {missing:,} characters left out here ...]\n"


def spoken_date(moment: datetime) -> str:
    """The date as one would say it: ``8 May 2023``."""
    return f"{moment.day} {moment:%B} {moment.year}"
