"""How the lines of the journal are written.

The forms are fixed, so that the agent and a person reading an export know each kind at a glance:

- ``[2026-03-02 09:00:00] ...`` before every entry;
- ``TOOL_RESULT: read_file - SUCCESS - operation: read, file: notes.txt``;
- ``CONVERSATION_SUMMARY: Conversation (09:00:00 to 09:12:30): Topics: ferry, tickets. Actions: web_search.
  (12 messages)``.

Invariant: a line is one line, made of what was said and done and of nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memory.indexes.stop_words import STOP_WORDS
from memory.messages import Role, ToolCall, ToolResult
from memory.policy.secrets import redact
from memory.records import JournalEntry, StoredMessage

_LONGEST_VALUE = 60  # characters of one argument
_LONGEST_DESCRIPTION = 160
_TOPICS = 5
_ACTIONS = 8
_SHORTEST_TOPIC = 4  # letters
_WORD = re.compile(r"[^\W\d_]+")


def printed(entry: JournalEntry, zone: tzinfo) -> str:
    """An entry behind its time, to the second, in the zone it is to be told in."""
    return f"[{entry.noted_at.astimezone(zone):%Y-%m-%d %H:%M:%S}] {entry.text}"


def tool_line(call: ToolCall | None, result: ToolResult) -> str:
    """What became of a tool call, in a line.

    Args:
        call: the call, whose arguments describe it; None where it is not known any more.
        result: what the tool answered, of which only the success is told.
    """
    outcome = "FAILURE" if result.is_error else "SUCCESS"
    return f"TOOL_RESULT: {result.name} - {outcome} - {description(call.arguments if call else {})}"


def description(arguments: Mapping[str, Any]) -> str:
    """A call in a few words, from its arguments: ``operation: read, file: notes.txt``. Secrets are taken out."""
    told = [f"{name}: {_one_line(value)}" for name, value in arguments.items() if value not in (None, "", [], {})]
    return redact(_short(", ".join(told), _LONGEST_DESCRIPTION)) or "no arguments"


def conversation_line(messages: Sequence[StoredMessage], zone: tzinfo) -> str:
    """Messages that leave the window, in a line: when, about what, what was done, how many.

    Args:
        messages: oldest first; at least one.
        zone: the zone in which the times are told. A time of another day than the last one's has its date.
    """
    start, end = (message.sent_at.astimezone(zone) for message in (messages[0], messages[-1]))
    began = f"{start:%H:%M:%S}" if start.date() == end.date() else f"{start:%Y-%m-%d %H:%M:%S}"
    topics = ", ".join(_topics(stored.text for stored in messages if stored.message.role is Role.USER)) or "none"
    actions = ", ".join(_actions(messages)) or "none"
    return (
        f"CONVERSATION_SUMMARY: Conversation ({began} to {end:%H:%M:%S}): Topics: {topics}. Actions: {actions}. "
        f"({len(messages)} messages)"
    )


def _topics(texts: Iterable[str]) -> list[str]:
    """The words with content that the person used most; of equals the earlier ones."""
    words = Counter(
        word.lower()
        for text in texts
        for word in _WORD.findall(text)
        if len(word) >= _SHORTEST_TOPIC and word.lower() not in STOP_WORDS
    )
    return [word for word, _ in words.most_common(_TOPICS)]


def _actions(messages: Sequence[StoredMessage]) -> list[str]:
    """The tools that were used, each once, in the order of their first use."""
    names = dict.fromkeys(call.name for stored in messages for call in stored.message.tool_calls)
    return list(names)[:_ACTIONS]


def _one_line(value: Any) -> str:
    return _short(" ".join(str(value).split()), _LONGEST_VALUE)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
