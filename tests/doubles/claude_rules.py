"""What the Messages API counts and refuses, as pure functions of a request's body.

Invariant: a request accepted here breaks none of the rules that a bot meets when it trims its history, marks its
cache or hands tool calls back. Each message is worded like the service's own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Block = Mapping[str, Any]

MAX_CACHE_MARKS = 4
CACHE_LOOK_BACK = 20
_BYTES_PER_TOKEN = 4
_TOOL_ID = re.compile(r"[A-Za-z0-9_-]+")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_FIELDS = {
    *("model", "max_tokens", "system", "messages", "tools", "tool_choice", "metadata", "stream", "stop_sequences"),
    *("cache_control", "container", "diagnostics", "inference_geo", "output_config", "service_tier", "speed"),
    "thinking",
}


def violation(body: Mapping[str, Any], *, may_end_with_assistant: bool = False) -> str | None:
    """The first rule that ``body`` breaks, in the service's words; None when it breaks none."""
    turns = _turns(body)
    checks: tuple[Iterable[str], ...] = (
        _envelope(body),
        _cache_marks(body),
        _tools(body),
        (f"system.{path}" for path in _texts(_blocks(body.get("system")))),
        _order(turns, may_end_with_assistant),
        _contents(turns),
        _pairing(turns),
    )
    return next((problem for check in checks for problem in check), None)


