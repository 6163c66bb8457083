"""What a message brings up: of each source as much as was asked for, and no more."""

from __future__ import annotations

from pathlib import Path

from memory.processes.retriever import Wanted
from memory.records import Source
from tests.world import World, running


async def found(world: World, query: str, wanted: Wanted) -> list[Source]:
    place = world.memory().place
    hits = (await world.system.retriever.retrieve(place.scope, place.reach, query, wanted=wanted)).hits
    return [hit.source for hit in hits]


async def test_as_many_messages_are_found_as_were_asked_for_whatever_is_asked_of_other_sources(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        for number in range(6):
            await world.say(f"I saw heron {number}{number} at the lake.")
        for others in (Wanted(hits=4), Wanted(hits=4, facts=1, episodes=1, procedures=1), Wanted(hits=4, episodes=9)):
            assert await found(world, "Which heron did I see at the lake?", others) == [Source.RECALL] * 4


async def test_a_source_that_is_not_asked_for_is_not_searched(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("I saw a heron at the lake.")
        assert await found(world, "Which heron did I see at the lake?", Wanted(facts=3, episodes=3)) == []
