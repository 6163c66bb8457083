"""Reminders by rule: what the person asks to be reminded of, and what to say once the tool has answered.

Invariant: a request is read from the person's own words alone, and its time is passed on as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from bot.offline_rules.statements import own_words
from bot.offline_rules.wording import sentences
from memory.messages import ToolCall, ToolResult
from memory.policy.reminder_times import Found, moments_in

REMINDER_TOOLS = frozenset({"set_reminder", "list_reminders", "cancel_reminder"})

Call = tuple[str, dict[str, str]]

_POLITE = r"(?:please |can you |could you |will you |would you |hey,? |ok,? |and |also )*"
_SET = re.compile(
    rf"{_POLITE}(?:remind me|set (?:me )?(?:a |another )?reminder|(?:a )?reminder:?)\b"
    r"(?:,? (?:to|about|of|that|for)\b)?[\s:,]*(?P<text>.*)",
    re.I | re.S,
)
_SET_WITHOUT_TIME = re.compile(
    rf"{_POLITE}(?:remind me (?:to|on|in|at|next|this|when)|set (?:me )?(?:a |another )?reminder)\b.*", re.I | re.S
)
_AGAIN_AND_AGAIN = re.compile(
    r"\b(?:(?:every|each) (?:other |second |single )?(?:minute|hour|day|morning|noon|afternoon|evening|night"
    r"|week(?:day|end)?|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?|hourly|daily|weekly|monthly|yearly)\b",
    re.I,
)
_LIST = re.compile(
    rf"{_POLITE}(?:(?:list|show)(?: me)?(?: all)?(?: of)?|what are|which are|what|which|do i have(?: any)?"
    r"|are there(?: any)?) (?:my |the )?reminders\b.*",
    re.I,
)
_CANCEL = re.compile(
    rf"{_POLITE}(?:cancel|delete|remove|drop|forget) (?:my |the |that )?reminder\b"
    r"(?: (?:to|about|of|that|for))?[\s:]*(?P<text>.*)",
    re.I,
)
_END = " .!?,;:"
# Where the words of a time stand does not depend on the day.
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_WHEN = 'When shall I remind you? Say it all at once, as in "Remind me to water the plants tomorrow at 9".'
_ONCE = 'I can remind you once, not again and again. Say when, as in "Remind me to water the plants tomorrow at 9".'
_OF_WHAT = 'Of what shall I remind you? Say it all at once, as in "Remind me to water the plants tomorrow at 9".'


def reminders_in(words: str) -> tuple[tuple[Call, ...], tuple[str, ...], str]:
    """What a message asks for: the calls to make, what to say where something is missing, and the rest of it."""
    calls: list[Call] = []
    said: list[str] = []
    rest: list[str] = []
    for sentence in sentences(own_words(words)):
        asked = _asked(sentence.strip())
        if asked is None:
            rest.append(sentence)
        elif isinstance(asked, str):
            said.append(asked)
        else:
            calls.append(asked)
    return tuple(calls), tuple(said), "\n".join(rest) if calls or said else words


def outcomes(calls: Iterable[tuple[ToolCall, ToolResult]]) -> list[str]:
    """What to say about the reminder calls of a turn."""
    return [result.content.removeprefix("Error: ") for call, result in calls if call.name in REMINDER_TOOLS]


def _asked(sentence: str) -> Call | str | None:
    if _LIST.fullmatch(sentence):
        return "list_reminders", {}
    if cancelled := _CANCEL.fullmatch(sentence):
        return "cancel_reminder", {"reminder": cancelled["text"].strip(_END) or "?"}
    if _SET.fullmatch(sentence) and _AGAIN_AND_AGAIN.search(sentence):
        return _ONCE
    found = moments_in(sentence, _ANY_DAY)
    if not found:
        return _WHEN if _SET_WITHOUT_TIME.fullmatch(sentence) else None
    when = _meant(sentence, found)
    without = f"{sentence[: when.start].rstrip(' ,')} {sentence[when.end :].lstrip(' ,')}".strip()
    wanted = _SET.fullmatch(without)
    if wanted is None:
        return None
    text = wanted["text"].strip(_END)
    return ("set_reminder", {"text": text, "when": sentence[when.start : when.end]}) if text else _OF_WHAT


def _meant(sentence: str, found: list[Found]) -> Found:
    """Of several times the one at the end of the sentence, else the first: the others belong to what is to be said."""
    length = len(sentence.rstrip(_END))
    return found[-1] if found[-1].end >= length else found[0]
