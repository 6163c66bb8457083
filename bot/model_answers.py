"""A model's answer as it is stored and as a person reads it; pure.

Invariant: what comes out of here can be stored, and an answer that is not whole says so.
"""

from __future__ import annotations

from dataclasses import replace

from bot import replies
from memory.messages import FilePart, ImagePart, ModelResponse, Part, TextPart, ToolCall, ToolResult
from memory.policy.text import clean, clean_value


def cleaned(response: ModelResponse) -> ModelResponse:
    """The answer as it may be stored: a model can write what no database takes."""
    return replace(response, parts=tuple(_cleaned_part(part) for part in response.parts))


def _cleaned_part(part: Part) -> Part:
    match part:
        case TextPart():
            return replace(part, text=clean(part.text))
        case ToolCall(malformed=None):
            return replace(part, name=clean(part.name), arguments=clean_value(part.arguments))
        case ToolCall():
            return replace(part, name=clean(part.name), malformed=clean(part.malformed or ""))
        case ToolResult() | FilePart() | ImagePart():
            return part


def final_text(response: ModelResponse) -> str:
    """What the person reads of an answer without tool calls."""
    text = response.message.text.strip()
    if not text:
        return replies.NOTHING_TO_SAY
    return text + replies.UNFINISHED.get(response.stop_reason, "")
