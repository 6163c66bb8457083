"""A message comes out of JSON as it went in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.messages import (
    FilePart,
    ImagePart,
    Message,
    ModelResponse,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolResult,
    message_to_json,
    parts_from_json,
    parts_from_values,
    parts_to_json,
)

texts = st.text(max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
parts = st.one_of(
    st.builds(TextPart, text=texts),
    st.builds(
        ToolCall,
        id=texts,
        name=texts,
        arguments=st.dictionaries(texts, json_values, max_size=3),
        malformed=st.none() | texts,
    ),
    st.builds(FilePart, name=texts, media_type=texts, size=st.integers(0), text=texts, note=texts),
    st.builds(ImagePart, name=texts, media_type=texts, data=texts, width=st.integers(0), height=st.integers(0)),
    st.builds(ToolResult, call_id=texts, name=texts, content=texts, is_error=st.booleans()),
)
messages = st.builds(Message, role=st.sampled_from(Role), parts=st.lists(parts, max_size=4).map(tuple))


@given(messages)
def test_a_message_survives_json(message: Message) -> None:
    written = json.loads(message_to_json(message))
    assert (Role(written["role"]), parts_from_values(written["parts"])) == (message.role, message.parts)
    assert parts_from_json(parts_to_json(message.parts)) == message.parts


@pytest.mark.parametrize("broken", ["", "{", '[{"type":"picture"}]'])
def test_what_is_no_list_of_parts_is_refused(broken: str) -> None:
    with pytest.raises(ValueError, match=r"part|line"):
        parts_from_json(broken)


def test_a_message_gives_its_texts_calls_and_results_apart() -> None:
    call, result = ToolCall(id="1", name="t"), ToolResult(call_id="1", name="t", content="found")
    both = (TextPart(text="one"), call, TextPart(text="two"), result)
    response = ModelResponse(parts=both, stop_reason=StopReason.TOOL_USE, model="m")
    assert response.message.role is Role.ASSISTANT
    assert response.message.text == "one\ntwo"
    assert response.message.tool_calls == (call,)
    assert response.message.tool_results == (result,)
