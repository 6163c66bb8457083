"""Places for model calls, given in turns."""

from __future__ import annotations

import asyncio

import pytest

from bot.fair_slots import FairSlots, QueuedModel
from memory.messages import ModelRequest, user_message
from tests.fakes import ScriptedModel


class Line:
    """Calls that end when they are told to, and what became of them."""

    def __init__(self, places: int) -> None:
        self.slots = FairSlots(places)
        self.begun: list[str] = []
        self.told: dict[str, int] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def join(self, call: str) -> None:
        """Begin a call of the person whose name is its first letter."""
        self._ends[call] = asyncio.Event()
        self.tasks[call] = asyncio.create_task(self._run(call))
        await asyncio.sleep(0)

    async def end(self, call: str) -> None:
        self._ends[call].set()
        await asyncio.wait({self.tasks[call]})
        await asyncio.sleep(0)

    async def _run(self, call: str) -> None:
        async with self.slots.place(call[0], Told(self, call)):
            self.begun.append(call)
            await self._ends[call].wait()


class Told:
    def __init__(self, line: Line, call: str) -> None:
        self._line, self._call = line, call

    async def __call__(self, text: str) -> None:
        raise AssertionError("Nothing is written while a call waits.")

    async def waits(self, position: int) -> None:
        self._line.told[self._call] = position


async def test_who_asks_often_does_not_hold_up_the_others() -> None:
    line = Line(1)
    for call in ("a1", "a2", "a3", "b1", "c1"):
        await line.join(call)
    for call in ("a1", "a2", "b1", "c1", "a3"):
        await line.end(call)
    assert line.begun == ["a1", "a2", "b1", "c1", "a3"]


async def test_who_waits_is_told_how_many_are_served_first() -> None:
    line = Line(1)
    for call in ("a1", "a2", "a3", "b1", "b2"):
        await line.join(call)
    assert line.told == {"a2": 1, "a3": 2, "b1": 2, "b2": 4}
    for call in ("a1", "a2", "b1", "a3", "b2"):
        await line.end(call)


async def test_no_more_run_than_there_are_places_and_each_is_given_back() -> None:
    line = Line(2)
    for call in ("a1", "b1", "c1", "d1"):
        await line.join(call)
    assert (line.begun, line.slots.waiting) == (["a1", "b1"], 2)
    line.tasks["c1"].cancel()
    line.tasks["a1"].cancel()
    await asyncio.wait({line.tasks["a1"], line.tasks["c1"]})
    await asyncio.sleep(0)
    assert (line.begun, line.slots.waiting) == (["a1", "b1", "d1"], 0)
    await line.end("b1")
    await line.end("d1")
    await line.join("e1")
    assert line.begun[-1] == "e1"
    await line.end("e1")


async def test_a_call_that_is_cancelled_just_as_its_turn_comes_passes_the_place_on() -> None:
    line = Line(1)
    for call in ("a1", "b1", "c1"):
        await line.join(call)
    line._ends["a1"].set()
    await asyncio.wait({line.tasks["a1"]})
    line.tasks["b1"].cancel()
    await asyncio.wait({line.tasks["b1"]})
    await asyncio.sleep(0)
    assert line.begun[-1] == "c1"
    await line.end("c1")


async def test_a_call_that_is_cancelled_while_a_place_is_given_back_loses_no_place() -> None:
    line = Line(1)
    for call in ("a1", "b1", "c1"):
        await line.join(call)
    line._ends["a1"].set()
    line.tasks["b1"].cancel()  # it hears of it after a1 has ended
    await asyncio.wait({line.tasks["a1"], line.tasks["b1"]})
    line.tasks["a1"].result()
    await asyncio.sleep(0)
    assert line.begun[-1] == "c1"
    await line.end("c1")
    await line.join("d1")
    assert line.begun[-1] == "d1"
    await line.end("d1")


async def test_memory_work_takes_its_turn_like_one_person() -> None:
    entered: list[str] = []
    model = ScriptedModel(default="ok")
    slots = FairSlots(1)
    queued = QueuedModel(model, slots)

    async def ask(who: str | None) -> None:
        request = ModelRequest(messages=(user_message("Hello"),), person_hash=who)
        await queued.complete(request)
        entered.append(who or "memory")

    async with slots.place("first"):
        tasks = [asyncio.create_task(ask(who)) for who in (None, None, "a", "b")]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    assert entered == ["memory", "a", "b", "memory"]
    await queued.close()


@pytest.mark.parametrize("places", [1, 3])
async def test_a_failing_call_gives_its_place_back(places: int) -> None:
    slots = FairSlots(places)
    for _ in range(places + 1):
        with pytest.raises(ValueError, match="broken"):
            async with slots.place("a"):
                raise ValueError("broken")
    assert slots.waiting == 0
