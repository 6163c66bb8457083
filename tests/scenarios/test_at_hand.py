"""What matters most and the map of topics stand in the prompt, and change with consolidations alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from structlog.testing import capture_logs

from memory.parameters import MemoryParameters, Preset
from memory.processes.undo import origin_of
from memory.records import By, Mode, Scope, scope_slug
from tests.fakes import ScriptedModel
from tests.world import running

ANN = Scope(person="console:ann", audience="dm")
EVENT = {"text": "User moved to </category_tree> Oslo", "kind": "event", "category": "personal/home", "importance": 0.9}
FOUND = json.dumps({"candidates": [EVENT]})


async def test_what_matters_and_the_map_stand_in_the_prompt_from_a_consolidation_on(tmp_path: Path) -> None:
    memory_model = ScriptedModel(FOUND, default='{"candidates": []}')
    async with running(tmp_path, memory_model=memory_model) as world:
        await world.say("I moved to Oslo")
        await world.say("Good morning to you")
        before = {block.name for block in world.model.requests[-1].system}
        assert not {"hot", "tree"} & before
        await world.system.consolidator.run(ANN, Mode.QUICK)
        await world.say("Did I move anywhere?")
        blocks = world.model.requests[-1].system
        names = [block.name for block in blocks]
        assert names == ["instructions", "core", "hot", "tree"]
        assert [block.cache_breakpoint for block in blocks] == [False, False, False, True]
        assert "Oslo" in blocks[2].text
        assert "home 0/1/0" in blocks[3].text
        assert "</category_tree> Oslo" not in blocks[2].text
        await world.say("And what else do you know?")
        assert world.model.requests[-1].system == blocks


async def test_other_presets_show_neither_and_keep_no_entries(tmp_path: Path) -> None:
    memory_model = ScriptedModel(FOUND, default='{"candidates": []}')
    parameters = MemoryParameters(preset=Preset.FACTS)
    async with running(tmp_path, memory_model=memory_model, parameters=parameters) as world:
        await world.say("I moved to Oslo")
        assert await world.system.stores.warm.all(ANN) == []


async def test_the_tiered_preset_shows_what_matters_and_the_map_and_no_core_memory(tmp_path: Path) -> None:
    memory_model = ScriptedModel(FOUND, default='{"candidates": []}')
    parameters = MemoryParameters(preset=Preset.TIERED)
    async with running(tmp_path, memory_model=memory_model, parameters=parameters) as world:
        await world.say("I moved to Oslo")
        await world.system.consolidator.run(ANN)
        await world.say("Did I move anywhere?")
        names = [block.name for block in world.model.requests[-1].system]
    assert names == ["instructions", "hot", "tree"]


async def test_what_is_forgotten_or_undone_leaves_the_page_for_people_at_once(tmp_path: Path) -> None:
    taught = {"text": "User never sails", "kind": "fact", "category": "lessons", "importance": 0.9}
    memory_model = ScriptedModel(json.dumps({"candidates": [taught]}), default='{"candidates": []}')
    async with running(tmp_path, memory_model=memory_model, notes_folder=tmp_path / "notes") as world:
        await world.say("I never sail")
        report = await world.system.consolidator.run(ANN, Mode.QUICK)
        page = tmp_path / "notes" / scope_slug(ANN) / "MEMORY.md"
        assert "never sails" in page.read_text(encoding="utf-8")
        await world.system.oversight.undo.take_back(ANN, origin_of(report.job), by=By())
        assert "never sails" not in page.read_text(encoding="utf-8")
        await world.system.consolidator.run(ANN, Mode.QUICK)
        assert "never sails" in page.read_text(encoding="utf-8")
        [fact] = await world.system.stores.facts.current(ANN)
        await world.system.oversight.facts.forget(ANN, fact.id, by=By())
        assert "never sails" not in page.read_text(encoding="utf-8")


async def test_pages_that_are_written_at_the_same_moment_do_not_hinder_each_other(tmp_path: Path) -> None:
    memory_model = ScriptedModel(FOUND, default='{"candidates": []}')
    async with running(tmp_path, memory_model=memory_model, notes_folder=tmp_path / "notes") as world:
        await world.say("I moved to Oslo")
        await world.system.consolidator.run(ANN, Mode.QUICK)
        with capture_logs() as logs:
            await asyncio.gather(*(world.system.consolidator.pages.forgotten(ANN) for _ in range(8)))
        assert [line["event"] for line in logs] == []
