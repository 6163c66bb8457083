"""A session ends after half an hour of silence, and what it taught stands at the top of the next one."""

import asyncio
from pathlib import Path

import pytest

from bot.tool_table import TOOL_TABLE
from memory.errors import ModelOverloaded
from memory.messages import ModelRequest, SystemBlock
from memory.parameters import MemoryParameters, Preset
from memory.records import Change
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running


def summarising(*answers: object, default: str = "A digest.") -> ScriptedModel:
    return ScriptedModel(*answers, default=default, only="summarize_session")  # type: ignore[arg-type]  # answers of a script


async def idle(world: World, **span: float) -> int:
    world.clock.advance(**span)
    ended = await world.system.sweep_idle()
    await world.system.settle()
    return ended


async def versions(world: World) -> list[tuple[int, str]]:
    found = await world.system.stores.summaries.versions(world.memory().place.scope)
    return [(version.version, version.text) for version in found]


def first_block(request: ModelRequest) -> SystemBlock:
    return request.system[0]


async def test_the_summary_stands_above_the_first_message_of_the_next_session(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summarising("User is vegetarian.")) as world:
        await world.say("I don't eat meat")
        await idle(world, minutes=30)
        await world.say("What shall I cook?")
        assert "User is vegetarian." in first_block(world.model.requests[-1]).text