def _blocks(content: Any) -> list[Block]:
    """A content in its long form: a list of blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())


def _turns(body: Mapping[str, Any]) -> list[tuple[str, list[Block]]]:
    """The messages as the service reads them: neighbours of one role are one turn."""
    turns: list[tuple[str, list[Block]]] = []
    for message in body.get("messages") or ():
        blocks = _blocks(message["content"])
        if turns and blocks and turns[-1][0] == message["role"]:
            turns[-1][1].extend(blocks)
        else:
            turns.append((message["role"], blocks))
    return turns


def _envelope(body: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(set(body) - _FIELDS):
        yield f"{name}: Extra inputs are not permitted"
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            yield f"{name}: Field required"
    if body.get("max_tokens", 1) < 1:
        yield "max_tokens: must be greater than or equal to 1"


def _cache_marks(body: Mapping[str, Any]) -> Iterator[str]:
    marks = sum("cache_control" in block for _, block in _prefix(body)) + ("cache_control" in body)
    if marks > MAX_CACHE_MARKS:
        yield f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}."


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    names = [tool["name"] for tool in body.get("tools") or ()]
    for index, name in enumerate(names):
        if not _TOOL_NAME.fullmatch(name):
            yield f"tools.{index}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not names:
        yield "tool_choice: may only be specified while providing tools"
    if choice["type"] not in ("auto", "any", "tool", "none"):
        yield f"tool_choice: Input tag '{choice['type']}' found does not match any of the expected tags"
    if choice["type"] == "tool" and choice.get("name") not in names:
        yield f"tool_choice: Tool '{choice.get('name')}' not found in provided tools"


def _order(turns: Sequence[tuple[str, list[Block]]], may_end_with_assistant: bool) -> Iterator[str]:
    if not turns:
        yield "messages: at least one message is required"
        return
    for index, (role, _) in enumerate(turns):
        if role not in ("user", "assistant"):
            yield f"messages.{index}.role: Input should be 'user' or 'assistant'"
    if turns[0][0] != "user":
        yield 'messages: first message must use the "user" role'
    if turns[-1][0] == "assistant" and not may_end_with_assistant:
        yield ("This model does not support assistant message prefill. The conversation must end with a user message.")


def _contents(turns: Sequence[tuple[str, list[Block]]]) -> Iterator[str]:
    for index, (_, blocks) in enumerate(turns):
        if not blocks:
            yield f"messages.{index}: all messages must have non-empty content"
        for problem in _texts(blocks):
            yield f"messages.{index}.content.{problem}"
        for position, block in enumerate(blocks):
            path = f"messages.{index}.content.{position}"
            if block["type"] == "tool_use":
                if not isinstance(block["input"], dict):
                    yield f"{path}.tool_use.input: Input should be a valid dictionary"
                if not _TOOL_ID.fullmatch(block["id"]):
                    yield f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            if block["type"] == "tool_result" and block.get("is_error") and not block.get("content"):
                yield f"{path}.tool_result: content cannot be empty if `is_error` is true"


def _texts(blocks: Sequence[Block]) -> Iterator[str]:
    for position, block in enumerate(blocks):
        if block["type"] == "text" and not block["text"].strip():
            yield f"{position}.text: text content blocks must contain non-whitespace text"


def _pairing(turns: Sequence[tuple[str, list[Block]]]) -> Iterator[str]:
    """Every tool call is answered at the head of the very next turn, and nothing else is answered there."""
    seen: set[str] = set()
    asked: set[str] = set()
    for index, (role, blocks) in enumerate(turns):
        answered = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if stray := sorted(answered - asked):
            yield f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(stray)}"
        heading = {block["tool_use_id"] for block in blocks[: len(asked)] if block["type"] == "tool_result"}
        if missing := sorted(asked - heading):
            yield (
                f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately after:"
                f" {', '.join(missing)}"
            )
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if calls and role != "assistant":
            yield f"messages.{index}: `tool_use` blocks can only be in `assistant` messages"
        if len(set(calls)) < len(calls) or seen & set(calls):
            yield f"messages.{index}: `tool_use` ids must be unique"
        asked = set(calls)
        seen |= asked
    if asked:
        yield (
            f"messages.{len(turns) - 1}: `tool_use` ids were found without `tool_result` blocks immediately after:"
            f" {', '.join(sorted(asked))}"
        )


def _prefix(body: Mapping[str, Any]) -> Iterator[tuple[str, Block]]:
    """The blocks in the order in which the cache reads them, each with the place it stands in."""
    yield from (("tools", tool) for tool in body.get("tools") or ())
    yield from (("system", block) for block in _blocks(body.get("system")))
    yield from ((role, block) for role, blocks in _turns(body) for block in blocks)


def _block_bytes(place: str, block: Block) -> bytes:
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    return json.dumps([place, bare], ensure_ascii=False).encode()


def input_tokens(body: Mapping[str, Any]) -> int:
    """The tokens of a request, in proportion to its bytes."""
    return sum(_tokens(place, block) for place, block in _prefix(body))


def _tokens(place: str, block: Block) -> int:
    return -(-len(_block_bytes(place, block)) // _BYTES_PER_TOKEN)


class PromptCache:
    """What was cached: prefixes up to a mark, found again byte for byte within the look-back of a later mark."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def usage(self, body: Mapping[str, Any]) -> dict[str, int]:
        """The input side of ``usage`` for ``body``, whose marked prefixes are cached from now on."""
        digest = hashlib.sha256()
        digests: list[bytes] = []
        totals: list[int] = []
        marks: list[int] = []
        for position, (place, block) in enumerate(_prefix(body)):
            digest.update(_block_bytes(place, block))
            digests.append(digest.digest())
            totals.append((totals[-1] if totals else 0) + _tokens(place, block))
            if "cache_control" in block:
                marks.append(position)
        read = max((totals[hit] for mark in marks if (hit := self._hit(digests, mark)) is not None), default=0)
        self._known.update(digests[mark] for mark in marks)
        cached = max(read, totals[marks[-1]]) if marks else 0
        return {
            "input_tokens": (totals[-1] if totals else 0) - cached,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": cached - read,
        }

    def _hit(self, digests: Sequence[bytes], mark: int) -> int | None:
        positions = range(mark, max(mark - CACHE_LOOK_BACK, -1), -1)
        return next((position for position in positions if digests[position] in self._known), None)
