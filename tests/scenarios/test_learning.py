"""After an exchange the bot learns, without delaying it, without rubbish, and with a way back."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.chat import OutgoingMessage
from bot.tool_table import TOOL_TABLE
from memory.errors import ModelOverloaded
from memory.messages import ModelRequest
from memory.parameters import MemoryParameters, Preset
from memory.records import Candidate, Change, FactState
from tests.fakes import FakeClock, RecordingChannel, ScriptedModel
from tests.world import World, running

EMPTY = json.dumps({"candidates": []})


def found(*facts: str, **parts: str) -> str:
    return json.dumps({"candidates": [{"text": text, "kind": "fact", **parts} for text in facts]})


def decided(*ops: dict[str, object]) -> str:
    return json.dumps({"ops": [{"candidate": 1, "reason": "because", "id": None, "text": None, **op} for op in ops]})


async def known(world: World, who: str = "ann") -> list[str]:
    return [fact.text for fact in await world.system.stores.facts.current(world.memory(who).place.scope)]


async def store(world: World, text: str, **parts: str) -> int:
    scope = world.memory().place.scope
    async with world.system.transaction() as tx:
        fact = await world.system.stores.facts.add(
            scope,
            tx,
            candidate=Candidate(text=text, **parts),
            change=Change(actor="person", reason="test"),
            at=world.clock.now(),
        )
    assert fact is not None
    await world.system.settle()
    world.clock.advance(minutes=1)
    return fact.id


def tasks(model: ScriptedModel) -> list[str]:
    return [request.system[0].name for request in model.requests]


async def test_a_contradicted_fact_leaves_the_store_for_the_history(tmp_path: Path) -> None:
    model = ScriptedModel(
        found("User is vegetarian", subject="user", predicate="diet", object="vegetarian"),
        decided({"op": "DELETE", "id": 1}, {"op": "ADD", "text": "User is vegetarian"}),
    )
    async with running(tmp_path, memory_model=model) as world:
        await store(world, "User loves seafood", subject="user", predicate="diet", object="seafood")
        await world.say("I have become a vegetarian")
        assert await known(world) == ["User is vegetarian"]
        history = await world.system.stores.facts.history(world.memory().place.reach)
        assert "User loves seafood" in [revision.before for revision in history]
        assert tasks(model) == ["extract_facts", "reconcile_facts"]


async def test_with_nothing_stored_there_is_no_second_call(tmp_path: Path) -> None:
    model = ScriptedModel(found("User has a cat called Tom"))
    async with running(tmp_path, memory_model=model) as world:
        await world.say("My cat is called Tom")
        assert await known(world) == ["User has a cat called Tom"]
        assert tasks(model) == ["extract_facts"]


async def test_every_fact_names_the_message_it_was_learned_from(tmp_path: Path) -> None:
    model = ScriptedModel(found("User has a cat called Tom"))
    async with running(tmp_path, memory_model=model) as world:
        await world.say("My cat is called Tom")
        memory = world.memory()
        [fact] = await world.system.stores.facts.current(memory.place.scope)
        assert fact.source_message is not None
        [source] = await world.system.stores.recall.get(memory.place.reach, [fact.source_message])
        assert source.text == "My cat is called Tom"


async def test_an_event_goes_to_the_journal(tmp_path: Path) -> None:
    event = {"text": "User ran a marathon", "kind": "event", "valid_from": "2026-02-28"}
    model = ScriptedModel(json.dumps({"candidates": [event]}))
    async with running(tmp_path, memory_model=model) as world:
        await world.say("I ran a marathon on Saturday")
        [entry] = await world.system.stores.journal.latest(world.memory().place.reach, until=world.clock.now(), limit=5)
        assert (entry.text, entry.at.date().isoformat()) == ("User ran a marathon", "2026-02-28")
        assert await known(world) == []


@pytest.mark.parametrize("rubbish", ["I found nothing, sorry!", "{", "[1, 2"])
async def test_an_unreadable_extraction_teaches_nothing_and_says_so_once(tmp_path: Path, rubbish: str) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=rubbish)) as world:
        with capture_logs() as logs:
            assert await world.say("My cat is called Tom") == "ok"
        assert await known(world) == []
        assert [line["event"] for line in logs].count("extraction_unreadable") == 1
        assert len(world.memory_model.requests) == 2


async def test_an_unreadable_decision_changes_nothing_and_says_so_once(tmp_path: Path) -> None:
    model = ScriptedModel(found("User has a dog"), "no idea", "still no idea")
    async with running(tmp_path, memory_model=model) as world:
        await store(world, "User has a cat")
        with capture_logs() as logs:
            assert await world.say("I have a dog") == "ok"
        assert await known(world) == ["User has a cat"]
        assert [line["event"] for line in logs].count("reconcile_unreadable") == 1


async def test_the_reply_is_delivered_before_learning_begins(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def blocked(request: ModelRequest) -> str:
        await release.wait()
        return found("User has a cat called Tom")

    async with running(tmp_path, memory_model=ScriptedModel(default=blocked)) as world:
        await world.handler.accept(world.incoming("My cat is called Tom"))
        await world.memory_model.asked.wait()
        assert world.channel.texts == ["ok"]
        await world.handler.accept(world.incoming("I live in Oslo", who="bob"))
        await world.handler.accept(world.incoming("And one more thing"))
        await world.handler.idle()
        assert len(world.channel.texts) == 3
        assert await known(world) == []
        release.set()
        await world.system.settle()
        assert await known(world) == ["User has a cat called Tom"]


async def test_learning_that_was_cut_off_is_done_once_after_the_restart(tmp_path: Path) -> None:
    clock = FakeClock()

    async def never(request: ModelRequest) -> str:
        await asyncio.Event().wait()
        return ""

    stuck = ScriptedModel(default=never)
    async with running(tmp_path, clock=clock, memory_model=stuck) as world:
        await world.handler.accept(world.incoming("My cat is called Tom"))
        await stuck.asked.wait()
    model = ScriptedModel(found("User has a cat called Tom"), default=EMPTY)
    async with running(tmp_path, clock=clock, memory_model=model) as world:
        await world.system.settle()
        assert await known(world) == ["User has a cat called Tom"]
        assert len(model.requests) == 1


async def test_a_model_that_cannot_be_reached_only_delays_learning(tmp_path: Path) -> None:
    model = ScriptedModel(ModelOverloaded("busy"), ModelOverloaded("busy"), found("User has a cat called Tom"))
    async with running(tmp_path, memory_model=model) as world:
        await world.say("My cat is called Tom")
        assert await known(world) == []
        for _ in range(2):
            world.clock.advance(seconds=10)
            await world.system.settle()
        assert await known(world) == ["User has a cat called Tom"]


async def test_a_message_whose_turn_failed_teaches_all_the_same(tmp_path: Path) -> None:
    model = ScriptedModel(found("User has a cat called Tom"))
    chat = ScriptedModel(ModelOverloaded("busy"))
    async with running(tmp_path, model=chat, memory_model=model) as world:
        assert "overloaded" in await world.say("My cat is called Tom")
        assert await known(world) == ["User has a cat called Tom"]


async def test_what_a_failed_turn_teaches_is_noted_before_the_apology_is_out(tmp_path: Path) -> None:
    class Watching(RecordingChannel):
        """Knows which jobs there were when an answer left."""

        async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
            with closing(sqlite3.connect(tmp_path / "keepsake.db")) as database:
                noted.extend(key for (key,) in database.execute("SELECT key FROM jobs WHERE key LIKE 'learn:%'"))
            return await super().send(message)

    noted: list[str] = []
    async with running(tmp_path, model=ScriptedModel(ModelOverloaded("busy")), channel=Watching()) as world:
        assert "overloaded" in await world.say("My cat is called Tom")
    assert len(noted) == 1


async def test_an_unknown_number_costs_only_its_own_operation(tmp_path: Path) -> None:
    model = ScriptedModel(
        found("User has a dog"), decided({"op": "DELETE", "id": 77}, {"op": "ADD", "text": "User has a dog"})
    )
    async with running(tmp_path, memory_model=model) as world:
        await store(world, "User has a cat")
        await world.say("I have a dog")
        assert await known(world) == ["User has a cat", "User has a dog"]


async def test_one_exchange_retires_at_most_three_facts(tmp_path: Path) -> None:
    model = ScriptedModel(
        found("User sold everything"),
        decided(*({"op": "DELETE", "id": number} for number in range(1, 6)), {"op": "ADD", "text": "User sold it all"}),
    )
    async with running(tmp_path, memory_model=model) as world:
        for thing in ("a boat", "a house", "a car", "a bike", "a piano"):
            await store(world, f"User sold everything but {thing}")
        await world.say("I sold everything I had")
        left = await known(world)
        assert len([text for text in left if "but" in text]) >= 2


async def test_a_move_makes_the_new_home_current_and_a_revert_brings_the_old_one_back(tmp_path: Path) -> None:
    home = {"subject": "user", "predicate": "lives_in"}
    model = ScriptedModel(
        found("User lives in Rome", **home, object="Rome"),
        decided({"op": "DELETE", "id": 1}, {"op": "ADD", "text": "User lives in Rome"}),
        default=EMPTY,
    )
    async with running(tmp_path, memory_model=model) as world:
        await store(world, "User lives in Oslo", **home, object="Oslo")
        await world.say("I moved from Oslo to Rome")
        assert await known(world) == ["User lives in Rome"]
        await world.say("User lives in where?")
        assert "User lives in Rome" in str(world.model.requests[-1].messages[-1])
        assert "User lives in Oslo" not in str(world.model.requests[-1].messages[-1])

        memory = world.memory()
        facts = world.system.stores.facts
        history = await facts.history(memory.place.reach)
        left = next(revision for revision in history if revision.action == "supersede")
        change = Change(actor="admin:console:root", reason="revert")
        async with world.system.transaction() as tx:
            await facts.revert(memory.place.scope, tx, revision_id=left.id, change=change, at=world.clock.now())
        assert "User lives in Oslo" in await known(world)
        old = [fact for fact in await facts.current(memory.place.scope) if "Oslo" in fact.text]
        assert old[0].state is FactState.CURRENT
        await world.system.settle()
        await world.say("User lives in where, Oslo?")
        assert "User lives in Oslo" in str(world.model.requests[-1].messages[-1])


async def test_a_wish_to_forget_retires_what_it_names_and_is_no_fact_itself(tmp_path: Path) -> None:
    wish = {"predicate": "wants_forgotten", "object": "the cat"}
    model = ScriptedModel(
        found("User wants this forgotten: the cat", **wish),
        decided({"op": "DELETE", "id": 1}),
        found("User wants this forgotten: the cat", **wish),
    )
    async with running(tmp_path, memory_model=model) as world:
        await store(world, "User has a cat called Tom")
        for _ in range(2):
            await world.say("Please forget about my cat")
        assert await known(world) == []
        [forgotten, _] = await world.system.stores.facts.history(world.memory().place.reach)
        assert forgotten.action == "forget"


async def test_twenty_exchanges_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    async def answer(request: ModelRequest) -> str:
        if request.system[0].name != "extract_facts":
            return decided({"op": "ADD"})
        said = request.messages[0].text.split("<user_message>")[1].split("</user_message>")[0].strip()
        return found(said.replace("I have", "User has"))

    async with running(tmp_path, memory_model=ScriptedModel(default=answer)) as world:
        for number in range(20):
            await world.handler.accept(world.incoming(f"I have pet number {number}"))
        await world.handler.idle()
        await world.system.settle()
        assert sorted(await known(world)) == sorted(f"User has pet number {number}" for number in range(20))


async def test_small_talk_costs_no_call(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(default=EMPTY)) as world:
        for text in ("hi", "thanks!", "ok", "👍", "good morning"):
            await world.say(text)
        assert world.memory_model.requests == []


async def test_what_only_the_assistant_said_stands_apart_from_the_evidence(tmp_path: Path) -> None:
    model = ScriptedModel(default=EMPTY)
    async with running(tmp_path, model=ScriptedModel("As a vegan you will like it."), memory_model=model) as world:
        await world.say("Recommend me a restaurant in Rome, I am there on Friday")
        evidence = model.requests[0].messages[0].text.split("<user_message>")[1]
        assert "vegan" not in evidence
        assert "on Friday" in evidence


async def test_the_facts_preset_works_by_itself(tmp_path: Path) -> None:
    parameters = MemoryParameters(preset=Preset.FACTS)
    model = ScriptedModel(found("User has a cat called Tom"), default=EMPTY)
    async with running(tmp_path, parameters=parameters, memory_model=model) as world:
        await world.say("My cat is called Tom")
        await world.say("What is my cat called?")
        request = world.model.requests[-1]
        assert not {tool.name for tool in request.tools} & {tool.name for tool in TOOL_TABLE}
        assert [block.name for block in request.system] == ["instructions"]
        assert "User has a cat called Tom" in str(request.messages[-1])
