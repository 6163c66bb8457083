"""Reads LoCoMo-shaped files: long conversations of two people with questions about them.

The shape is that of LoCoMo (Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents"):
``conversation`` holds ``session_1``, ``session_2``, ... (lists of turns with ``speaker``, ``dia_id`` and ``text``)
each with its ``session_1_date_time``, and ``qa`` the questions with the ``dia_id``s of the turns that answer them.

Invariant: turns come out in the order they were said; a question without evidence among the turns is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_SESSION = re.compile(r"session_(\d+)\Z")
_TURN_ID = re.compile(r"D\d+:\d+")
_DATE_TIME = "%I:%M %p on %d %B, %Y"
_BETWEEN_TURNS = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation."""

    id: str
    speaker: str
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question about a conversation, with the ids of the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One file.

    Attributes:
        person: the name of the first speaker.
        sessions: the turns, session by session.
    """

    person: str
    sessions: tuple[tuple[Turn, ...], ...]
    questions: tuple[Question, ...]


def read_talk(path: Path) -> Talk:
    """The conversation of a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    conversation = content["conversation"]
    sessions = tuple(_sessions(conversation))
    turn_ids = {turn.id for session in sessions for turn in session}
    questions = []
    for asked in content["qa"]:
        # A few entries hold several ids in one string.
        evidence = turn_ids.intersection(_TURN_ID.findall(" ".join(asked.get("evidence") or ())))
        if evidence:
            questions.append(
                Question(text=asked["question"], category=int(asked["category"]), evidence=frozenset(evidence))
            )
    return Talk(person=conversation["speaker_a"], sessions=sessions, questions=tuple(questions))


def _sessions(conversation: Mapping[str, Any]) -> Iterator[tuple[Turn, ...]]:
    numbers = sorted(int(found[1]) for key in conversation if (found := _SESSION.match(key)))
    for number in numbers:
        turns = conversation[f"session_{number}"]
        if not turns:
            continue
        began = datetime.strptime(conversation[f"session_{number}_date_time"].strip(), _DATE_TIME).replace(tzinfo=UTC)
        yield tuple(
            Turn(id=turn["dia_id"], speaker=turn["speaker"], text=turn["text"], said_at=began + place * _BETWEEN_TURNS)
            for place, turn in enumerate(turns)
        )
