"""Values that prompt tests start from, and what a request must keep to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from memory.messages import (
    Message,
    ModelRequest,
    Role,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant_message,
    user_message,
)
from memory.prompt.assembler import Gathered, message_tokens
from memory.records import MemoryBlock, Scope, SearchHit, Source, StoredMessage
from tests.fakes import START, WordTokenCounter

ANN = Scope(person="console:ann", audience="dm")

TOOLS = (
    ToolSpec(
        name="core_memory_append",
        description="Save a durable fact to core memory.\nMore about it.",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}, "block": {"type": "string"}}},
    ),
    ToolSpec(
        name="archival_insert",
        description="Save a fact or document to the archive.",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
    ),
)


def stored(messages: Sequence[Message], *, author: str = "Ann") -> tuple[StoredMessage, ...]:
    """The messages as the recall log gives them back, counted in words."""
    return tuple(
        StoredMessage(
            id=number,
            scope=ANN,
            conversation="console:ann",
            session_id=1,
            exchange_id=1,
            author=author if message.role is Role.USER else "Keepsake",
            message=message,
            sent_at=START,
            tokens=message_tokens(message, WordTokenCounter()),
        )
        for number, message in enumerate(messages, start=1)
    )


def hit(text: str, *, author: str | None = "Ann", source: Source = Source.RECALL) -> SearchHit:
    """A search result of 8 May 2023."""
    at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    return SearchHit(
        source=source, scope=ANN, record_id=1, score=1.0, text=text, author=author, at=at, reason="words alike"
    )


def call(call_id: str, text: str = "tea") -> Message:
    """The assistant calls a tool."""
    part = ToolCall(id=call_id, name="recall_search", arguments={"query": text})
    return Message(role=Role.ASSISTANT, parts=(part,))


def result(call_id: str, content: str = "Nothing found.") -> Message:
    """The tool answers."""
    return Message(role=Role.USER, parts=(ToolResult(call_id=call_id, name="recall_search", content=content),))


GATHERED = Gathered(
    agent_name="Keepsake",
    audience_note="Only this person hears this conversation.",
    summary="Ann planned a trip to Rome.",
    blocks=(MemoryBlock(label="human", value="Name: Ann.\nLikes jasmine tea.", version=1),),
    window_summary="Ann asked about trains.",
    history=stored([user_message("hi"), assistant_message("hello Ann")]),
    turn=(user_message("what do I like?"),),
    hits=(hit("I like jasmine tea"),),
    now=START,
    tools=TOOLS,
)


def with_turn(*messages: Message) -> Gathered:
    """GATHERED with another newest turn."""
    return replace(GATHERED, turn=messages)


def faults(request: ModelRequest) -> list[str]:
    """Everything for which the service would refuse the request."""
    messages = request.messages
    found = [] if messages and messages[0].role is Role.USER else ["the first message is not the user's"]
    found += [f"blank system block {block.name}" for block in request.system if not block.text.strip()]
    for place, message in enumerate(messages):
        if not message.parts:
            found.append(f"message {place} is empty")
        if any(isinstance(part, TextPart) and not part.text.strip() for part in message.parts):
            found.append(f"message {place} holds blank text")
        calls = {part.id for part in message.tool_calls}
        following = messages[place + 1] if place + 1 < len(messages) else user_message("end")
        answered = {part.call_id for part in following.tool_results}
        if calls - answered:
            found.append(f"message {place} calls tools without a result")
        before = messages[place - 1] if place else user_message("start")
        if {part.call_id for part in message.tool_results} - {part.id for part in before.tool_calls}:
            found.append(f"message {place} holds results without a call")
    if sum(block.cache_breakpoint for block in request.system) > 2:
        found.append("too many cache breakpoints")
    return found
