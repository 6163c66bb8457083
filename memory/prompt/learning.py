"""The requests by which facts are learned: what to find in an exchange, and how it fits what is known.

Invariant: everything said or stored stands in data blocks of the user message; the system prompt is fixed. Stored
facts are shown under small numbers, never under their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.messages import ModelRequest, SystemBlock, user_message
from memory.policy.budget import cut_to_tokens
from memory.policy.text import cut_middle
from memory.prompt.answer_schemas import (
    CANDIDATE_FIELDS,
    INTEGER,
    TEXT,
    TEXT_OR_NULL,
    list_of,
    object_of,
    one_of,
)
from memory.prompt.memory_work import message_log
from memory.prompt.sections import block, indented, template
from memory.records import Candidate, Fact, StoredMessage

_MOST_CHARACTERS = 8_000  # of one message; a longer one is cut in the middle
_MAX_OUTPUT_TOKENS = 2_048


_EXTRACTION: Mapping[str, Any] = object_of(candidates=list_of(object_of(**CANDIDATE_FIELDS)))
# The reason stands before the operation: a model that has to say why first decides better.
_RECONCILIATION: Mapping[str, Any] = object_of(
    ops=list_of(
        object_of(
            candidate=INTEGER,
            reason=TEXT,
            op=one_of("ADD", "UPDATE", "DELETE", "NOOP"),
            id={"type": ["integer", "null"]},
            text=TEXT_OR_NULL,
        )
    )
)


def extraction_request(
    *,
    now: datetime,
    summary: str,
    context: Sequence[StoredMessage],
    user_text: str,
    assistant_text: str,
    room: int,
    count: Callable[[str], int],
) -> ModelRequest:
    """Asks what is worth remembering in an exchange.

    Args:
        now: when it was said, in the person's time zone; relative dates count from it.
        summary: the rolling summary; may be empty.
        context: the messages before the exchange, oldest first.
        user_text: what the person said, the only evidence.
        assistant_text: what was answered.
        room: for all that was said, in estimated tokens: half for the evidence, a quarter each for reply and context.
        count: the estimate of a text, as ``TokenCounter.count``.
    """
    user, reply = cut_middle(user_text, _MOST_CHARACTERS), cut_middle(assistant_text, _MOST_CHARACTERS)
    log = message_log(context, _MOST_CHARACTERS // max(1, len(context)))
    material = (
        f"<now>{now:%Y-%m-%d %H:%M (%A)}</now>",
        block("summary", summary),
        block("context", cut_to_tokens(log, room // 4, count)),
        block("assistant_reply", cut_to_tokens(reply, room // 4, count)),
        block("user_message", cut_to_tokens(user, room // 2, count)),
    )
    return _request("extract_facts", "\n".join(material), _EXTRACTION)


def reconciliation_request(
    *, now: datetime, candidates: Sequence[tuple[Candidate, Sequence[Fact]]], numbers: Mapping[int, int]
) -> ModelRequest:
    """Asks how newly learned facts fit what is known.

    Args:
        now: the present moment.
        candidates: each with the known facts most like it.
        numbers: the small number under which each fact is shown, by its id.
    """
    lines = []
    for number, (candidate, similar) in enumerate(candidates, start=1):
        lines.append(f"{number}. {indented(candidate.text)}{_triple(candidate)}")
        lines.extend(
            f"   similar [{numbers[fact.id]}] {indented(fact.text)}{_triple(fact)}, since {fact.created_at:%Y-%m-%d}"
            for fact in similar
        )
    material = f"<now>{now:%Y-%m-%d %H:%M (%A)}</now>\n{block('candidates', chr(10).join(lines))}"
    return _request("reconcile_facts", material, _RECONCILIATION)


def _triple(said: Candidate | Fact) -> str:
    parts = (said.subject, said.predicate, said.object)
    return f" ({' | '.join(map(indented, parts))})" if any(parts) else ""


def _request(task: str, material: str, schema: Mapping[str, Any]) -> ModelRequest:
    return ModelRequest(
        system=(SystemBlock(name=task, text=template(task).strip()),),
        messages=(user_message(material),),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        answer_schema=schema,
    )
