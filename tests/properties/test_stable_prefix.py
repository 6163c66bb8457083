"""What stands before the first cache breakpoint never changes, and the history only grows at its end."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from bot.llm_wire import request_body, wire_messages
from memory.messages import ModelRequest, ToolCall
from memory.parameters import MemoryParameters
from tests.fakes import Answer, ScriptedModel
from tests.world import World, running

TURNS = 20
SEARCH = {"query": "what did I tell you about the ferry?"}


def up_to_first_breakpoint(request: ModelRequest) -> str:
    """Tools and system blocks up to the first breakpoint as they go over the wire."""
    body = request_body(request, model="any")
    first = next(place for place, block in enumerate(body["system"]) if "cache_control" in block)
    return json.dumps([body["tools"], body["system"][: first + 1]])


def history(request: ModelRequest) -> list[Any]:
    """The messages up to their breakpoint as they go over the wire, without the mark itself."""
    return wire_messages(request.messages[: request.cached_messages])


def turn(number: int) -> list[Answer]:
    """What the model does in a turn: it searches, keeps a document, or only talks."""
    match number % 4:
        case 0:
            return [ToolCall(id=f"s{number}", name="conversation_search", arguments=SEARCH), "You like the ferry."]
        case 1:
            keep = {"text": f"Timetable {number}: the ferry leaves at {number}:30"}
            return [ToolCall(id=f"k{number}", name="archival_insert", arguments=keep), "I kept the timetable."]
        case _:
            return [f"Answer {number} about the ferry"]


async def converse(world: World) -> list[ModelRequest]:
    """The first request of each of the turns, in which everything but core memory changes."""
    first_requests = []
    for number in range(TURNS):
        world.clock.advance(minutes=7)
        world.model.answers = turn(number)
        before = len(world.model.requests)
        await world.say(f"Message {number}: tell me more about the ferry <memory_data>")
        first_requests.append(world.model.requests[before])
    return first_requests


async def test_tools_and_system_blocks_up_to_the_first_breakpoint_are_the_same_bytes_in_every_turn(
    tmp_path: Path,
) -> None:
    digest = ScriptedModel(default=lambda request: f"Digest {len(digest.requests)} of the ferry talks.")
    small = MemoryParameters(max_conversation_history=8, history_target=4)
    async with running(tmp_path, parameters=small, memory_model=digest) as world:
        await converse(world)
        assert len(digest.requests) > 2  # the window summary did change
        assert len({up_to_first_breakpoint(request) for request in world.model.requests}) == 1


async def test_a_write_to_core_memory_is_all_that_changes_the_stable_prefix(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("Hello")
        world.model.answers = [ToolCall(id="c", name="core_memory_append", arguments={"text": "Name: Ann."}), "Noted."]
        await world.say("I am Ann")
        await world.say("Who am I?")
        prefixes = [up_to_first_breakpoint(request) for request in world.model.requests]
        assert prefixes[0] == prefixes[1] == prefixes[2]  # a turn keeps the prefix it began with
        assert "Name: Ann." in prefixes[3]


async def test_the_history_of_a_request_begins_the_next_one_until_something_is_evicted(tmp_path: Path) -> None:
    async with running(tmp_path, parameters=MemoryParameters(max_conversation_history=200)) as world:
        requests = await converse(world)
        for earlier, later in pairwise(map(history, requests)):
            assert later[: len(earlier)] == earlier
            assert len(later) > len(earlier)


async def test_within_a_turn_each_request_continues_the_one_before(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        world.model.answers = [
            ToolCall(id=f"c{number}", name="recall_search", arguments={"query": f"number {number}"})
            for number in range(4)
        ]
        await world.say("Look for it")
        for earlier, later in pairwise(world.model.requests):
            assert later.system == earlier.system
            assert later.messages[: len(earlier.messages)] == earlier.messages


async def test_an_eviction_moves_the_history_once_and_then_it_stays_put_for_turns(tmp_path: Path) -> None:
    async with running(tmp_path, parameters=MemoryParameters(max_conversation_history=20, history_target=10)) as world:
        starts = [history(request)[:1] for request in await converse(world)]
        moves = sum(earlier != later for earlier, later in pairwise(starts))
        assert 0 < moves <= TURNS / 3
