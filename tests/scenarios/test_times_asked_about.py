"""Questions about times: those named as dates, and those told by what happened then."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from memory.records import Change
from tests.world import World, running

SAID = (
    "I bought boots in town.",
    "Our trip to Norway starts tomorrow.",
    "I bought a camera in town.",
    "We had soup and bread.",
)


async def said_on_different_days(world: World) -> None:
    for text in SAID:
        await world.say(text)
        world.clock.advance(days=10)


async def order(world: World, query: str, *texts: str) -> list[str]:
    """Those of the texts that are found, best first."""
    found = [hit.text for hit in await world.system.search("console:ann", query, limit=10)]
    return [text for text in found if text in texts]


async def test_a_time_told_by_what_happened_favours_what_was_said_before_or_after(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await said_on_different_days(world)
        assert await order(world, "Bought before trip to Norway?", SAID[0], SAID[2]) == [SAID[0], SAID[2]]
        assert await order(world, "Bought after trip to Norway?", SAID[0], SAID[2]) == [SAID[2], SAID[0]]


async def test_an_event_of_the_journal_tells_the_time_too(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await said_on_different_days(world)
        scope = world.memory().place.scope
        change = Change(actor="system", reason="learned from what was said")
        happened_at = world.clock.now() - timedelta(days=25)
        async with world.system.transaction() as tx:
            await world.system.stores.journal.add(
                scope, tx, text="The flood.", change=change, at=world.clock.now(), happened_at=happened_at
            )
        await world.system.settle()
        assert await order(world, "Bought before flood?", SAID[0], SAID[2]) == [SAID[0], SAID[2]]
        assert await order(world, "Bought after flood?", SAID[0], SAID[2]) == [SAID[2], SAID[0]]


async def test_last_time_is_the_conversation_that_ended_last(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await said_on_different_days(world)
        await world.system.sweep_idle()
        await world.say("Tea please.")  # now, which is no time past
        assert (await order(world, "What did we talk about last time?", *SAID))[0] == SAID[-1]
        assert (await order(world, "What did we talk about 20 days ago?", *SAID))[0] == SAID[-2]


async def test_what_never_happened_bounds_no_time(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await said_on_different_days(world)
        expected = await order(world, "Bought?", SAID[0], SAID[2])
        for query in ("Bought before general election?", "Bought after general election?"):
            assert await order(world, query, SAID[0], SAID[2]) == expected


async def test_a_question_that_names_nothing_but_a_day_brings_up_that_day(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await said_on_different_days(world)
        for number in range(60):
            await world.say(f"What did I do then, number {number}?")
        assert await order(world, "What did I do three weeks ago?", *SAID) == [SAID[2]]
