"""Memory outlives its machine, and two machines share it: over Turso's own server, on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from memory.messages import ModelRequest, ToolCall
from memory.mirror.process import MirrorAddress
from memory.processes.mirroring import Mirroring
from memory.records import Scope
from memory.stores.mirrored import STORES
from tests.doubles.turso_server import TursoServer, turso_server
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running

ANN = Scope(person="console:ann", audience="dm")
STORY = {
    "summary": "Ann talked.",
    "goal": "",
    "journey": [],
    "outcome": "success",
    "key_moments": [],
    "lessons": [],
    "tags": [],
    "importance": 0.7,
    "facts": [],
    "procedures": [{"name": "How to talk", "description": "Talking", "steps": ["Open it."], "triggers": ["talk"]}],
}
MIRRORED = {"hot", "tree", *(store.name for store in STORES)}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TursoServer]:
    with turso_server(tmp_path) as server:
        yield server


def topic_of(request: ModelRequest) -> str:
    """The last topic that the request speaks of."""
    return str(request).rsplit("about ", 1)[-1].split()[0].strip(".,'\")<&\\")


def learning(request: ModelRequest) -> str:
    """Memory work that learns a fact and an event of whatever was talked about."""
    match request.system[0].name:
        case "extract_facts":
            kinds = {"fact": "User likes", "event": "User talked of"}
            topic = topic_of(request)
            candidates = [{"kind": kind, "text": f"{says} {topic}", "category": "life"} for kind, says in kinds.items()]
            return json.dumps({"candidates": candidates})
        case "reconcile_facts":
            return json.dumps({"ops": [{"candidate": 1, "op": "ADD"}]})
        case "write_episode":
            return json.dumps(STORY)
    return f"They talked about {topic_of(request)}"


def noting(request: ModelRequest) -> list[ToolCall] | str:
    """A chat model that saves what it hears."""
    if request.messages[-1].tool_results:
        return "Noted."
    topic = topic_of(request)
    return [
        ToolCall(id=f"a{topic}", name="core_memory_append", arguments={"text": f"Likes {topic}."}),
        ToolCall(id=f"b{topic}", name="archival_insert", arguments={"text": f"A long story of {topic}."}),
    ]


def device(
    folder: Path, server: TursoServer, clock: FakeClock, *, with_messages: bool = False
) -> AbstractAsyncContextManager[World]:
    """A machine on the mirror."""
    folder.mkdir(exist_ok=True)
    address = MirrorAddress(url=server.url, folder=folder / "mirror", with_messages=with_messages, seconds=20)
    models = {"model": ScriptedModel(default=noting), "memory_model": ScriptedModel(default=learning)}
    return running(folder, clock=clock, mirror=address, **models)


def mirror_of(world: World) -> Mirroring:
    assert world.system.mirror is not None
    return world.system.mirror


async def talk(world: World, topic: str) -> None:
    """A conversation, up to the silence that ends it and the job that follows."""
    for words in ("Let us talk about", "And once more about"):
        await world.say(f"{words} {topic} today")
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()
    await mirror_of(world).settle()


async def memory_of(world: World) -> dict[str, Any]:
    """What is kept of Ann in private, as an export has it, so far as it is mirrored."""
    stores = (await world.system.privacy.export(ANN.person))["scopes"]["dm"]
    kept = {name: rows for name, rows in stores.items() if rows and name in MIRRORED}
    kept["hot"] = [row["state"] for row in kept.get("hot", ())][-1:]  # its history stays where it was made
    for row in kept.get("entries", ()):
        del row["score"]  # what it is worth is worked out anew by every consolidation
    for node in kept.get("tree", ()):
        del node["last_active_at"]
    return kept


async def test_a_machine_that_lost_everything_gets_it_back(tmp_path: Path, server: TursoServer) -> None:
    clock, folder = FakeClock(), tmp_path / "a"
    async with device(folder, server, clock) as world:
        await talk(world, "tea")
        await talk(world, "chess")
        await world.system.consolidator.run_all()
        await mirror_of(world).exchange()
        before = await memory_of(world)
    shutil.rmtree(folder)
    async with device(folder, server, clock) as world:
        assert await mirror_of(world).restore()
        after = await memory_of(world)
        assert set(before) >= {"blocks", "summaries", "facts", "fact_revisions", "entries", "tree", "archival"}
        for name, rows in before.items():
            assert after[name] == rows, name
