"""The request that turns a session into an episode: one call for all its parts.

Invariant: everything said or stored stands in data blocks of the user message; the system prompt is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.messages import ModelRequest, SystemBlock, user_message
from memory.policy.budget import cut_to_tokens
from memory.policy.text import cut_middle
from memory.prompt.answer_schemas import CANDIDATE_FIELDS, INTEGER, NUMBER, TEXT, list_of, object_of, one_of
from memory.prompt.sections import block, indented, speaker, template
from memory.records import Fact, MomentKind, Outcome, StoredMessage

TASK = "write_episode"

_MOST_CHARACTERS = 300  # of one message
_FEWEST_CHARACTERS = 60  # of one message of a very long session
_CHARACTERS_OF_A_TOKEN = 3
_MAX_OUTPUT_TOKENS = 2_048

_EPISODE: Mapping[str, Any] = object_of(
    summary=TEXT,
    goal=TEXT,
    journey=list_of(TEXT),
    outcome=one_of(*Outcome),
    key_moments=list_of(object_of(kind=one_of(*MomentKind), what=TEXT, why=TEXT, message=INTEGER)),
    lessons=list_of(TEXT),
    tags=list_of(TEXT),
    importance=NUMBER,
    facts=list_of(object_of(message=INTEGER, **CANDIDATE_FIELDS)),
    procedures=list_of(object_of(name=TEXT, description=TEXT, steps=list_of(TEXT), triggers=list_of(TEXT))),
)


def episode_request(
    *,
    now: datetime,
    log: Sequence[StoredMessage],
    agent_name: str,
    known: Sequence[Fact],
    room: int,
    count: Callable[[str], int],
) -> ModelRequest:
    """Asks for the story of a session, what it taught and how the person wants things done.

    Args:
        now: when it ended, in the person's time zone.
        log: what was said, oldest first; numbered from 0.
        agent_name: the name under which the assistant's messages stand.
        known: facts that single exchanges of it taught already.
        room: for all that was said, in estimated tokens.
        count: the estimate of a text, as ``TokenCounter.count``.
    """
    share = room * _CHARACTERS_OF_A_TOKEN // max(1, len(log))
    longest = max(_FEWEST_CHARACTERS, min(_MOST_CHARACTERS, share))
    lines = "\n".join(_line(number, message, longest, now) for number, message in enumerate(log))
    material = (
        f"<now>{now:%Y-%m-%d %H:%M (%A)}</now>",
        f"The assistant is called {speaker(agent_name)}.",
        block("facts", "\n".join(f"- {indented(fact.text)}" for fact in known)),
        block("session_log", cut_to_tokens(lines, room, count)),
    )
    return ModelRequest(
        system=(SystemBlock(name=TASK, text=template(TASK).strip()),),
        messages=(user_message("\n".join(material)),),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        answer_schema=_EPISODE,
    )


def _line(number: int, message: StoredMessage, longest: int, now: datetime) -> str:
    said_at = message.sent_at.astimezone(now.tzinfo)
    text = indented(cut_middle(message.text.strip(), longest))
    return f"{number}. [{said_at:%Y-%m-%d %H:%M}] {speaker(message.author)}: {text}"
