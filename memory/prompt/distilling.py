"""The requests by which a model distils what was said, and finds what a note says.

Invariant: what was said or written stands in data blocks of the user message; the system prompts are fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memory.messages import ModelRequest, SystemBlock, user_message
from memory.policy.aspects import OUTCOMES
from memory.prompt.answer_schemas import NUMBER, TEXT, list_of, object_of, one_of
from memory.prompt.sections import block, template

DISTILL = "distill"
READ_NOTE = "read_note"
MOST_OF_NOTE = 3_000
"""Characters of a note that a model is shown."""

_MOST_CHARACTERS = 1_000
_MAX_OUTPUT_TOKENS = 200
_MAX_TOKENS_OF_NOTE = 2_048
_DISTILLED: Mapping[str, Any] = object_of(
    fact=TEXT,
    emotion=TEXT,
    people=list_of(TEXT),
    topics=list_of(TEXT),
    actions=list_of(TEXT),
    outcome=one_of(*OUTCOMES),
)
_NOTED: Mapping[str, Any] = object_of(facts=list_of(object_of(text=TEXT, category=TEXT, importance=NUMBER)))


def distillation_request(text: str) -> ModelRequest:
    """Asks for the distilled form of a text, of which the first thousand characters are shown."""
    return ModelRequest(
        system=(SystemBlock(name=DISTILL, text=template(DISTILL).strip()),),
        messages=(user_message(block("user_message", text[:_MOST_CHARACTERS])),),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        answer_schema=_DISTILLED,
    )


def note_request(note: str, categories: Iterable[str]) -> ModelRequest:
    """Asks what a note says.

    Args:
        note: of which the first three thousand characters are shown.
        categories: the paths that are known.
    """
    material = (block("category_tree", "\n".join(categories)), block("note", note[:MOST_OF_NOTE]))
    return ModelRequest(
        system=(SystemBlock(name=READ_NOTE, text=template(READ_NOTE).strip()),),
        messages=(user_message("\n".join(material)),),
        max_output_tokens=_MAX_TOKENS_OF_NOTE,
        answer_schema=_NOTED,
    )
