"""The request by which a model distils what was said.

Invariant: what was said stands in a data block of the user message; the system prompt is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory.messages import ModelRequest, SystemBlock, user_message
from memory.policy.aspects import OUTCOMES
from memory.prompt.answer_schemas import TEXT, list_of, object_of, one_of
from memory.prompt.sections import block, template

DISTILL = "distill"

_MOST_CHARACTERS = 1_000
_MAX_OUTPUT_TOKENS = 200
_DISTILLED: Mapping[str, Any] = object_of(
    fact=TEXT,
    emotion=TEXT,
    people=list_of(TEXT),
    topics=list_of(TEXT),
    actions=list_of(TEXT),
    outcome=one_of(*OUTCOMES),
)


def distillation_request(text: str) -> ModelRequest:
    """Asks for the distilled form of a text, of which the first thousand characters are shown."""
    return ModelRequest(
        system=(SystemBlock(name=DISTILL, text=template(DISTILL).strip()),),
        messages=(user_message(block("user_message", text[:_MOST_CHARACTERS])),),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        answer_schema=_DISTILLED,
    )
