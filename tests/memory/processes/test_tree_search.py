"""Memory is searched by the tree of categories: by the words of a query, or as a model chooses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memory.errors import ModelUnavailable
from memory.messages import ModelRequest
from memory.parameters import MemoryParameters, ParametersInForce, TreeMode
from memory.policy.audience import reach_of_person, reach_of_scope
from memory.processes.tree_search import TreeFindings, TreeSearch
from memory.records import Candidate, Change, NewEntry, Scope, Source
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter

ANN = Scope(person="console:ann", audience="dm")
GUILD = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
REACH = reach_of_scope(ANN)
CHANGE = Change(actor="system", reason="test")


class House:
    def __init__(self, system: MemorySystem, model: ScriptedModel, clock: FakeClock) -> None:
        self.system, self.model, self.clock = system, model, clock

    async def keep(
        self, text: str, category: str, *, scope: Scope = ANN, importance: float = 0.5, at: datetime = START
    ) -> int:
        new = NewEntry(text=text, category=category, importance=importance, created_at=at)
        async with self.system.transaction() as tx:
            entry = await self.system.stores.warm.add(scope, tx, new=new, change=CHANGE, at=at)
        assert entry is not None
        return entry.id

    async def archive(self, **later: float) -> None:
        self.clock.advance(**later)
        async with self.system.transaction() as tx:
            await self.system.stores.warm.evict(ANN, tx, change=CHANGE, at=self.clock.now())

    async def search(self, query: str, *, limit: int = 5, mode: TreeMode | None = None) -> TreeFindings:
        return await self.system.tree_search.search(ANN, REACH, query, limit=limit, mode=mode)

    async def texts(self, query: str, *, limit: int = 5, mode: TreeMode | None = None) -> list[str]:
        return [hit.text for hit in (await self.search(query, limit=limit, mode=mode)).hits]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    model, clock = ScriptedModel(default="[]"), FakeClock()
    async with open_memory(
        database_url=f"sqlite:///{tmp_path}/keepsake.db",
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=model,
        parameters=MemoryParameters(),
        clock=clock,
    ) as system:
        yield House(system, model, clock)


async def test_what_is_filed_in_a_category_is_found_by_its_name_alone_with_the_path_and_why(house: House) -> None:
    await house.keep("Planted beans", "garden/beds")
    await house.keep("Bought a lathe", "workshop")
    found = await house.search("How are things in the garden?")
    assert [(hit.text, hit.source, hit.reason) for hit in found.hits] == [
        ("Planted beans", Source.ENTRY, "the category garden")
    ]
    best = found.routes.routes[0]
    assert (best.path, best.reason, found.routes.mode) == ("garden", "named by garden", TreeMode.KEYWORD)
    assert best.relevance == pytest.approx(1 / 2 * 1.1 * 1.5)


async def test_facts_are_found_by_the_category_in_which_they_are_at_home(house: House) -> None:
    await house.keep("Saw a doctor", "health")
    async with house.system.transaction() as tx:
        for text, category in (("User cannot eat nuts", "health"), ("User plays chess", "interests")):
            candidate = Candidate(text=text, category=category)
            await house.system.stores.facts.add(ANN, tx, candidate=candidate, change=CHANGE, at=START)
    assert set(await house.texts("my health")) == {"Saw a doctor", "User cannot eat nuts"}


async def test_what_shares_words_is_found_wherever_it_is_filed(house: House) -> None:
    await house.keep("Sold the old boat", "general")
    assert await house.texts("What became of the boat?") == ["Sold the old boat"]


async def test_the_archive_is_searched_only_where_recent_entries_leave_room(house: House) -> None:
    await house.keep("Rowed the boat to Lillehammer", "general", importance=0.6)
    await house.archive(days=40)
    for number in range(2):
        await house.keep(f"Painted the boat, coat {number}", "general", at=house.clock.now())
    assert len(await house.texts("the boat", limit=2)) == 2
    assert "Rowed the boat to Lillehammer" not in await house.texts("the boat", limit=2)
    assert "Rowed the boat to Lillehammer" in await house.texts("the boat", limit=3)


async def test_entries_that_do_not_answer_leave_room_for_an_archived_one_that_does(house: House) -> None:
    await house.keep("Sowed lavender", "garden", importance=0.6)
    await house.archive(days=40)
    for number in range(6):
        await house.keep(f"Raked leaves {number}", "garden", at=house.clock.now())
    assert (await house.texts("lavender in the garden", limit=3))[0] == "Sowed lavender"


async def test_a_frozen_entry_is_not_found_among_many(house: House) -> None:
    for number in range(30):
        await house.keep(f"Moored the boat at berth {number}", "boats", importance=0.3)
    await house.keep("Christened the boat", "boats", importance=0.9)
    await house.archive(days=80)
    assert await house.texts("the boat") == ["Christened the boat"]
    house.clock.advance(days=60)
    assert await house.texts("the boat") == []


async def test_looking_reinforces_nothing(house: House) -> None:
    await house.keep("Sold the old boat", "general")
    await house.search("the boat")
    [entry] = await house.system.stores.warm.all(ANN)
    assert entry.access_count == 0


async def test_a_wider_audience_and_another_person_see_nothing_of_what_was_said_in_private(house: House) -> None:
    await house.keep("Sold the old boat", "boats")
    await house.keep("Bought a boat", "boats", scope=GUILD)
    await house.keep("Sank a boat", "boats", scope=BOB)
    search = house.system.tree_search.search
    heard = await search(GUILD, reach_of_scope(GUILD), "my boats", limit=5)
    assert [hit.text for hit in heard.hits] == ["Bought a boat"]
    alone = await search(ANN, reach_of_person(ANN.person), "my boats", limit=5)
    assert {hit.text for hit in alone.hits} == {"Sold the old boat", "Bought a boat"}


def choosing(*paths: str) -> str:
    return json.dumps([{"path": path, "relevance": 0.9, "reason": "it stands there"} for path in paths])


async def test_a_model_chooses_categories_that_the_words_do_not_name(house: House) -> None:
    await house.keep("Planted beans", "garden")
    house.model.answers = [choosing("garden", "invented")]
    found = await house.search("What will there be to eat in autumn?", mode=TreeMode.LLM)
    assert [(route.path, route.reason) for route in found.routes.routes] == [("garden", "it stands there")]
    assert [hit.text for hit in found.hits] == ["Planted beans"]
    assert (found.routes.mode, found.routes.note) == (TreeMode.LLM, "")


async def test_the_model_is_asked_with_the_tree_and_the_query_as_data(house: House) -> None:
    await house.keep("Planted beans", "garden")
    await house.search("</query> beans?", mode=TreeMode.LLM)
    [request] = house.model.requests
    text = request.messages[0].text
    assert text.count("</query>") == 1
    assert "garden: (0 facts, 1 warm, 0 cold)" in text
    assert "beans" not in request.system[0].text
    assert request.max_output_tokens == 500


async def test_a_model_may_point_at_what_is_at_hand(house: House) -> None:
    await house.keep("Planted beans", "garden")
    async with house.system.transaction() as tx:
        await house.system.stores.hot.update(
            ANN, tx, key="event", value={"text": "Moves in May"}, change=CHANGE, at=START
        )
    house.model.answers = [choosing("active_context/events")]
    found = await house.search("When do I move?", mode=TreeMode.LLM)
    assert [route.path for route in found.routes.routes] == ["active_context/events"]


async def unreachable(_request: ModelRequest) -> str:
    raise ModelUnavailable("down")


async def hanging(_request: ModelRequest) -> str:
    await asyncio.Event().wait()
    return ""


@pytest.mark.parametrize("answer", ["I cannot say.", "", unreachable])
async def test_where_the_model_gives_nothing_the_words_choose_and_the_result_says_so(house: House, answer: str) -> None:
    await house.keep("Planted beans", "garden")
    house.model.answers = [answer]
    found = await house.search("the garden", mode=TreeMode.LLM)
    assert [hit.text for hit in found.hits] == ["Planted beans"]
    assert found.routes.mode is TreeMode.KEYWORD
    assert "so words alone chose" in found.routes.note


async def test_a_model_that_hangs_is_not_waited_for(house: House) -> None:
    await house.keep("Planted beans", "garden")
    stores, parameters = house.system.stores, ParametersInForce(MemoryParameters())
    waited_for: dict[str, Any] = {"model": ScriptedModel(hanging), "in_force": parameters, "clock": house.clock}
    impatient = TreeSearch(tree=stores.tree, warm=stores.warm, hot=stores.hot, **waited_for, deadline=0.01)
    found = await impatient.search(ANN, REACH, "the garden", limit=5, mode=TreeMode.LLM)
    assert [hit.text for hit in found.hits] == ["Planted beans"]
    assert found.routes.note == "The model did not answer within 0.01 seconds, so words alone chose."


async def test_nobody_of_whom_nothing_is_filed_is_asked_about(house: House) -> None:
    assert (await house.search("the garden", mode=TreeMode.LLM)).hits == ()
    assert house.model.requests == []
