"""What was true once does not stand before what is true now, among facts and among what was said."""

from __future__ import annotations

from pathlib import Path

from memory.policy.audience import reach_of_person
from memory.processes.wanted import Wanted
from memory.records import By, Candidate, Change, Fact, Source
from tests.world import World, running

MOVES = {
    "Oslo": "User here, I live in Oslo, city of my dreams.",
    "Rome": "We packed everything and moved to Rome.",
    "Porto": "Porto it is, as of today.",
}
QUESTION = "Do I live in Oslo, city of my dreams?"


async def moved(world: World, city: str, before: Fact | None) -> Fact:
    """Say so, and let it be learned in place of what was known."""
    await world.say(MOVES[city])
    candidate = Candidate(text=f"User lives in {city}", subject="user", predicate="lives_in", object=city)
    return await learned(world, candidate, before)


async def learned(world: World, candidate: Candidate, before: Fact | None = None) -> Fact:
    """Let something be learned from what was said last."""
    world.clock.advance(days=30)
    memory = world.memory()
    said = (await world.system.stores.recall.window(memory.place.scope, memory.place.conversation))[-2]
    async with world.system.transaction() as tx:
        fact = await world.system.stores.facts.add(
            memory.place.scope,
            tx,
            candidate=candidate,
            change=Change(actor="system", reason="learned", source_message=said.id),
            at=said.sent_at,
            replaces=[] if before is None else [before.id],
        )
    assert fact is not None
    await world.system.settle()
    return fact


async def moved_three_times(world: World) -> Fact:
    fact = None
    for city in MOVES:
        fact = await moved(world, city, fact)
        for number in range(3):
            await world.say(f"Something else entirely, number {number}, about the weather in {city}.")
    assert fact is not None
    return fact


async def found(world: World, query: str, source: Source) -> list[str]:
    hits = await world.system.search("console:ann", query, limit=20)
    return [hit.text for hit in hits if hit.source is source]


async def test_after_three_moves_the_present_home_stands_before_those_before_it(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await moved_three_times(world)
        messages = await found(world, QUESTION, Source.RECALL)
        assert [text for text in messages if text in MOVES.values()] == list(reversed(MOVES.values()))
        assert await found(world, QUESTION, Source.FACT) == ["User lives in Porto"]


async def test_a_time_that_is_asked_about_keeps_its_own_statement_first(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        begun = world.clock.now().date()
        await moved_three_times(world)
        messages = await found(world, f"Where did I live on {begun.isoformat()}, in Oslo?", Source.RECALL)
        assert messages.index(MOVES["Oslo"]) < messages.index(MOVES["Porto"])


async def test_what_the_person_corrected_stands_behind_what_is_as_much_alike(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        fact = await moved(world, "Oslo", None)
        [before] = [hit for hit in await world.system.search("console:ann", QUESTION, limit=5) if hit.author == "Ann"]
        async with world.system.transaction() as tx:
            await world.system.stores.facts.correct(
                fact.scope,
                tx,
                fact_id=fact.id,
                text="User lives in Bergen",
                change=Change(actor="person", reason="asked for"),
                at=world.clock.now(),
            )
        await world.system.settle()
        [after] = [hit for hit in await world.system.search("console:ann", QUESTION, limit=5) if hit.author == "Ann"]
        assert after.score < before.score


async def test_a_message_is_found_by_what_was_learned_from_it(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await moved(world, "Porto", None)
        await world.say("Certainly so.")
        await learned(world, Candidate(text="User has jasmine tea from the old kettle"))
        for number in range(60):
            await world.say(f"The user lives for music, number {number}.")
        assert (await found(world, "user lives porto", Source.RECALL))[0] == MOVES["Porto"]
        by_the_model = await world.memory().paging.recall_search("the jasmine tea kettle", limit=5, evicted_only=False)
        assert "Certainly so." in [hit.text for hit in by_the_model]


async def test_what_is_to_be_forgotten_comes_back_by_the_persons_own_search_alone(tmp_path: Path) -> None:
    stamps, both = "I collect stamps from Peru.", "I collect stamps from Peru, and I row."
    collects = Candidate(text="User collects stamps from Peru")
    async with running(tmp_path) as world:
        care, paging = world.system.oversight.facts, world.memory().paging
        await world.say(stamps)
        fact = await learned(world, collects)
        await world.say("Yes, stamps from Peru, I collect them still.")
        await learned(world, collects)  # says it again
        await world.say(both)
        rows = await learned(world, Candidate(text="User rows"))

        async def answered_with() -> list[str]:
            unasked = await world.system.retriever.retrieve(
                fact.scope, reach_of_person(fact.scope.person), "Which stamps do I collect?", wanted=Wanted(hits=9)
            )
            asked = await paging.recall_search("Which stamps do I collect?", limit=9, evicted_only=False)
            told, looked_up = ([hit.text for hit in hits if "stamps" in hit.text] for hits in (unasked.hits, asked))
            assert set(told) == set(looked_up)
            return looked_up

        before = await answered_with()
        assert len(before) == 3
        await care.forget(fact.scope, fact.id, by=By())
        assert await answered_with() == [both]
        assert {stamps, both} <= set(await found(world, "Which stamps do I collect?", Source.RECALL))
        await care.forget(rows.scope, rows.id, by=By())
        assert await answered_with() == []
