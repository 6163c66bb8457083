"""Whatever is said and whatever the model does, a request fits the window and the window stays small."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import ModelUnavailable
from memory.messages import Message, ModelRequest, TextPart, ToolCall, ToolResult
from memory.parameters import MemoryParameters
from memory.policy.tool_results import aged
from memory.prompt.fitting import counted
from tests.fakes import Answer, ScriptedModel, WordTokenCounter
from tests.world import World, dm, running

COUNTER = WordTokenCounter()
IDS = count()

# Instructions and tools take about 780 words and a digest up to 200, so 2,200 is as tiny as a window may be.
WINDOWS = (4_000, 6_000, 32_000)


def words(number: int) -> str:
    return "word " * number


@st.composite
def answers(draw: st.DrawFn) -> list[Answer]:
    """What the model says in one turn: some tool calls, then words, or a failure."""
    kinds = st.sampled_from(["core_memory_append", "archival_insert", "recall_search", "conversation_search"])
    turn: list[Answer] = []
    for _ in range(draw(st.integers(0, 3))):
        name = draw(kinds)
        argument = "query" if name.endswith("search") else "text"
        text = f"{name} {draw(st.integers(0, 9))} " + words(draw(st.integers(0, 60)))
        call = ToolCall(id=f"call{next(IDS)}", name=name, arguments={argument: text})
        turn.append([TextPart(text="One moment."), call] if draw(st.booleans()) else call)
    turn.append(draw(st.integers(1, 900).map(words) | st.just(ModelUnavailable("no connection"))))
    return turn


sizes = st.integers(1, 30) | st.integers(1, 1_500) | st.just(40_000)
turns = st.lists(st.tuples(sizes, answers()), min_size=3, max_size=8)


def texts_of(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case TextPart():
                yield part.text
            case ToolResult():
                yield part.content
            case ToolCall():
                yield f"{part.name} {' '.join(map(str, part.arguments.values()))}"


def fixed_size(request: ModelRequest) -> int:
    tools = (f"{tool.name} {tool.description} {tool.input_schema}" for tool in request.tools)
    return sum(COUNTER.count(text) for text in (*(block.text for block in request.system), *tools))


def size(request: ModelRequest) -> int:
    return fixed_size(request) + sum(COUNTER.count(text) for each in request.messages for text in texts_of(each))


async def next_context(world: World) -> int:
    """The size of the next prompt without its new message: what is fixed, and every message in the window."""
    world.model.answers.clear()
    memory = world.memory()
    stored = await world.system.stores.recall.window(memory.place.scope, dm("ann").key)
    window = [counted(message, COUNTER) for message in aged(stored, (), 1)[0]]
    before = len(world.model.requests)
    await world.say("And?")
    return fixed_size(world.model.requests[before]) + sum(message.tokens for message in window)


@settings(max_examples=10)
@given(st.sampled_from(WINDOWS), turns)
async def test_no_request_passes_the_window_and_after_each_turn_the_context_is_under_the_threshold(
    window: int, conversation: list[tuple[int, list[Answer]]]
) -> None:
    parameters = MemoryParameters(context_window_tokens=window, max_output_tokens=200, core_memory_limit=1_000)
    digest = ScriptedModel(default=words(200))
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), parameters=parameters, memory_model=digest) as world:
            for length, answer in conversation:
                world.model.answers = list(answer)
                await world.say(words(length))
                assert await next_context(world) <= window * parameters.eviction_threshold
            assert all(size(request) <= window - 200 for request in world.model.requests)
            assert all(size(request) <= window for request in digest.requests)


async def test_a_turn_that_failed_leaves_the_context_under_the_threshold_too(tmp_path: Path) -> None:
    parameters = MemoryParameters(context_window_tokens=4_000, max_output_tokens=200)
    async with running(tmp_path, parameters=parameters) as world:
        for answer in ("ok", "ok", ModelUnavailable("no connection")):
            world.model.answers = [answer]
            await world.say(words(400))
        assert await next_context(world) <= 4_000 * parameters.eviction_threshold


async def test_what_a_turn_writes_to_core_memory_counts_at_once(tmp_path: Path) -> None:
    parameters = MemoryParameters(context_window_tokens=4_000, max_output_tokens=200)
    note = ToolCall(id="note", name="core_memory_append", arguments={"text": "a " * 350})
    async with running(tmp_path, parameters=parameters) as world:
        await world.say(words(500))
        world.model.answers = [[TextPart(text="Noted."), note]]
        await world.say(words(500))
        assert await next_context(world) <= 4_000 * parameters.eviction_threshold


@pytest.mark.parametrize("window", WINDOWS)
async def test_one_message_larger_than_the_whole_window_ends_in_an_answer(tmp_path: Path, window: int) -> None:
    parameters = MemoryParameters(context_window_tokens=window, max_output_tokens=200)
    async with running(tmp_path, parameters=parameters) as world:
        for number in range(4):
            world.model.answers = [words(2 * window)]
            await world.say(f"I own {number} boats. " + words(2 * window))
        assert await world.say("And now?") == "ok"
        assert len(world.model.requests) == 5
        assert "extract_facts" in [request.system[0].name for request in world.memory_model.requests]
        for request in (*world.model.requests, *world.memory_model.requests):
            assert size(request) <= window
