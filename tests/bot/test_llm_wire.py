"""Whatever our own types allow is put into a form that the service accepts."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.llm_wire import MAX_CACHE_MARKS, request_body, tool_call, wire_messages
from memory.messages import (
    FilePart,
    ImagePart,
    Message,
    ModelRequest,
    Part,
    Role,
    SystemBlock,
    TextPart,
    ToolCall,
    ToolResult,
    assistant_message,
    user_message,
)
from tests.doubles.claude_rules import violation

TEXTS = st.text(st.characters(), max_size=6) | st.sampled_from(["", " ", "\n\t", "\ud800", "tea"])
IDS = st.uuids().map(lambda uuid: f"toolu_{uuid.hex}")
VALUES = st.recursive(st.none() | st.integers() | st.floats() | TEXTS, lambda inner: st.lists(inner, max_size=2))
PARTS = st.one_of(
    st.builds(TextPart, text=TEXTS),
    st.builds(ToolCall, id=IDS, name=st.just("recall"), arguments=st.dictionaries(TEXTS, VALUES, max_size=2)),
    st.builds(ToolResult, call_id=IDS, name=st.just("recall"), content=TEXTS, is_error=st.booleans()),
)
MESSAGES = st.lists(
    st.builds(Message, role=st.sampled_from(Role), parts=st.lists(PARTS, max_size=4).map(tuple)), max_size=6
).map(tuple)


def sent(message: Message) -> list[Part]:
    """The parts of a message that are worth sending."""
    return [part for part in message.parts if not isinstance(part, TextPart) or part.text.strip()]


def mark(part: Part) -> tuple[str, Any]:
    """What tells a part from others, whichever side of the wire it is on."""
    match part:
        case TextPart():
            return "text", part.text
        case ToolCall():
            return "tool_use", part.id
        case ToolResult():
            return "tool_result", part.call_id


def wire_mark(block: dict[str, Any]) -> tuple[str, Any]:
    return block["type"], block[{"text": "text", "tool_use": "id", "tool_result": "tool_use_id"}[block["type"]]]


@given(MESSAGES)
def test_no_blank_text_is_ever_sent_and_the_order_stays(messages):
    turns = wire_messages(messages)
    flat = [(turn["role"], wire_mark(block)) for turn in turns for block in turn["content"]]
    assert flat == [(message.role.value, mark(part)) for message in messages for part in sent(message)]
    assert all(turn["content"] for turn in turns)
    assert all(one["role"] != next_one["role"] for one, next_one in pairwise(turns))
    texts = [b.get("text", b.get("content")) for turn in turns for b in turn["content"] if b["type"] != "tool_use"]
    assert all(text.strip() for text in texts)


@given(MESSAGES, st.lists(st.tuples(TEXTS, st.booleans()), max_size=8), st.integers(min_value=0, max_value=6))
def test_any_request_has_a_utf8_form_and_at_most_four_cache_marks(messages, blocks, cached):
    system = tuple(SystemBlock(name="core", text=text, cache_breakpoint=mark) for text, mark in blocks)
    body = request_body(ModelRequest(system=system, messages=messages, cached_messages=cached), model="m")
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    sent_blocks = [*body.get("system", ()), *(block for turn in body["messages"] for block in turn["content"])]
    assert sum("cache_control" in block for block in sent_blocks) <= MAX_CACHE_MARKS
    assert all(block["text"].strip() for block in body.get("system", ()))


ROUNDS = st.lists(
    st.tuples(st.lists(TEXTS, min_size=1, max_size=2), st.lists(IDS, max_size=2, unique=True), TEXTS, st.booleans()),
    max_size=4,
)


@given(ROUNDS, st.integers(min_value=0, max_value=20))
def test_a_conversation_that_keeps_our_rules_keeps_the_services(rounds, cached):
    messages: list[Message] = [user_message("hello")]
    for texts, ids, result, is_error in rounds:
        calls = [ToolCall(id=call_id, name="recall", malformed="{") for call_id in ids]
        messages.append(Message(role=Role.ASSISTANT, parts=(*(TextPart(text=text) for text in texts), *calls)))
        results = (ToolResult(call_id=call_id, name="recall", content=result, is_error=is_error) for call_id in ids)
        messages.append(Message(role=Role.USER, parts=(*results, TextPart(text="and then?"))))
    assert violation(request_body(ModelRequest(messages=tuple(messages), cached_messages=cached), model="m")) is None


def test_the_mark_stands_on_the_last_block_of_the_cached_messages_even_where_turns_are_joined():
    messages = (user_message("one"), user_message("two"), user_message(" "), user_message("three"))
    (turn,) = wire_messages(messages, cached=3)
    assert [block["text"] for block in turn["content"] if "cache_control" in block] == ["two"]
    assert all("cache_control" not in block for turn in wire_messages(messages) for block in turn["content"])


def test_of_too_many_marks_the_last_are_kept():
    system = tuple(SystemBlock(name=str(n), text=str(n), cache_breakpoint=True) for n in range(6))
    request = ModelRequest(system=system, messages=(user_message("one"), assistant_message("two")), cached_messages=1)
    body = request_body(request, model="m")
    assert [block["text"] for block in body["system"] if "cache_control" in block] == ["3", "4", "5"]
    assert "cache_control" in body["messages"][0]["content"][0]


@pytest.mark.parametrize(
    "raw", ['{"k": 1e999}', '{"k": NaN}', '{"k": -Infinity}', '{"k": ' + "[" * 500 + "]" * 500 + "}"]
)
def test_arguments_that_could_not_be_sent_back_are_kept_as_text(raw):
    assert tool_call("t1", "archival_search", raw) == ToolCall(id="t1", name="archival_search", malformed=raw)


def test_a_file_is_a_block_of_data_and_a_picture_an_image():
    file = FilePart(name='a.txt] "x', media_type="text/plain", size=12, text="Hi.", note="It was cut")
    image = ImagePart(name="cat.png", media_type="image/png", data="aGk=")
    spoken = Message(role=Role.USER, parts=(image, file, TextPart(text="Look!")))
    [turn] = wire_messages([spoken])
    assert turn["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {
            "type": "text",
            "text": '<attached_file>\n[a.txt) "x, 12 bytes, text/plain]\nHi.\n(It was cut)\n</attached_file>',
        },
        {"type": "text", "text": "Look!"},
    ]
