"""What a message brings up: of each source as much as was asked for, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, event

from memory.processes.wanted import Wanted
from memory.records import Candidate, Change, NewEntry, Source
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


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements that are executed meanwhile."""
    executed: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        executed.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield executed
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def test_a_search_of_all_sources_takes_as_many_statements_however_much_there_is(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        place, stores = world.memory().place, world.system.stores
        await world.say("I saw a heron at the lake.")
        for number in range(2):
            async with world.system.transaction() as tx:
                candidate = Candidate(text=f"User counted {number} herons", subject="user", predicate="counted")
                change = Change(actor="system", reason="learned")
                await stores.facts.add(place.scope, tx, candidate=candidate, change=change, at=world.clock.now())
                for page in range(20 * number + 1):
                    await stores.archival.insert(place.scope, tx, content=f"The dam, page {number}.{page}")
            await world.system.settle()
            await world.system.search("console:ann", "heron", limit=1)  # which builds the indexes
            with counted() as statements:
                hits = await world.system.search("console:ann", "Which heron did I see?", limit=9)
            assert len(statements) == 14, "\n\n".join(statements)
            assert {hit.source for hit in hits} == {Source.RECALL, Source.FACT, Source.ARCHIVAL}


async def test_without_entries_the_tree_takes_no_statement_and_else_one_or_three_where_a_category_is_meant(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as world:
        await world.say("I saw a heron at the lake.")

        async def statements(query: str, *, entries: int) -> int:
            with counted() as executed:
                await found(world, query, Wanted(hits=4, facts=4, entries=entries))
            return len(executed)

        await statements("Which heron did I see?", entries=0)  # the index is built
        before = await statements("Which heron did I see?", entries=0)
        assert await statements("Which heron did I see?", entries=5) == before
        scope = world.memory().place.scope
        new = NewEntry(text="Planted beans", category="garden", created_at=world.clock.now())
        async with world.system.transaction() as tx:
            change = Change(actor="system", reason="test")
            await world.system.stores.warm.add(scope, tx, new=new, change=change, at=world.clock.now())
        assert await statements("Which heron did I see?", entries=5) == before + 1
        assert await statements("Which heron is in my garden?", entries=5) == before + 3
