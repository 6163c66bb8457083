"""After a life full of memory, an erasure leaves a word of it nowhere, and nothing brings it back."""

from __future__ import annotations

import json
from pathlib import Path

from structlog.testing import capture_logs

from memory.errors import ModelOverloaded
from memory.messages import ModelRequest, ToolCall
from memory.parameters import MemoryParameters
from tests.desk import OPERATOR, Desk, channel
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running

CANARY = "quetzalfeather"
SMALL = MemoryParameters(max_conversation_history=4, history_target=2)


def repeating(request: ModelRequest) -> str:
    """Memory work that writes the word into whatever it makes, a new fact each time."""
    match request.system[0].name:
        case "extract_facts":
            number = sum(map(ord, request.messages[0].text)) % 997
            kinds = ("fact", "event")
            return json.dumps({"candidates": [{"kind": kind, "text": f"User has {CANARY} {number}"} for kind in kinds]})
        case "reconcile_facts":
            return json.dumps({"ops": [{"candidate": 1, "op": "ADD"}]})
    return f"Ann has a {CANARY}."


def keeping(request: ModelRequest) -> list[ToolCall] | str:
    """A chat model that saves the word wherever it can."""
    if request.messages[-1].tool_results:
        return f"Your {CANARY} is noted."
    number = len(str(request))
    return [
        ToolCall(id=f"a{number}", name="core_memory_append", arguments={"text": f"{CANARY} {number}"}),
        ToolCall(id=f"b{number}", name="archival_insert", arguments={"text": f"A long story of a {CANARY} {number}"}),
    ]


async def live(world: World) -> None:
    """Two sittings in two places, then versions rolled back and undone, and a job that was set aside."""
    desk = Desk.of(world)
    for sitting in range(2):
        for number in range(3):
            for where in (None, channel(1)):
                await world.say(f"I bought {CANARY} number {sitting}{number}", where=where)
        world.clock.advance(minutes=31)
        await world.system.sweep_idle()
        await world.system.settle()
    for command in ("rollback console:ann 1", "undo console:ann " + await last_session(world)):
        reply = await desk.call(f"/memory {command} audience:dm confirmed:yes", by=OPERATOR)
        assert reply.succeeded, reply.text
    world.memory_model.default = ModelOverloaded("overloaded")
    await world.say(f"One more {CANARY}")
    world.memory_model.default = repeating


async def last_session(world: World) -> str:
    [session] = await world.system.stores.sessions.recent(world.memory().place.scope, 1)
    return str(session.id)


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


async def test_after_all_kinds_of_memory_an_erasure_leaves_a_word_nowhere(tmp_path: Path) -> None:
    clock = FakeClock()
    model, memory_model = ScriptedModel(default=keeping), ScriptedModel(default=repeating)
    with capture_logs() as logs:
        async with running(tmp_path, clock=clock, model=model, memory_model=memory_model, parameters=SMALL) as world:
            await live(world)
            kept = await world.system.privacy.export("console:ann")
            for audience in ("dm", "guild:1"):
                assert CANARY in json.dumps(kept["scopes"][audience])
            assert CANARY.encode() in files(tmp_path)
            receipt = await Desk.of(world).call("/mydata erase ERASE")
            assert "Nothing is left." in receipt.text
        async with running(
            tmp_path, clock=clock, memory_model=ScriptedModel(default=repeating), parameters=SMALL
        ) as world:
            clock.advance(days=1)
            await world.system.sweep_idle()
            await world.system.settle()
            assert world.memory_model.requests == []
            assert await world.system.privacy.scopes_of("console:ann") == []
            await world.say("Hello", who="bob")
            assert CANARY not in str(world.model.requests)
    assert CANARY.encode() not in files(tmp_path)
    assert CANARY not in str(logs)
