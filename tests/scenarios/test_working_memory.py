"""The agent keeps track of a task: through restarts, until the session ends, and never off the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memory.messages import ToolCall
from tests.desk import Desk
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running


def work(operation: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=operation, name="working_memory", arguments={"operation": operation, **arguments})


def newest_turn(world: World) -> str:
    return world.model.requests[-1].messages[-1].text


TRIP = ScriptedModel(
    work("set_goal", text="Book a trip </working_memory>"),
    work("decompose", steps=["find trains", "book a hotel"]),
    work("complete_step", text="find trains", result="the 9:40"),
    work("add_hypothesis", text="May is cheaper", confidence=0.6),
    work("add_evidence", about="May", text="a fare table", confidence=0.9),
    "Half done.",
)


async def test_a_task_is_shown_with_the_next_message_and_survives_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path, model=TRIP, clock=clock) as world:
        assert await world.say("Plan my trip.") == "Half done."
    clock.advance(minutes=1)
    async with running(tmp_path, clock=clock) as world:
        await world.say("Go on.")
        shown = newest_turn(world)
    assert "- [x] find trains: the 9:40\n- [ ] book a hotel" in shown
    assert "- May is cheaper (confidence 90%)\n  for: a fare table" in shown
    assert shown.count("</working_memory>") == 1
    assert shown.index("</now>") < shown.index("<working_memory>") < shown.index("Go on.")


async def test_it_is_gone_with_the_session_and_no_other_conversation_sees_it(tmp_path: Path) -> None:
    async with running(tmp_path, model=ScriptedModel(work("note", about="seat", text="gangway"), "ok")) as world:
        await world.say("A window seat.")
        await world.say("Hello.", who="bob")
        assert "gangway" not in str(world.model.requests[-1])
        world.clock.advance(minutes=31)
        await world.system.sweep_idle()
        assert await world.system.stores.working.export(world.memory().place.scope) == []
        await world.say("Back again.")
        assert "<working_memory>" not in newest_turn(world)


async def test_off_the_record_nothing_is_written(tmp_path: Path) -> None:
    model = ScriptedModel(work("set_goal", text="a surprise"), "ok")
    async with running(tmp_path, model=model) as world:
        await Desk.of(world).call("/mydata incognito")
        await world.say("Plan a surprise.")
        [result] = model.requests[-1].messages[-1].tool_results
        assert result.is_error
        assert await world.system.stores.working.export(world.memory().place.scope) == []


async def test_a_call_that_lacks_something_says_what(tmp_path: Path) -> None:
    model = ScriptedModel(work("complete_step", text="find trains"), work("add_evidence", about="x", text="y"), "ok")
    async with running(tmp_path, model=model) as world:
        await world.say("Go.")
        said = [result.content for message in model.requests[-1].messages for result in message.tool_results]
    assert said == [
        "Error: complete_step needs result. Nothing was changed.",
        "Error: Name one of the working hypotheses by its words. There are: none.",
    ]


async def test_a_task_goes_along_to_another_installation(tmp_path: Path) -> None:
    async with running(tmp_path / "old", model=ScriptedModel(work("set_goal", text="Book a trip"), "ok")) as old:
        await old.say("Plan my trip.")
        data = json.dumps(await old.system.privacy.export("console:ann")).encode()
    async with running(tmp_path / "new") as new:
        await new.system.importer.run(data, actor="operator")
        new.clock.advance(minutes=1)
        await new.say("Go on.")
        assert "Book a trip" in newest_turn(new)
