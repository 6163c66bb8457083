"""The map of what is remembered, and what is at hand, by command."""

from __future__ import annotations

import json
from pathlib import Path

from memory.records import Scope
from tests.desk import OPERATOR, Desk
from tests.fakes import ScriptedModel
from tests.world import running

ANN = Scope(person="console:ann", audience="dm")
EVENT = {"text": "User decided to move to Oslo", "kind": "event", "category": "personal/home", "importance": 0.9}


async def test_people_see_their_own_map_and_what_is_at_hand(tmp_path: Path) -> None:
    memory_model = ScriptedModel(json.dumps({"candidates": [EVENT]}), default='{"candidates": []}')
    async with running(tmp_path, memory_model=memory_model) as world:
        desk = Desk.of(world)
        await world.say("I decided to move to Oslo")
        assert "home (0 facts, 1 warm, 0 cold)" in (await desk.call("/mydata tree")).text
        [entry] = await world.system.stores.warm.all(ANN)
        assert entry.metadata == {
            "core": "decided move Oslo",
            "topics": ["decided", "move", "oslo"],
            "actions": ["move to Oslo"],
            "outcome": "positive",
        }
        assert (await desk.call("/mydata hot")).text.startswith("Nothing is at hand yet")  # of one circle, so unnamed
        await world.system.consolidator.run(ANN)
        assert "User decided to move to Oslo" in (await desk.call("/mydata hot")).text


async def test_admins_add_and_remove_categories_within_the_limits_and_it_is_noted(tmp_path: Path) -> None:
    memory_model = ScriptedModel(json.dumps({"candidates": [EVENT]}), default='{"candidates": []}')
    async with running(tmp_path, memory_model=memory_model) as world:
        desk = Desk.of(world)
        await world.say("I decided to move to Oslo")
        added = (await desk.call("/memory tree console:ann add:work/travel description:trips", by=OPERATOR)).text
        assert "travel (0 facts, 0 warm, 0 cold) - trips" in added
        refused = (await desk.call("/memory tree console:ann remove:owner/home", by=OPERATOR)).text
        assert "owner/home holds memories, so it stays." in refused
        removed = (await desk.call("/memory tree console:ann remove:work/travel", by=OPERATOR)).text
        assert "travel" not in removed
        assert "memory tree remove" in (await desk.call("/mydata audit")).text
