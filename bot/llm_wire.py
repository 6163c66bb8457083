"""The Messages API's wire format: our request as its body, its stream of events as our answer.

Invariant: a body holds no blank text, no two neighbours of one role and at most four cache marks, and keeps the
order it was given. What a model gets wrong in its answer is kept as it came; nothing here raises over it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog

from memory.messages import (
    FilePart,
    ImagePart,
    Message,
    ModelRequest,
    ModelResponse,
    Part,
    StopReason,
    SystemBlock,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
)
from memory.prompt.sections import attached_file

if TYPE_CHECKING:
    from anthropic.types import ContentBlock, RawContentBlockDelta, RawMessageStreamEvent

MAX_CACHE_MARKS = 4
"""The service refuses a request with more."""

_CACHE_MARK = {"type": "ephemeral"}
_UNSEEN = {"type": "text", "text": "[A picture came here that cannot be looked at. It may be damaged.]"}
_DEEPEST_ARGUMENTS = 20  # levels of a tool call's arguments; none of our tools takes more than two

_STOP_REASONS = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_USE,
    "max_tokens": StopReason.MAX_TOKENS,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE_TURN,
    "model_context_window_exceeded": StopReason.CONTEXT_EXCEEDED,
}

_log = structlog.get_logger(__name__)


def request_body(request: ModelRequest, *, model: str) -> dict[str, Any]:
    """The body of a request to ``/v1/messages``. Equal requests give equal bytes, which caching rests on."""
    messages = wire_messages(request.messages, cached=request.cached_messages)
    marks = MAX_CACHE_MARKS - (1 if request.cached_messages else 0)
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_output_tokens, "messages": messages}
    if system := _wire_system(request.system, marks=marks):
        body["system"] = system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
        if not request.tools_enabled:
            body["tool_choice"] = {"type": "none"}
    if request.answer_schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": request.answer_schema}}
    if request.person_hash is not None:
        body["metadata"] = {"user_id": request.person_hash}
    return _encodable(body)


def _wire_system(blocks: Iterable[SystemBlock], *, marks: int) -> list[dict[str, Any]]:
    """System blocks on the wire, blank ones left out, with at most ``marks`` cache marks.

    Of more, the last are kept: a later mark covers all that an earlier one does.
    """
    kept = [block for block in blocks if block.text.strip()]
    marked = [index for index, block in enumerate(kept) if block.cache_breakpoint][-marks:]
    return [
        {"type": "text", "text": block.text, **({"cache_control": _CACHE_MARK} if index in marked else {})}
        for index, block in enumerate(kept)
    ]


def wire_messages(messages: Sequence[Message], *, cached: int = 0) -> list[dict[str, Any]]:
    """Messages on the wire: blank texts left out, neighbours of one role joined.

    Args:
        messages: oldest first.
        cached: a cache mark stands on the last block of this many leading messages; 0 for none.
    """
    turns: list[dict[str, Any]] = []
    last_cached: dict[str, Any] | None = None
    for index, message in enumerate(messages):
        blocks = [_wire_part(part) for part in message.parts if not _is_blank(part)]
        if not blocks:
            continue
        if turns and turns[-1]["role"] == message.role.value:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": message.role.value, "content": blocks})
        if index < cached:
            last_cached = blocks[-1]
    if last_cached is not None:
        last_cached["cache_control"] = _CACHE_MARK
    return turns


def without_pictures(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """A request with a word in place of each picture; None where it holds none."""
    turns = [
        {**turn, "content": [_UNSEEN if block["type"] == "image" else block for block in turn["content"]]}
        for turn in body["messages"]
    ]
    return None if turns == body["messages"] else {**body, "messages": turns}


def _is_blank(part: Part) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()


def _wire_part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case FilePart():
            return {"type": "text", "text": attached_file(part)}
        case ImagePart():
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
            return {"type": "image", "source": source}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case ToolResult():
            # The service refuses an error without a text.
            content = part.content if part.content.strip() else "(no output)"
            result = {"type": "tool_result", "tool_use_id": part.call_id, "content": content}
            return {**result, "is_error": True} if part.is_error else result


def _encodable(body: Mapping[str, Any]) -> dict[str, Any]:
    """``body`` without what has no JSON or UTF-8 form: half surrogate pairs and infinite numbers are replaced."""
    text = json.dumps(body, ensure_ascii=False, default=dict)
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    encodable: dict[str, Any] = json.loads(whole, parse_constant=lambda name: None)
    return encodable


class StreamedAnswer:
    """An answer that fills up event by event.

    The library's own accumulation raises on tool arguments that are not JSON; here they are kept as they came.
    Blocks of kinds we do not use (thinking and others) are passed over.
    """

    def __init__(self) -> None:
        self.text = ""
        self._model = ""
        self._stop_reason: str | None = None
        self._tokens: dict[str, int] = {}
        self._blocks: dict[int, tuple[ContentBlock, list[str]]] = {}

    @property
    def finished(self) -> bool:
        """Whether the service said why it stopped."""
        return self._stop_reason is not None

    def take(self, event: RawMessageStreamEvent) -> str:
        """Take in one event and return the text it adds, possibly none."""
        text = ""
        if event.type == "message_start":
            self._model = event.message.model
            self._count(event.message.usage)
        elif event.type == "content_block_start":
            text = event.content_block.text if event.content_block.type == "text" else ""
            self._blocks[event.index] = (event.content_block, [text])
        elif event.type == "content_block_delta":
            text = self._extend(event.index, event.delta)
        elif event.type == "message_delta":
            self._stop_reason = event.delta.stop_reason
            self._count(event.usage)
        self.text += text
        return text

    def response(self) -> ModelResponse:
        """The whole answer."""
        stop = _STOP_REASONS.get(self._stop_reason or "")
        if stop is None:
            _log.warning("unknown_stop_reason", model=self._model, stop_reason=self._stop_reason)
            stop = StopReason.END_TURN
        parts = (_part(*self._blocks[index]) for index in sorted(self._blocks))
        return ModelResponse(
            parts=tuple(part for part in parts if part is not None),
            stop_reason=stop,
            model=self._model,
            usage=self._usage(),
        )

    def _extend(self, index: int, delta: RawContentBlockDelta) -> str:
        pieces = self._blocks[index][1]
        if delta.type == "text_delta":
            pieces.append(delta.text)
            return delta.text
        if delta.type == "input_json_delta":
            pieces.append(delta.partial_json)
        return ""

    def _count(self, usage: object) -> None:
        """Counts are running totals: a later one replaces an earlier one, and a missing one does not."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            if (tokens := getattr(usage, name, None)) is not None:
                self._tokens[name] = tokens

    def _usage(self) -> Usage | None:
        if "input_tokens" not in self._tokens:
            return None
        read = self._tokens.get("cache_read_input_tokens", 0)
        write = self._tokens.get("cache_creation_input_tokens", 0)
        return Usage(
            input_tokens=self._tokens["input_tokens"] + read + write,
            output_tokens=self._tokens.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=write,
        )


def _part(block: ContentBlock, pieces: Sequence[str]) -> Part | None:
    content = "".join(pieces)
    if block.type == "text":
        return TextPart(text=content) if content.strip() else None
    if block.type == "tool_use":
        return tool_call(block.id, block.name, content or "{}")
    return None


def tool_call(call_id: str, name: str, raw: str) -> ToolCall:
    """A tool call from ``raw``, the text of its arguments, which a model may get wrong."""
    try:
        arguments = json.loads(raw, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict) and _is_nested_within(arguments, _DEEPEST_ARGUMENTS):
        return ToolCall(id=call_id, name=name, arguments=arguments)
    return ToolCall(id=call_id, name=name, malformed=raw)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):  # 1e999 would be sent back as Infinity, which the service refuses
        raise ValueError(f"{number} is too large")
    return value


def _is_nested_within(value: object, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (depth > 0 and all(_is_nested_within(one, depth - 1) for one in inner))