async def test_a_new_person_begins_without_a_summary(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("Hello")
        assert first_block(world.model.requests[0]).name == "instructions"


async def test_a_session_ends_after_exactly_half_an_hour_and_only_once(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summarising()) as world:
        await world.say("Hello")
        assert await idle(world, minutes=29, seconds=59) == 0
        assert await idle(world, seconds=1) == 1
        assert await idle(world, minutes=30) == 0
        assert await versions(world) == [(1, "A digest.")]
        assert len(world.memory_model.requests) == 1


async def test_a_message_after_the_silence_closes_the_old_session_by_itself(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summarising()) as world:
        await world.say("Hello")
        world.clock.advance(minutes=31)
        await world.say("Hello again")
        assert await versions(world) == [(1, "A digest.")]
        assert "A digest." in first_block(world.model.requests[-1]).text


@pytest.mark.parametrize("bad", ["word " * 401, "", ModelOverloaded("busy")])
async def test_a_refused_summary_keeps_the_old_one_and_both_logs_go_into_the_next(tmp_path: Path, bad: object) -> None:
    failures = [bad] * 5 if isinstance(bad, Exception) else [bad]
    model = summarising("Likes tea.", *failures, default="Likes tea, has a cat and a dog.")
    async with running(tmp_path, memory_model=model) as world:
        await world.say("I like tea")
        await idle(world, minutes=30)
        await world.say("I have a cat called Tom")
        await idle(world, minutes=30)
        for _ in range(8):
            await idle(world, minutes=2)  # every further try of a failing model fails too
        assert await versions(world) == [(1, "Likes tea.")]
        await world.say("I have a dog called Rex")
        await idle(world, minutes=30)
        request = model.requests[-1].messages[0].text
        assert "Likes tea." in request
        assert "Tom" in request
        assert "Rex" in request
        assert (await versions(world))[0] == (2, "Likes tea, has a cat and a dog.")


async def test_a_summary_of_exactly_the_limit_is_taken(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=summarising("word " * 400)) as world:
        await world.say("Hello")
        await idle(world, minutes=30)
        assert len((await versions(world))[0][1].split()) == 400


async def test_the_last_five_versions_are_kept_and_a_rollback_is_a_new_one(tmp_path: Path) -> None:
    model = summarising(*(f"Summary {number}." for number in range(1, 8)))
    async with running(tmp_path, memory_model=model) as world:
        for number in range(7):
            await world.say(f"Message {number}")
            await idle(world, minutes=30)
        assert await versions(world) == [(number, f"Summary {number}.") for number in (7, 6, 5, 4, 3)]
        scope = world.memory().place.scope
        summaries = world.system.stores.summaries
        for wanted in (4, 7):
            async with world.system.transaction() as tx:
                await summaries.rollback(
                    scope,
                    tx,
                    version=wanted,
                    change=Change(actor="admin:console:root", reason="rollback"),
                    at=world.clock.now(),
                )
        assert (await versions(world))[:2] == [(9, "Summary 7."), (8, "Summary 4.")]
        await world.say("Hello")
        assert "Summary 7." in first_block(world.model.requests[-1]).text


async def test_a_session_of_a_thousand_messages_is_summed_up_in_pieces_that_fit_the_window(tmp_path: Path) -> None:
    parameters = MemoryParameters(preset=Preset.ROLLING, context_window_tokens=6_000, max_output_tokens=500)
    async with running(tmp_path, parameters=parameters, memory_model=summarising()) as world:
        for number in range(500):
            await world.handler.accept(world.incoming(f"Number {number}: " + "many words here " * 10))
        await world.handler.idle()
        await idle(world, minutes=30)
        session_requests = [
            request
            for request in world.memory_model.requests
            if request.system and request.system[0].name == "summarize_session"
        ]
        assert len(session_requests) > 1
        for request in world.memory_model.requests:
            words = sum(len(text.split()) for text in (request.system[0].text, request.messages[0].text))
            assert words + request.max_output_tokens <= parameters.context_window_tokens
        whole = " ".join(request.messages[0].text for request in session_requests)
        assert all(f"Number {number}: " in whole for number in range(500))
        assert await versions(world) == [(1, "A digest.")]


async def test_two_processes_on_one_database_close_each_idle_session_once(tmp_path: Path) -> None:
    clock = FakeClock()
    async with (
        running(tmp_path, clock=clock, memory_model=summarising()) as one,
        running(tmp_path, clock=clock, memory_model=summarising()) as two,
    ):
        people = [f"person{number}" for number in range(10)]
        for person in people:
            await one.say("Hello", who=person)
        clock.advance(minutes=30)
        ended = await asyncio.gather(one.system.sweep_idle(), two.system.sweep_idle())
        await asyncio.gather(one.system.settle(), two.system.settle())
        assert sum(ended) == len(people)
        assert len(one.memory_model.requests) + len(two.memory_model.requests) == len(people)
        for person in people:
            assert len(await one.system.stores.summaries.versions(one.memory(person).place.scope)) == 1


async def test_jobs_left_at_a_stop_are_done_once_after_the_restart(tmp_path: Path) -> None:
    clock = FakeClock()

    async def never(request: ModelRequest) -> str:
        await asyncio.Event().wait()
        return ""

    people = [f"person{number}" for number in range(20)]
    stuck = ScriptedModel(default=never, only="summarize_session")
    async with running(tmp_path, clock=clock, memory_model=stuck) as world:
        for person in people:
            await world.handler.accept(world.incoming("Hello", who=person))
        await world.handler.idle()
        clock.advance(minutes=30)
        assert await world.system.sweep_idle() == 20
        await stuck.asked.wait()
    async with running(tmp_path, clock=clock, memory_model=summarising()) as world:
        await world.system.settle()
        assert len(world.memory_model.requests) == 20
        for person in people:
            assert len(await world.system.stores.summaries.versions(world.memory(person).place.scope)) == 1


async def test_the_rolling_preset_works_by_itself_without_tools(tmp_path: Path) -> None:
    parameters = MemoryParameters(preset=Preset.ROLLING)
    async with running(tmp_path, parameters=parameters, memory_model=summarising("User is vegetarian.")) as world:
        await world.say("I don't eat meat")
        await idle(world, minutes=30)
        await world.say("What shall I cook?")
        request = world.model.requests[-1]
        assert not {tool.name for tool in request.tools} & {tool.name for tool in TOOL_TABLE}
        assert [block.name for block in request.system] == ["summary", "instructions"]
        assert "User is vegetarian." in request.system[0].text
        assert "I don't eat meat" not in str(request.messages)
