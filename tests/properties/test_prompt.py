"""A prompt has a fixed size and a stable prefix, whatever the conversation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from memory.messages import Message, Role, TextPart, ToolCall, ToolResult, assistant_message, user_message
from memory.parameters import MemoryParameters
from memory.policy.trimming import plan_eviction
from memory.prompt.assembler import Gathered, assemble
from memory.records import StoredMessage
from tests.fakes import START, WordTokenCounter
from tests.memory.prompt.gathered import GATHERED, call, faults, hit, result, stored

COUNTER = WordTokenCounter()

lengths = st.one_of(st.integers(1, 20), st.integers(1, 400))
texts = st.one_of(
    lengths.map(lambda words: "word " * words),
    st.text("ab \n<", min_size=1, max_size=30),
    st.sampled_from(["<memory_data> </retrieved> ", "</core_memory>"]).flatmap(
        lambda tag: lengths.map(lambda times: tag * times)
    ),
)
spoken = texts.filter(lambda text: bool(text.strip()))


@st.composite
def tool_rounds(draw: st.DrawFn, prefix: str, most: int) -> list[Message]:
    rounds = []
    for number in range(draw(st.integers(0, most))):
        name = f"{prefix}.{number}"
        before = draw(st.sampled_from([(), (TextPart(text="Let me see."),), (TextPart(text=" "),)]))
        calling = call(name, draw(texts))
        rounds += [replace(calling, parts=(*before, *calling.parts)), result(name, draw(texts))]
    return rounds


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Whole exchanges."""
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 6))):
        messages.append(user_message(draw(spoken)))
        messages += draw(tool_rounds(f"h{number}", 2))
        messages.append(assistant_message(draw(spoken)))
    return messages


parts = st.one_of(
    texts.map(lambda text: TextPart(text=text)),
    st.sampled_from("123").map(lambda name: ToolCall(id=name, name="t")),
    st.sampled_from("123").map(lambda name: ToolResult(call_id=name, name="t", content="r")),
)
broken_histories = st.lists(
    st.builds(Message, role=st.sampled_from(Role), parts=st.lists(parts, max_size=3).map(tuple)), max_size=8
)


@st.composite
def gatherings(draw: st.DrawFn) -> Gathered:
    return replace(
        GATHERED,
        summary=draw(st.sampled_from(["", "Ann planned a trip."])),
        window_summary=draw(st.sampled_from(["", "Ann asked about trains."])),
        history=stored(draw(st.one_of(histories(), broken_histories))),
        turn=(user_message(draw(spoken)), *draw(tool_rounds("t", 3))),
        hits=tuple(map(hit, draw(st.lists(texts, max_size=6)))),
        channel_context=draw(st.one_of(st.just(""), texts)),
        working_memory=draw(st.one_of(st.just(""), texts)),
        journal=tuple(draw(st.lists(texts, max_size=4))),
    )


def needed() -> int:
    limits = MemoryParameters()
    full = replace(GATHERED, summary="Ann planned a trip.", window_summary="Ann asked about trains.")
    return assemble(full, parameters=limits, counter=COUNTER).fixed_tokens + limits.max_output_tokens


@given(gatherings(), st.integers(128, 2000), st.floats(0.1, 1.0))
def test_every_request_is_accepted_and_within_the_budget(gathered: Gathered, room: int, share: float) -> None:
    parameters = MemoryParameters(
        context_window_tokens=needed() + room,
        retrieved_share=share,
        tool_result_max_tokens=150,
        retrieved_min_room=0,
        message_reserve=100,
    )
    prompt = assemble(gathered, parameters=parameters, counter=COUNTER)
    request = prompt.request
    assert faults(request) == []

    shown = [part for message in request.messages for part in message.parts]
    counted = sum(COUNTER.count(block.text) for block in request.system) + prompt.report["tools"]
    counted += sum(COUNTER.count(part.text) for part in shown if isinstance(part, TextPart))
    counted += sum(COUNTER.count(part.content) for part in shown if isinstance(part, ToolResult))
    assert counted <= prompt.tokens <= parameters.context_window_tokens - parameters.max_output_tokens

    newest = request.messages[request.cached_messages]
    data, words = newest.parts
    assert isinstance(data, TextPart)
    assert isinstance(words, TextPart)
    assert words.text[0] == gathered.turn[0].text.strip()[0] or words.text.startswith("&lt;")
    assert sum(part.text.count("<memory_data>") for part in shown if isinstance(part, TextPart)) == 1
    assert data.text.endswith("</memory_data>")


@given(gatherings(), gatherings(), st.integers(1, 10_000))
def test_the_prefix_stays_the_same_while_the_conversation_goes_on(one: Gathered, other: Gathered, minutes: int) -> None:
    later = replace(
        one,
        history=other.history,
        hits=other.hits,
        turn=other.turn,
        window_summary=other.window_summary,
        channel_context=other.channel_context,
        now=START + timedelta(minutes=minutes),
    )
    first, second = (assemble(g, parameters=MemoryParameters(), counter=COUNTER).request for g in (one, later))
    end = next(place for place, block in enumerate(first.system) if block.cache_breakpoint) + 1
    assert first.system[:end] == second.system[:end]
    assert first.tools == second.tools


@given(histories(), st.integers(0, 300), st.floats(0.5, 2.0), st.integers(300, 2000), st.integers(2, 12))
def test_after_an_eviction_the_window_is_sound_and_under_the_threshold(
    messages: list[Message], fixed: int, factor: float, window_tokens: int, most: int
) -> None:
    parameters = MemoryParameters(
        context_window_tokens=window_tokens, max_conversation_history=most, history_target=most // 2
    )

    def calibrated(tokens: int) -> int:
        return math.ceil(tokens * factor)

    def context(kept: Sequence[StoredMessage]) -> int:
        return fixed + calibrated(sum(message.tokens for message in kept))

    window = stored(messages)
    ids, _ = plan_eviction(window, fixed_tokens=fixed, calibrated=calibrated, parameters=parameters)
    kept = window[len(ids) :]
    assert ids == tuple(message.id for message in window[: len(ids)])
    assert context(kept) <= int(window_tokens * 0.7) or not kept
    again, _ = plan_eviction(kept, fixed_tokens=fixed, calibrated=calibrated, parameters=parameters)
    assert again == ()
    if kept:
        request = assemble(replace(GATHERED, history=kept), parameters=MemoryParameters(), counter=COUNTER).request
        assert faults(request) == []
        assert request.cached_messages == len(kept)
