"""The memory tools under Letta's names do what they do under the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory.messages import ToolCall
from memory.parameters import MemoryParameters, ToolNames
from memory.records import HUMAN, PERSONA
from tests.fakes import ScriptedModel
from tests.world import World, running

LETTA = MemoryParameters(tool_names=ToolNames.LETTA)


def calls(*named: tuple[str, dict[str, Any]]) -> ScriptedModel:
    return ScriptedModel(*(ToolCall(id=f"t{n}", name=name, arguments=given) for n, (name, given) in enumerate(named)))


def results(world: World) -> list[str]:
    return [result.content for message in world.model.requests[-1].messages for result in message.tool_results]


async def test_a_section_is_added_to_changed_and_written_anew_each_as_a_version(tmp_path: Path) -> None:
    model = calls(
        ("memory_insert", {"section": "human", "content": "Name: Ann."}),
        ("memory_replace", {"section": "human", "old_content": "Ann", "new_content": "Anna"}),
        ("memory_rethink", {"section": "persona", "new_content": "I am calm."}),
        ("memory_replace", {"section": "persona", "old_content": "Anna", "new_content": "Eve"}),
        ("memory_rethink", {"section": "diary", "new_content": "Dear diary"}),
        ("memory_insert", {"section": "human", "content": "x" * 3_000}),
    )
    async with running(tmp_path, model=model, parameters=LETTA) as world:
        await world.say("I am Anna.")
        assert results(world)[:3] == ["Saved in core memory.", "Core memory changed.", "Core memory changed."]
        assert [result.startswith("Error: ") for result in results(world)[3:]] == [True] * 3
        assert "move older facts out with archival_memory_insert" in results(world)[-1].lower()
        assert "shorten what is here with memory_replace" in results(world)[-1]
        blocks, scope = world.system.stores.blocks, world.memory().place.scope
        assert {block.label: block.value for block in await blocks.load(scope)} == {
            HUMAN: "Name: Anna.",
            PERSONA: "I am calm.",
        }
        assert [version.value for version in await blocks.versions(scope, HUMAN)] == ["Name: Anna.", "Name: Ann."]


async def test_the_archive_is_written_and_searched(tmp_path: Path) -> None:
    model = calls(
        ("archival_memory_insert", {"content": "The bus leaves at nine."}),
        ("archival_memory_search", {"query": "bus", "k": 3}),
        ("conversation_search", {"query": "bus"}),
    )
    async with running(tmp_path, model=model, parameters=LETTA) as world:
        await world.say("When does it leave?")
        assert "The bus leaves at nine." in results(world)[1]


async def test_the_two_sets_of_names_are_never_offered_together(tmp_path: Path) -> None:
    offered = {}
    for names in ToolNames:
        async with running(tmp_path / names, parameters=MemoryParameters(tool_names=names)) as world:
            await world.say("Hello.")
            request = world.model.requests[-1]
            offered[names] = {tool.name for tool in request.tools}
            others = {"core_memory_append", "archival_insert", "memory_insert", "memory_rethink"} - offered[names]
            assert not any(name in str(request) for name in others)
    assert "memory_rethink" in offered[ToolNames.LETTA]
    assert not offered[ToolNames.LETTA] & {"core_memory_append", "archival_insert", "recall_search"}
    assert not offered[ToolNames.MEMGPT] & {"memory_insert", "memory_replace", "archival_memory_insert"}
