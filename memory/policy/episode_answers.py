"""What a model wrote about a session, as values; and whether a session is worth the asking.

Invariant: each part is read by itself, so that one that cannot be used costs only itself. Only what the person said
is evidence of a fact: a candidate that names no message of theirs is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, TypeVar

from memory.errors import InvalidInput
from memory.policy.answers import candidates_from, parse_object
from memory.policy.experience_text import checked
from memory.policy.text import clean
from memory.policy.worth_learning import worth_learning
from memory.records import (
    WANTS_FORGOTTEN,
    Candidate,
    Example,
    HowTo,
    KeyMoment,
    MomentKind,
    Narrative,
    Outcome,
)

_LONGEST_SUMMARY = 1_000  # characters; two or three sentences have far fewer
_LONGEST_SENTENCE = 300
_LONGEST_TAG = 40
_MOST_STEPS, _MOST_MOMENTS, _MOST_LESSONS, _MOST_TAGS, _MOST_PROCEDURES, _MOST_FACTS = 8, 4, 3, 8, 2, 20

_LONG_MESSAGE = 40  # words; one such message tells a story by itself
_SPEAKING = 6  # words of a message that may say something, though nothing lasting

_OUTCOMES = {"succeeded": Outcome.SUCCESS, "successful": Outcome.SUCCESS, "solved": Outcome.SUCCESS}
_OUTCOMES |= {"failed": Outcome.FAILURE, "unsuccessful": Outcome.FAILURE, "unsolved": Outcome.FAILURE}
_OUTCOMES |= {outcome.value: outcome for outcome in Outcome}

_BASE_IMPORTANCE = 0.3
_MOMENT_WEIGHTS = {MomentKind.DECISION: 0.15, MomentKind.PREFERENCE: 0.1, MomentKind.SOLUTION: 0.1}
_LESSON_WEIGHT, _DECIDED_WEIGHT = 0.05, 0.1

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStory:
    """Everything that one answer held.

    Attributes:
        narrative: the story.
        facts: what the session showed of the person, each with the number of the person's message that says so.
        procedures: how the person wants things done, to be proposed.
    """

    narrative: Narrative
    facts: tuple[tuple[Candidate, int], ...] = field(default=())
    procedures: tuple[HowTo, ...] = field(default=())


def is_worth_telling(texts: Sequence[str]) -> bool:
    """Whether what a person said in a session makes an episode: more than one message that says something.

    Args:
        texts: the person's messages.
    """
    telling = [text for text in texts if worth_learning(text) or len(text.split()) >= _SPEAKING]
    return len(telling) >= 2 or any(len(text.split()) >= _LONG_MESSAGE for text in texts)


def story_from(answer: str, *, own: Sequence[int], messages: int, now: datetime, zone: tzinfo) -> SessionStory | None:
    """The story in an answer.

    Args:
        answer: the model's whole answer.
        own: the numbers of the messages that the person wrote, from 0.
        messages: how many messages there are.
        now: when the session ended; relative dates count from it.
        zone: the person's time zone.

    Returns:
        None where the answer is no JSON, or says neither in a summary nor otherwise what happened.
    """
    parts = parse_object(answer)
    if parts is None:
        return None
    moments = _each(parts.get("key_moments"), lambda item: _moment(item, messages), _MOST_MOMENTS)
    goal = _sentence(parts.get("goal"))
    summary = _text(parts.get("summary"), _LONGEST_SUMMARY) or goal or " ".join(moment.what for moment in moments)
    if not summary:
        return None
    outcome = _OUTCOMES.get(_text(parts.get("outcome"), _LONGEST_SENTENCE).lower(), Outcome.PARTIAL)
    lessons = tuple(_each(_lines(parts.get("lessons")), _sentence, _MOST_LESSONS))
    narrative = Narrative(
        summary=summary,
        goal=goal,
        journey=tuple(_each(_lines(parts.get("journey")), _sentence, _MOST_STEPS)),
        outcome=outcome,
        key_moments=tuple(moments),
        lessons=lessons,
        tags=tuple(dict.fromkeys(_each(parts.get("tags"), _tag, _MOST_TAGS))),
        importance=_importance(parts.get("importance"), moments, lessons, outcome),
    )
    return SessionStory(
        narrative=narrative,
        facts=tuple(_each(parts.get("facts"), lambda item: _fact(item, own, now, zone), _MOST_FACTS)),
        procedures=tuple(_each(parts.get("procedures"), _procedure, _MOST_PROCEDURES)),
    )


def assessed_importance(moments: Sequence[KeyMoment], lessons: Sequence[str], outcome: Outcome) -> float:
    """How much an episode matters, where nobody said: decisions and what was learned raise it. 0 to 1."""
    weight = sum(_MOMENT_WEIGHTS.get(moment.kind, _LESSON_WEIGHT) for moment in moments)
    settled = _DECIDED_WEIGHT if outcome is not Outcome.PARTIAL else 0.0
    return min(1.0, _BASE_IMPORTANCE + weight + _LESSON_WEIGHT * len(lessons) + settled)


def _importance(value: Any, moments: Sequence[KeyMoment], lessons: Sequence[str], outcome: Outcome) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    return assessed_importance(moments, lessons, outcome)


def _each(items: Any, read: Callable[[Any], T | None], most: int) -> list[T]:
    """What can be read of a list, the first of more; nothing where it is no list."""
    found = (read(item) for item in items) if isinstance(items, list) else ()
    return [value for value in found if value][:most]


def _lines(value: Any) -> Any:
    """A list as it is; of a text its lines that are not blank."""
    return [line.strip(" -*\t") for line in value.splitlines()] if isinstance(value, str) else value


def _text(value: Any, longest: int) -> str:
    return " ".join(clean(value).split())[:longest].strip() if isinstance(value, str) else ""


def _sentence(value: Any) -> str:
    return _text(value, _LONGEST_SENTENCE)


def _tag(value: Any) -> str:
    return _text(value, _LONGEST_TAG).lower()


def _moment(item: Any, messages: int) -> KeyMoment | None:
    if not isinstance(item, dict) or not (what := _sentence(item.get("what"))):
        return None
    said = _text(item.get("kind"), _LONGEST_SENTENCE).lower()
    kind = next((kind for kind in MomentKind if said and (said in kind or kind in said)), None)
    number = item.get("message")
    known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < messages
    return KeyMoment(
        kind=kind or MomentKind.DECISION,
        what=what,
        why=_sentence(item.get("why")),
        message=number if known else None,
    )


def _fact(item: Any, own: Sequence[int], now: datetime, zone: tzinfo) -> tuple[Candidate, int] | None:
    if not isinstance(item, dict) or item.get("message") not in own:
        return None
    found = candidates_from(json.dumps({"candidates": [item]}), now=now, zone=zone)
    if not found or found[0].predicate == WANTS_FORGOTTEN:  # a wish is heard in its own exchange
        return None
    return found[0], int(item["message"])


def _procedure(item: Any) -> HowTo | None:
    if not isinstance(item, dict):
        return None
    examples = _each(item.get("examples"), _example, _MOST_PROCEDURES)
    try:
        return checked(
            HowTo(
                name=_text(item.get("name"), _LONGEST_TAG),
                description=_sentence(item.get("description")),
                steps=tuple(_each(_lines(item.get("steps")), _sentence, _MOST_STEPS)),
                examples=tuple(examples),
                triggers=tuple(_each(item.get("triggers"), _trigger, _MOST_TAGS)),
            )
        )
    except InvalidInput:
        return None


def _trigger(value: Any) -> str:
    trigger = _tag(value)
    return trigger if len(trigger) > 2 else ""


def _example(item: Any) -> Example | None:
    if not isinstance(item, dict):
        return None
    asked, answered = _sentence(item.get("input")), _sentence(item.get("output"))
    return Example(input=asked, output=answered) if asked and answered else None
