"""Archival memory: stored once, found by words and meaning, forgotten softly."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from memory.database import Database
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.records import Passage, Reach, Scope, SearchHit, Source
from memory.stores.archival import ArchivalStore
from memory.stores.passage_use import ArchivalStats, Trace
from memory.stores.search import SearchStore
from tests.fakes import START, FakeClock, HashEmbedder

ANN = Scope(person="console:ann", audience="dm")
ANN_GUILD = Scope(person="console:ann", audience="guild:1")
ANNA = Scope(person="console:anna", audience="dm")


@pytest.fixture
def search(database: Database, ids: IdSource) -> SearchStore:
    return SearchStore(database, SqliteTextIndex(), HashEmbedder(), ids, new_index=FaissIndex)


@pytest.fixture
def store(database: Database, search: SearchStore, ids: IdSource, clock: FakeClock) -> ArchivalStore:
    return ArchivalStore(database, search, ids, clock)


async def keep(database: Database, store: ArchivalStore, content: str, scope: Scope = ANN, **details: Any) -> Passage:
    async with database.transaction() as tx:
        return await store.insert(scope, tx, content=content, **details)


async def look_up(store: ArchivalStore, query: str, scope: Scope = ANN, **details: Any) -> list[SearchHit]:
    reach = Reach(person=scope.person, audiences=None if scope.audience == "dm" else frozenset({scope.audience}))
    return await store.search(scope, reach, query, **details)


def texts(hits: list[SearchHit]) -> list[str]:
    return [hit.text for hit in hits]


async def test_a_passage_comes_back_as_it_was_stored(database: Database, store: ArchivalStore) -> None:
    passage = await keep(
        database,
        store,
        "Ann's sister Eva lives in Oslo.",
        memory_type="preference",
        importance=0.9,
        metadata={"url": "https://example.org", "tags": ["family"]},
        source_message=7,
    )
    assert await store.all(ANN) == [passage]
    assert (passage.memory_type, passage.importance, passage.created_at) == ("preference", 0.9, START)
    (hit,) = await look_up(store, "Where does Eva live?")
    assert (hit.source, hit.scope, hit.record_id) == (Source.ARCHIVAL, ANN, passage.id)
    assert (hit.text, hit.author, hit.at, hit.message_ids) == (passage.content, None, START, (7,))
    assert hit.reason == "words in common"


async def test_the_same_text_is_stored_once_per_scope(database: Database, store: ArchivalStore) -> None:
    first = await keep(database, store, "Eva lives in Oslo.", importance=0.9)
    assert await keep(database, store, "Eva lives in Oslo.", importance=0.1) == first
    other = await keep(database, store, "Eva lives in Oslo.", ANN_GUILD)
    assert other.id != first.id
    assert await store.all(ANN) == [first]
    assert len(await look_up(store, "Eva Oslo")) == 2


@pytest.mark.parametrize(("content", "importance"), [("", 0.5), (" \n", 0.5), ("Tea.", 1.1), ("Tea.", float("nan"))])
async def test_a_refused_passage_writes_nothing(
    database: Database, store: ArchivalStore, content: str, importance: float
) -> None:
    with pytest.raises(InvalidInput):
        await keep(database, store, content, importance=importance)
    assert await store.all(ANN) == []


async def test_a_passage_is_found_by_its_date(database: Database, store: ArchivalStore, clock: FakeClock) -> None:
    clock.time = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    await keep(database, store, "Eva lives in Oslo.")
    clock.advance(days=90)
    await keep(database, store, "Tom lives in Rome.")
    assert texts(await look_up(store, "what was it in May 2023"))[0] == "Eva lives in Oslo."


async def test_a_fact_at_the_end_of_a_long_document_is_found(
    database: Database, store: ArchivalStore, search: SearchStore
) -> None:
    await keep(database, store, "All about gardens. " * 200 + "The password of the shed is heliotrope.")
    await keep(database, store, "The shed is green.")
    while await search.embed_pending():
        pass
    (best, *_) = await look_up(store, "password heliotrope")
    assert best.text.endswith("heliotrope.")


async def test_importance_lifts_a_passage_over_an_equal_one(database: Database, store: ArchivalStore) -> None:
    await keep(database, store, "The meeting is on Monday.", importance=0.9)
    await keep(database, store, "The meeting is on Friday.", importance=0.1)
    assert texts(await look_up(store, "meeting")) == ["The meeting is on Monday.", "The meeting is on Friday."]


async def test_a_passage_used_lately_lies_above_one_that_was_not(
    database: Database, store: ArchivalStore, clock: FakeClock
) -> None:
    await keep(database, store, "The meeting is on Monday.")
    await keep(database, store, "The meeting is on Friday.")
    clock.advance(days=30)
    assert texts(await look_up(store, "Monday")) == ["The meeting is on Monday."]
    assert texts(await look_up(store, "meeting")) == ["The meeting is on Monday.", "The meeting is on Friday."]


async def test_returned_passages_and_only_those_count_as_accessed(
    database: Database, store: ArchivalStore, clock: FakeClock
) -> None:
    for day in ("Monday", "Tuesday", "Friday"):
        await keep(database, store, f"The meeting is on {day}.")
    await keep(database, store, "The meeting is on Sunday.", ANN_GUILD)
    clock.advance(days=3)
    returned = {hit.record_id for hit in await look_up(store, "meeting", limit=2)}
    passages = [*await store.all(ANN), *await store.all(ANN_GUILD)]
    assert len(returned) == 2
    assert {one.id for one in passages if one.access_count == 1} == returned
    assert {one.id for one in passages if one.last_accessed_at == clock.now()} == returned
    assert sum(one.access_count for one in passages) == 2


async def test_a_look_without_touching_leaves_no_trace(
    database: Database, store: ArchivalStore, clock: FakeClock
) -> None:
    before = await keep(database, store, "The meeting is on Monday.")
    clock.advance(days=3)
    assert len(await look_up(store, "meeting", trace=Trace.NEVER)) == 1
    assert await store.all(ANN) == [before]
    assert await store.stats(ANN) == ArchivalStats(total=1, hits=0, misses=0)


async def test_what_nobody_should_wait_for_is_noted_when_that_is_asked_for(
    database: Database, store: ArchivalStore, clock: FakeClock
) -> None:
    before = await keep(database, store, "The meeting is on Monday.")
    found_at = clock.now()
    await look_up(store, "meeting", trace=Trace.LATER)
    await look_up(store, "meeting", trace=Trace.LATER)
    clock.advance(hours=1)
    assert await store.all(ANN) == [before]
    await store.note_use(ANN)
    await store.note_use(ANN)
    [after] = await store.all(ANN)
    assert (after.access_count, after.last_accessed_at) == (2, found_at)
    assert await store.stats(ANN) == ArchivalStats(total=1, hits=2, misses=0)


async def test_type_and_importance_are_asked_for_before_the_cut(database: Database, store: ArchivalStore) -> None:
    for number in range(40):
        await keep(database, store, f"Tea number {number} is a tea that is mostly tea.")
    await keep(database, store, "With tea there must always be some very good cake.", memory_type="preference")
    await keep(database, store, "She said that on any cold day there should be tea.", importance=0.8)
    assert texts(await look_up(store, "tea", limit=1, memory_types=["preference"])) == [
        "With tea there must always be some very good cake."
    ]
    assert texts(await look_up(store, "tea", limit=1, min_importance=0.8)) == [
        "She said that on any cold day there should be tea."
    ]
    assert await look_up(store, "tea", memory_types=[]) == []


async def test_hits_and_misses_are_counted_where_the_search_began(
    database: Database, store: ArchivalStore, search: SearchStore
) -> None:
    await look_up(store, "anything")  # there is nothing to search yet
    await keep(database, store, "Eva lives in Oslo.")
    await search.embed_pending()
    await look_up(store, "Eva Oslo")
    await look_up(store, "Eva Oslo", floor=True)
    await look_up(store, "quantum entanglement")
    await look_up(store, "hello", floor=True)
    assert await store.stats(ANN) == ArchivalStats(total=1, hits=2, misses=1)
    assert await store.stats(ANN_GUILD) == ArchivalStats(total=0, hits=0, misses=0)


async def test_the_floor_keeps_out_what_does_not_matter(
    database: Database, store: ArchivalStore, search: SearchStore
) -> None:
    await keep(database, store, "Eva lives in Oslo.")
    await search.embed_pending()
    assert await look_up(store, "quantum entanglement", floor=True) == []
    assert len(await look_up(store, "quantum entanglement")) == 1
    assert await look_up(store, "2+2?", floor=True) == []
    assert texts(await look_up(store, "do I know where Eva lives?", floor=True)) == ["Eva lives in Oslo."]


@pytest.mark.parametrize(
    ("case", "forgotten"),
    [  # days since the last access, importance, accesses
        ((91, 0.2, 0), True),
        ((91, 0.2, 2), True),
        ((90, 0.2, 0), False),
        ((91, 0.3, 0), False),
        ((91, 0.2, 3), False),
    ],
)
async def test_only_what_is_old_and_unimportant_and_unused_is_forgotten(
    database: Database,
    store: ArchivalStore,
    clock: FakeClock,
    case: tuple[int, float, int],
    forgotten: bool,
) -> None:
    days, importance, accesses = case
    await keep(database, store, "Eva lives in Oslo.", importance=importance)
    for _ in range(accesses):
        await look_up(store, "Eva")
    clock.advance(days=days)
    async with database.transaction() as tx:
        assert await store.forget(ANN, tx) == int(forgotten)
        assert await store.forget(ANN, tx) == 0
    assert len(await look_up(store, "Eva")) == int(not forgotten)
    assert (await store.stats(ANN)).total == int(not forgotten)
    (row,) = await store.export(ANN)
    assert row["forgotten_at"] == (clock.now() if forgotten else None)


async def test_a_forgotten_passage_leaves_the_indexes(
    database: Database, store: ArchivalStore, search: SearchStore, clock: FakeClock
) -> None:
    await keep(database, store, "Eva lives in Oslo.", importance=0.1)
    clock.advance(days=100)
    async with database.transaction() as tx:
        await store.forget(ANN, tx)
    reach = Reach(person=ANN.person, audiences=None)
    assert await search.search(reach, source=Source.ARCHIVAL, query="Eva", limit=5) == []


async def test_forgetting_keeps_to_its_scope(database: Database, store: ArchivalStore, clock: FakeClock) -> None:
    for scope in (ANN, ANN_GUILD, ANNA):
        await keep(database, store, "Eva lives in Oslo.", scope, importance=0.1)
    clock.advance(days=100)
    async with database.transaction() as tx:
        assert await store.forget(ANN, tx) == 1
    assert [hit.scope for hit in await look_up(store, "Eva")] == [ANN_GUILD]
    assert [hit.scope for hit in await look_up(store, "Eva", ANNA)] == [ANNA]


async def test_a_forgotten_text_can_be_stored_again(database: Database, store: ArchivalStore, clock: FakeClock) -> None:
    old = await keep(database, store, "Eva lives in Oslo.", importance=0.1)
    clock.advance(days=100)
    async with database.transaction() as tx:
        await store.forget(ANN, tx)
    new = await keep(database, store, "Eva lives in Oslo.")
    assert new.id != old.id
    assert [hit.record_id for hit in await look_up(store, "Eva")] == [new.id]


async def test_a_channel_never_finds_what_was_stored_in_private(database: Database, store: ArchivalStore) -> None:
    await keep(database, store, "The secret is out in Oslo.")
    await keep(database, store, "The weather is fine in Oslo.", ANN_GUILD)
    assert texts(await look_up(store, "Oslo", ANN_GUILD)) == ["The weather is fine in Oslo."]
    assert len(await look_up(store, "Oslo")) == 2
    assert await look_up(store, "Oslo", ANNA) == []


async def test_erasing_leaves_nothing_of_the_scope(
    database: Database, store: ArchivalStore, search: SearchStore
) -> None:
    for scope in (ANN, ANN_GUILD):
        await keep(database, store, "Eva lives in Oslo.", scope)
    await look_up(store, "Eva")
    async with database.transaction() as tx:
        assert await store.erase(ANN, tx) == {"passages": 1, "archival_stats": 1}
        await search.erase(ANN, tx)
    assert await store.export(ANN) == []
    assert await store.stats(ANN) == ArchivalStats(total=0, hits=0, misses=0)
    assert [hit.scope for hit in await look_up(store, "Eva")] == [ANN_GUILD]
