"""A conversation as values: messages and their parts, and one request to a model and its answer.

Invariant: ``parts_from_json(parts_to_json(m.parts)) == m.parts`` for every message. Nothing here knows a vendor's
wire format; ``bot/llm.py`` translates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Who speaks. Tool results travel in user messages, as the Messages API has it."""

    USER = "user"
    ASSISTANT = "assistant"


class StopReason(StrEnum):
    """Why the model stopped, in our own words for every reason the API knows, and for an answer that broke off."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    PAUSE_TURN = "pause_turn"
    CONTEXT_EXCEEDED = "context_exceeded"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    """Plain text, never empty in a request."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The model asks for a tool.

    Attributes:
        id: the call's id, unique within a conversation.
        name: the tool's name.
        arguments: the parsed arguments; empty when they did not parse.
        malformed: the raw text of arguments that did not parse to a JSON object, else None.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    malformed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered.

    Attributes:
        call_id: the id of the call it answers.
        name: the tool's name.
        content: text for the model; an error's text when ``is_error``.
        is_memory: comes from memory, so it is not kept there a second time.
    """

    call_id: str
    name: str
    content: str
    is_error: bool = False
    is_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A file that came with a message: its text, or why there is none.

    It is no part of what the person said: nothing is learned from it, and no search looks for it.

    Attributes:
        name: its name.
        media_type: as the platform gave it, for example ``text/plain``; may be empty.
        size: in bytes.
        text: what it holds, where that is text.
        note: what is missing and why, in a sentence; empty where nothing is.
    """

    name: str
    media_type: str
    size: int
    text: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePart:
    """A picture to look at now. It stands in a request alone: what is stored of it is its name.

    Attributes:
        name: the file's name.
        media_type: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
        data: its bytes in base64.
        width, height: in pixels; 0 where they are not known.
    """

    name: str
    media_type: str
    data: str
    width: int = 0
    height: int = 0


Part = TextPart | ToolCall | ToolResult | FilePart | ImagePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The text parts, joined by newlines."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def attachments_of(message: Message) -> tuple[FilePart | ImagePart, ...]:
    """The files and pictures of a message, in order."""
    return tuple(part for part in message.parts if isinstance(part, FilePart | ImagePart))


def user_message(text: str) -> Message:
    """A user message of one text part."""
    return Message(role=Role.USER, parts=(TextPart(text=text),))


def assistant_message(text: str) -> Message:
    """An assistant message of one text part."""
    return Message(role=Role.ASSISTANT, parts=(TextPart(text=text),))


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemBlock:
    """One block of the system prompt.

    Attributes:
        name: the section it renders, for reports ("summary", "core", ...).
        text: never empty.
        cache_breakpoint: everything up to and including this block may be cached.
    """

    name: str
    text: str
    cache_breakpoint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the model sees it. ``input_schema`` is a JSON Schema of type object."""

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request to a model.

    Attributes:
        system: system blocks, in order.
        messages: first role user, every tool call followed by its result, no empty text.
        tools: the declared tools, in a fixed order.
        tools_enabled: False declares the tools but forbids their use.
        max_output_tokens: the longest answer, in tokens.
        cached_messages: this many leading messages may be cached (a breakpoint stands after them); 0 for none.
        answer_schema: JSON Schema that the answer's text must follow, where the service can enforce one; None for
            free text.
        person_hash: an opaque hash of the person, for the service's abuse detection; None to leave it out.
    """

    system: tuple[SystemBlock, ...] = ()
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tools_enabled: bool = True
    max_output_tokens: int = 1024
    cached_messages: int = 0
    answer_schema: Mapping[str, Any] | None = None
    person_hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call as the service counted them. ``input_tokens`` includes cached ones."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """A model's answer. ``usage`` is None where the model does not count (the offline model)."""

    parts: tuple[Part, ...]
    stop_reason: StopReason
    model: str
    usage: Usage | None = None

    @property
    def message(self) -> Message:
        """The answer as an assistant message."""
        return Message(role=Role.ASSISTANT, parts=self.parts)


def _part_to_value(part: Part) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ToolCall():
            value = {"type": "tool_call", "id": part.id, "name": part.name, "arguments": dict(part.arguments)}
            return value if part.malformed is None else {**value, "malformed": part.malformed}
        case ToolResult():
            found: dict[str, Any] = {
                "type": "tool_result",
                "call_id": part.call_id,
                "name": part.name,
                "content": part.content,
                "is_error": part.is_error,
            }
            return {**found, "is_memory": True} if part.is_memory else found
        case FilePart():
            return {"type": "file", **asdict(part)}
        case ImagePart():
            return {"type": "image", **asdict(part)}


def _part_from_value(value: Mapping[str, Any]) -> Part:
    match value["type"]:
        case "text":
            return TextPart(text=value["text"])
        case "tool_call":
            return ToolCall(
                id=value["id"],
                name=value["name"],
                arguments=value["arguments"],
                malformed=value.get("malformed"),
            )
        case "tool_result":
            return ToolResult(
                call_id=value["call_id"],
                name=value["name"],
                content=value["content"],
                is_error=value["is_error"],
                is_memory=value.get("is_memory", False),
            )
        case "file":
            return FilePart(**_without_type(value))
        case "image":
            return ImagePart(**_without_type(value))
        case other:
            raise ValueError(f"unknown message part {other!r}")


def _without_type(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in value.items() if name != "type"}


def parts_to_json(parts: Sequence[Part]) -> str:
    """The parts as one JSON array, as stored in the database."""
    return json.dumps([_part_to_value(part) for part in parts], ensure_ascii=False, separators=(",", ":"))


def parts_from_json(text: str) -> tuple[Part, ...]:
    """The inverse of ``parts_to_json``. Raises ValueError on anything else."""
    return parts_from_values(json.loads(text))


def parts_from_values(values: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    """The parts that a JSON array of ``parts_to_json`` holds, once it is parsed."""
    return tuple(_part_from_value(value) for value in values)


def message_to_json(message: Message) -> str:
    """One message as a JSON object of ``role`` and ``parts``."""
    return f'{{"role":"{message.role}","parts":{parts_to_json(message.parts)}}}'
