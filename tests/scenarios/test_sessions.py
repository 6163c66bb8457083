"""Sittings and restarts: what was there before is there afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory.messages import ToolCall
from memory.parameters import MemoryParameters
from tests.fakes import FakeClock, ScriptedModel, WordTokenCounter
from tests.world import World, dm, running


def call(number: int, tool: str, **arguments: str) -> ToolCall:
    return ToolCall(id=f"{tool}{number}", name=tool, arguments=arguments)


class LearningCounter(WordTokenCounter):
    """Counts words, and learns the ratio it is told last."""

    def __init__(self) -> None:
        self.learned: tuple[float, int] = (1.0, 0)

    @property
    def calibration(self) -> tuple[float, int]:
        return self.learned

    def calibrate(self, *, estimated: int, actual: int) -> None:
        self.learned = (1.25, self.learned[1] + 1)


async def kept(world: World) -> dict[str, Any]:
    exported = await world.system.privacy.export("console:ann")
    scopes: dict[str, Any] = exported["scopes"]
    return scopes


async def test_everything_survives_a_restart(tmp_path: Path) -> None:
    clock, counter = FakeClock(), LearningCounter()
    small = MemoryParameters(max_conversation_history=4, history_target=2)
    digest = ScriptedModel(default="Ann spoke of tea and boats.")
    async with running(tmp_path, clock=clock, counter=counter, parameters=small, memory_model=digest) as world:
        world.model.answers = [call(1, "core_memory_append", text="Name: Ann."), "Hello Ann."]
        await world.say("I am Ann")
        world.model.answers = [call(2, "archival_insert", text="Recipe: bread with walnuts."), "Kept."]
        await world.say("Keep my recipe for walnut bread")
        for number in range(4):
            await world.say(f"My boat number {number} is blue")
        before = await kept(world)
        window = await world.system.stores.recall.window(world.memory().place.scope, dm("ann").key)

    clock.advance(minutes=1)
    async with running(tmp_path, clock=clock, parameters=small, memory_model=digest) as world:
        assert await kept(world) == before
        assert await world.system.stores.calibration.load("scripted") == (1.25, counter.learned[1])
        await world.say("What do you know of my boat?")
        prompt = world.model.requests[0]
        system = "".join(block.text for block in prompt.system)
        assert "Name: Ann." in system
        assert "Ann spoke of tea and boats." in system
        assert [message for message in prompt.messages[: prompt.cached_messages]] == [
            stored.message for stored in window
        ]
        memory = world.memory()
        assert (await memory.paging.recall_search("I am Ann", limit=3, evicted_only=True))[0].text == "I am Ann"
        assert (await memory.paging.archival_search("walnut bread", limit=3))[0].text == "Recipe: bread with walnuts."
        sessions = await world.system.stores.sessions.recent(memory.place.scope, 5)
        assert len(sessions) == 1


async def test_silence_ends_a_session_and_what_was_said_can_still_be_found(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("My dentist is Doctor Okafor")
        world.clock.advance(minutes=31)
        assert await world.system.sweep_idle() == 1
        assert await world.system.sweep_idle() == 0
        await world.system.settle()
        await world.say("Who is my dentist?")
        prompt = world.model.requests[-1]
        assert prompt.cached_messages == 0
        assert "Doctor Okafor" in prompt.messages[-1].text
        sessions = await world.system.stores.sessions.recent(world.memory().place.scope, 5)
        assert [session.ended_at is None for session in sessions] == [True, False]


async def test_a_message_before_the_idle_limit_goes_on_with_the_session(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        for _ in range(3):
            await world.say("Hello")
            world.clock.advance(minutes=29)
        assert len(await world.system.stores.sessions.recent(world.memory().place.scope, 5)) == 1
        assert world.model.requests[-1].cached_messages == 4


async def test_two_channels_of_one_audience_have_windows_of_their_own(tmp_path: Path) -> None:
    from bot.chat import Conversation

    one, other = (
        Conversation(platform="console", key=f"console:{name}", audience="guild:1") for name in ("one", "other")
    )
    async with running(tmp_path) as world:
        await world.say("Only in the first channel", where=one)
        await world.say("Something else", where=other)
        assert world.model.requests[-1].cached_messages == 0
        await world.say("And on", where=one)
        assert world.model.requests[-1].cached_messages == 2
