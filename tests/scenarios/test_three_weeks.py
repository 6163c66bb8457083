"""Three weeks of somebody's life: what was decided on which day, and how things are to be done, in two time zones."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from bot.offline import OfflineModel
from memory.messages import ModelRequest
from memory.parameters import MemoryParameters
from tests.desk import OPERATOR, Desk
from tests.fakes import FakeClock, ScriptedModel
from tests.world import World, running

DECISIONS = ("the red paint", "the oak planks", "the brass screws", "the canvas sail", "the iron keel", "the long mast")


def telling(request: ModelRequest) -> str:
    """The story of each session: what was decided in it, and how Ann likes her reports where she said so."""
    log = request.messages[0].text.split("<session_log>")[1]
    decided = next((decision for decision in DECISIONS if decision in log), "nothing")
    moment = {"kind": "decision", "what": f"They decided on {decided}.", "why": "It lasts.", "message": 0}
    how = {"name": "Reports", "description": "How Ann likes her reports.", "steps": ["Short, numbers first."]}
    procedures = [{**how, "triggers": ["report"]}] if "my reports" in log else []
    story = {"summary": f"Ann chose {decided}.", "outcome": "success", "key_moments": [moment]}
    return json.dumps({**story, "procedures": procedures})


async def sit(world: World, *texts: str) -> None:
    for text in texts:
        await world.say(text)
        world.clock.advance(minutes=3)
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
async def test_what_was_decided_last_tuesday_and_how_reports_are_liked(tmp_path: Path, zone: str) -> None:
    # Late on Tuesdays and early on Thursdays: in UTC both are other days in one of the zones.
    local = ZoneInfo(zone)
    clock = FakeClock(datetime(2026, 3, 3, 22, 30, tzinfo=local))
    memory_model = ScriptedModel(only="write_episode", default=telling)
    parameters = MemoryParameters(time_zone=zone)
    async with running(tmp_path, clock=clock, memory_model=memory_model, parameters=parameters) as world:
        for week in range(3):
            clock.time = datetime(2026, 3, 3, 22, 30, tzinfo=local) + timedelta(days=7 * week)
            await sit(world, f"We decided to take {DECISIONS[2 * week]}.", "I want my reports short, numbers first.")
            clock.time = datetime(2026, 3, 5, 1, 30, tzinfo=local) + timedelta(days=7 * week)
            await sit(world, f"We decided to take {DECISIONS[2 * week + 1]}.", "It cost a lot of money, all of it.")
        assert (await Desk.of(world).call("/mydata procedures approve:reports")).succeeded
        clock.time = datetime(2026, 3, 20, 9, 0, tzinfo=local)
        await world.say("What did we decide last Tuesday?")
        shown = world.model.requests[-1].messages[-1].parts[0].text  # type: ignore[union-attr]
        past = shown.split("<past_interactions>")[1].split("</past_interactions>")[0]
        assert past.strip().startswith("- [2026-03-17, episode] Ann chose the iron keel.")
        assert "They decided on the iron keel. (It lasts.)" in past
        await world.say("How do I like my reports?")
        shown = world.model.requests[-1].messages[-1].parts[0].text  # type: ignore[union-attr]
        assert "1. Short, numbers first." in shown.split("<procedures>")[1]
        listed = await Desk.of(world).call("/mydata episodes last Tuesday")
        assert "2026-03-17 22:30" in listed.text


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
async def test_the_rule_based_model_answers_from_the_episode_and_from_the_procedure(tmp_path: Path, zone: str) -> None:
    local, offline = ZoneInfo(zone), OfflineModel()
    clock = FakeClock(datetime(2026, 3, 2, 9, 0, tzinfo=local))
    parameters = MemoryParameters(time_zone=zone)
    memory_model = ScriptedModel(default=offline.complete)
    async with running(
        tmp_path, clock=clock, chat_model=offline, memory_model=memory_model, parameters=parameters
    ) as world:
        await sit(world, "I like my reports short; the risks last.", "It saves me a lot of time in the morning.")
        for week in range(3):
            clock.time = datetime(2026, 3, 3, 22, 30, tzinfo=local) + timedelta(days=7 * week)
            await sit(world, f"We decided to take {DECISIONS[2 * week]}.", "It will last for many years, I am sure.")
            clock.time = datetime(2026, 3, 5, 1, 30, tzinfo=local) + timedelta(days=7 * week)
            await sit(world, f"We decided to take {DECISIONS[2 * week + 1]}.", "It cost a lot of money, all of it.")
        clock.time = datetime(2026, 3, 20, 9, 0, tzinfo=local)
        asked = "How do I like my reports?"
        assert "Approved for" not in await world.say(asked)  # nobody approved it yet
        assert (await Desk.of(world).call("/mydata procedures approve:reports")).succeeded
        assert await world.say(asked) == 'Approved for "reports":\n1. short\n2. the risks last'
        reply = await world.say("What did we decide last Tuesday?")
        assert reply == 'My notes of Tuesday 17 March 2026 say: "We decided to take the iron keel."'
        reply = await world.say("What did we agree on last Thursday about the mast?")
        assert reply == 'My notes of Thursday 19 March 2026 say: "We decided to take the long mast."'


async def test_a_source_that_fails_is_named_as_failing_and_costs_the_others_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, memory_model=ScriptedModel(only="write_episode", default=telling)) as world:
        await sit(world, "We decided to take the red paint.", "It will look good on the boat, I think.")
        with closing(sqlite3.connect(tmp_path / "keepsake.db")) as connection:
            connection.execute("ALTER TABLE episodes RENAME TO lost")
            with capture_logs() as logs:
                await world.say("What about the red paint on my boat?")
            connection.execute("ALTER TABLE lost RENAME TO episodes")
        shown = world.model.requests[-1].messages[-1].parts[0].text  # type: ignore[union-attr]
        stats = "/memory stats console:ann"
        told = await Desk.of(world).call(stats, by=OPERATOR)
        assert "- could not be searched at times within the last hour: episode (2026-03-02 09:" in told.text
        world.clock.advance(minutes=61)
        assert "could not be searched" not in (await Desk.of(world).call(stats, by=OPERATOR)).text
    assert "<unsearched>\nCould not be searched just now: episode.\n</unsearched>" in shown
    assert "We decided to take the red paint." in shown
    [line] = [entry for entry in logs if entry["event"] == "memory_retrieval"]
    assert line["failed"] == ["episode"]
    assert line["seconds"] == round(line["seconds"], 3)
