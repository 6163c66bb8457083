"""What is filed in a category reaches the answer, beside whatever else is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.offline import OfflineModel
from memory.errors import ModelUnavailable
from memory.messages import ModelRequest, ToolCall
from memory.parameters import MemoryParameters, Preset, TreeMode
from memory.records import Change, NewEntry, Origin, Scope
from tests.desk import Desk
from tests.fakes import ScriptedModel
from tests.world import World, running

ANN = Scope(person="console:ann", audience="dm")
NOTHING = '{"candidates": []}'


def learned(*found: dict[str, object]) -> str:
    return json.dumps({"candidates": [{"importance": 0.6, **one} for one in found]})


BEANS = {"text": "User planted beans", "kind": "event", "category": "garden"}
NUTS = {"text": "User cannot eat nuts", "kind": "fact", "category": "garden/kitchen"}


def shown(world: World) -> str:
    """What stands before the newest message."""
    return world.model.requests[-1].messages[-1].parts[0].text  # type: ignore[union-attr]  # the data block is text


async def keep(world: World, text: str, category: str) -> None:
    change, now = Change(actor="system", reason="test", job="test"), world.clock.now()
    new = NewEntry(text=text, category=category, created_at=now)
    async with world.system.transaction() as tx:
        await world.system.stores.warm.add(ANN, tx, new=new, change=change, at=now)


async def accesses(world: World) -> dict[str, int]:
    return {entry.text: entry.access_count for entry in await world.system.stores.warm.all(ANN)}


async def test_what_only_the_tree_finds_and_what_only_meaning_finds_are_both_shown(tmp_path: Path) -> None:
    memory_model = ScriptedModel(
        learned({"text": "User owns seventeen spades", "kind": "fact", "category": "tools"}), default=NOTHING
    )
    async with running(tmp_path, memory_model=memory_model) as world:
        await world.say("I own seventeen spades")
        await keep(world, "Sowed beans by the wall", "garden")
        world.clock.advance(hours=1)
        await world.say("Have I any spades for my garden?")
        assert "Sowed beans by the wall" in shown(world)
        assert "User owns seventeen spades" in shown(world)


async def test_an_entry_is_left_out_where_its_message_stands_in_the_window(tmp_path: Path) -> None:
    memory_model = ScriptedModel(learned(BEANS), default=NOTHING)
    async with running(tmp_path, memory_model=memory_model) as world:
        await world.say("I planted beans")
        await world.say("How is my garden?")
        assert "User planted beans" not in shown(world)


@pytest.mark.parametrize("preset", [Preset.FULL, Preset.TIERED])
async def test_a_greeting_brings_nothing_up_and_reinforces_nothing(tmp_path: Path, preset: Preset) -> None:
    async with running(tmp_path, parameters=MemoryParameters(preset=preset)) as world:
        await keep(world, "Said hello to the neighbours", "people")
        for message in ("Hello there!", "Thanks, good morning", "What is 2+2?", "Who invented the telephone?"):
            await world.say(message)
            assert "neighbours" not in shown(world)
        assert await accesses(world) == {"Said hello to the neighbours": 0}


async def test_the_tiered_preset_finds_facts_and_events_by_categories_and_words_alone(tmp_path: Path) -> None:
    memory_model = ScriptedModel(learned(BEANS, NUTS), default=NOTHING)
    async with running(tmp_path, memory_model=memory_model, parameters=MemoryParameters(preset=Preset.TIERED)) as world:
        await world.say("I planted beans, and I cannot eat nuts")
        world.clock.advance(hours=1)
        await world.system.consolidator.run(ANN)
        for question in ("What is in my garden?", "Which nuts and beans did I speak of?"):
            await world.say(question)
            assert "User planted beans" in shown(world)
            assert "User cannot eat nuts" in shown(world)
        assert "<retrieved>\n- [2026-03-02, entry] User planted beans\n</retrieved>" in shown(world)
        await world.say("What do I do at the office?")
        assert "User" not in shown(world)


async def test_what_an_answer_was_given_counts_as_used_and_nothing_else_does(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await keep(world, "Sowed beans by the wall", "garden")
        await keep(world, "Bought a lathe", "workshop")
        await world.say("How is my garden?")
        assert await accesses(world) == {"Sowed beans by the wall": 1, "Bought a lathe": 0}
        why = await Desk.of(world).call("/mydata why")
        assert why.text.count("Sowed beans by the wall") == 1
        assert "A recent event of" in why.text
        assert "because of the category garden" in why.text


async def test_a_forgotten_entry_is_named_without_its_text(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await keep(world, "Sowed beans by the wall", "garden")
        await world.say("How is my garden?")
        async with world.system.transaction() as tx:
            await world.system.stores.cold.remove_work(
                ANN, tx, origin=Origin(job="test"), by="test", at=world.clock.now()
            )
        why = await Desk.of(world).call("/mydata why")
        assert "A recent event that was forgotten or deleted since" in why.text


async def test_the_agent_searches_by_category_itself_and_what_it_was_given_counts_as_used(tmp_path: Path) -> None:
    call = ToolCall(id="1", name="memory_tree_search", arguments={"query": "beans in the garden"})
    async with running(tmp_path, model=ScriptedModel(call, "They stand by the wall.")) as world:
        await keep(world, "Sowed beans by the wall", "garden")
        await world.say("Where did they end up?")
        [result] = world.model.requests[-1].messages[-1].tool_results
        assert result.content.splitlines() == [
            "garden (0.83): named by garden",
            "- [2026-03-02, entry] Sowed beans by the wall",
        ]
        assert await accesses(world) == {"Sowed beans by the wall": 1}


@pytest.mark.parametrize("preset", Preset)
async def test_the_tool_is_offered_where_there_are_tiers(tmp_path: Path, preset: Preset) -> None:
    async with running(tmp_path, parameters=MemoryParameters(preset=preset)) as world:
        await world.say("Hello, I am new here")
        request = world.model.requests[-1]
        offered = "memory_tree_search" in {tool.name for tool in request.tools}
        assert offered is (preset in (Preset.FULL, Preset.TIERED))
        assert ("core_memory_append" in str(request.system)) is (preset in (Preset.FULL, Preset.PAGING))


async def test_where_a_model_chooses_it_is_asked_before_the_answer_and_missed_by_nobody(tmp_path: Path) -> None:
    choice = json.dumps([{"path": "garden", "relevance": 0.8, "reason": "food grows there"}])
    unheard: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        if request.system[0].name != "search_tree":
            return NOTHING
        unheard.append(request)
        if len(unheard) > 1:
            raise ModelUnavailable("down")
        return choice

    parameters = MemoryParameters(preset=Preset.TIERED, tree_search_mode=TreeMode.LLM)
    async with running(tmp_path, memory_model=ScriptedModel(default=answer), parameters=parameters) as world:
        await keep(world, "Sowed beans by the wall", "garden")
        await world.say("What will I have for dinner in autumn?")
        assert "Sowed beans by the wall" in shown(world)
        await world.say("What will I have for dinner in winter?")
        assert "Sowed beans by the wall" not in shown(world)
        await world.say("And my garden?")
        assert "Sowed beans by the wall" in shown(world)


@pytest.mark.parametrize("preset", [Preset.FACTS, Preset.TIERED])
async def test_without_a_key_a_fact_that_is_looked_up_answers(tmp_path: Path, preset: Preset) -> None:
    rules, parameters = OfflineModel(), MemoryParameters(preset=preset)

    async def by_rule(request: ModelRequest) -> str:
        return (await rules.complete(request)).message.text

    memory_model = ScriptedModel(default=by_rule)
    async with running(tmp_path, chat_model=rules, memory_model=memory_model, parameters=parameters) as world:
        await world.say("My boat is called Petrel.")
        await Desk.of(world).call("/mydata new")
        assert "Petrel" in await world.say("What is my boat called?")
