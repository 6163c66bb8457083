"""What search holds for every record, over the real full text and vector indexes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from itertools import product
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text, update

from memory.database import Database, open_database
from memory.errors import EmbedderError
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.policy.ranking import rank
from memory.ports import EmbeddedQuery, Embedder, Vectors
from memory.records import EntryScore, Reach, Scope, Source
from memory.schema import index_generations, search_entries
from memory.stores.search import SearchStore
from tests.fakes import FakeClock, HashEmbedder

ANN = Scope(person="console:ann", audience="dm")
ANN_GUILD = Scope(person="console:ann", audience="guild:1")
ANNA = Scope(person="console:anna", audience="dm")
ALL_OF_ANN = Reach(person="console:ann", audiences=None)
ALL_OF_ANNA = Reach(person="console:anna", audiences=None)
GUILD_OF_ANN = Reach(person="console:ann", audiences=frozenset({"guild:1"}))


class Recording(HashEmbedder):
    """Keeps what it was asked to embed."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return await super().embed(texts)


class CountedIndex(FaissIndex):
    """An index that knows how many were built, and which of them are still in memory."""

    built = 0
    alive: ClassVar[WeakSet[CountedIndex]] = WeakSet()

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        type(self).built += 1
        self.alive.add(self)


class GreedyIndex(FaissIndex):
    """An index that gives away entries of everybody."""

    entries: ClassVar[set[int]] = set()

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        self.entries.update(ids)
        super().add(ids, vectors)

    def search(self, vector: Vectors, limit: int) -> list[tuple[int, float]]:
        return [(entry_id, 1.0) for entry_id in self.entries]


class ReversedEmbedder(HashEmbedder):
    """Vectors of the same length in another space."""

    name = "reversed-64"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.ascontiguousarray(-np.flip(await super().embed(texts), axis=1))


class BrokenEmbedder(HashEmbedder):
    async def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderError("The embedder cannot be loaded.")


class InterruptedEmbedder(HashEmbedder):
    """Lets something else happen while it embeds."""

    def __init__(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self.meanwhile = meanwhile

    async def embed(self, texts: Sequence[str]) -> Vectors:
        await self.meanwhile()
        return await super().embed(texts)


def open_store(database: Database, embedder: Embedder | None = None, cache_bytes: int = 2**20) -> SearchStore:
    return SearchStore(
        database,
        SqliteTextIndex(),
        embedder or HashEmbedder(),
        IdSource(FakeClock()),
        new_index=FaissIndex,
        cache_bytes=cache_bytes,
    )


@pytest.fixture
def store(database: Database, ids: IdSource) -> SearchStore:
    CountedIndex.built = 0
    CountedIndex.alive.clear()
    return SearchStore(database, SqliteTextIndex(), HashEmbedder(), ids, new_index=CountedIndex)


async def put(database: Database, store: SearchStore, scope: Scope, *items: tuple[int, str]) -> None:
    async with database.transaction() as tx:
        await store.put(scope, tx, source=Source.RECALL, items=items)


async def remove(database: Database, store: SearchStore, scope: Scope, *record_ids: int) -> None:
    async with database.transaction() as tx:
        await store.remove(scope, tx, source=Source.RECALL, record_ids=record_ids)


async def embed_all(store: SearchStore) -> None:
    while await store.embed_pending():
        pass


async def search(store: SearchStore, query: str, reach: Reach = ALL_OF_ANN, limit: int = 5) -> list[EntryScore]:
    return await store.search(reach, source=Source.RECALL, query=query, limit=limit)


async def found(store: SearchStore, query: str, reach: Reach = ALL_OF_ANN, limit: int = 5) -> list[int]:
    """The ids of the records found, best first."""
    return [ranked.entry.record_id for ranked in rank(await search(store, query, reach, limit))][:limit]


async def nearest(store: SearchStore, text: str, reach: Reach = ALL_OF_ANN) -> list[int]:
    """The records found by their vector, whatever their words: "about" is not searched for as a word."""
    vector = await HashEmbedder().embed([text])
    entries = await store.search(
        reach, source=Source.RECALL, query="about", limit=5, embedded=EmbeddedQuery(vector=vector[0])
    )
    assert all(entry.text_score == 0 for entry in entries)
    return [ranked.entry.record_id for ranked in rank(entries)]


async def test_a_new_entry_is_found_by_its_words_before_it_has_a_vector(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"))
    assert (await store.progress()).waiting == 1
    (entry,) = await search(store, "milk")
    assert (entry.record_id, entry.similarity, entry.scope) == (1, None, ANN)
    assert entry.text_score > 0


async def test_an_embedded_entry_has_both_scores_whichever_index_found_it(
    database: Database, store: SearchStore
) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"), (2, "about milking machines"), (3, "rain"))
    await embed_all(store)
    assert (await store.progress()).waiting == 0
    vectors = await HashEmbedder().embed(["the cat likes milk", "cat milk"])
    by_record = {entry.record_id: entry for entry in await search(store, "cat milk")}
    assert by_record[1].similarity == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-3)
    assert by_record[1].text_score > 0
    assert by_record[2].text_score > 0  # the stemmer finds it
    assert by_record[2].similarity == pytest.approx(0.0, abs=0.5)
    assert by_record[3].text_score == 0


async def test_a_record_put_again_replaces_its_entry(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"), (2, "it rains"))
    await embed_all(store)
    assert await nearest(store, "cat milk") != []
    await put(database, store, ANN, (1, "the dog likes bones"))
    assert await found(store, "milk") == [2]
    await embed_all(store)
    assert (await nearest(store, "dog bones"))[0] == 1
    assert [entry.text_score for entry in await search(store, "milk")] == [0.0, 0.0]


async def test_a_record_in_several_items_is_found_by_any_of_them(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "apples"), (1, "pears"), (2, "plums"))
    await embed_all(store)
    assert (await found(store, "pears"))[0] == 1
    assert (await found(store, "apples"))[0] == 1
    await put(database, store, ANN, (1, "cherries"))
    assert await found(store, "pears") == [2]


async def test_a_transaction_rolled_back_leaves_no_trace(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"))
    await embed_all(store)
    await nearest(store, "cat")

    async def fail() -> None:
        async with database.transaction() as tx:
            await store.put(ANN, tx, source=Source.RECALL, items=[(1, "gone"), (2, "gone too")])
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert await found(store, "gone") == [1]
    assert await nearest(store, "cat milk") == [1]
    assert CountedIndex.built == 1


async def test_what_was_removed_is_gone_now_and_after_a_restart(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"), (2, "the cat likes rain"))
    await embed_all(store)
    assert await found(store, "cat milk") == [1, 2]
    await remove(database, store, ANN, 1, 99)
    assert await found(store, "cat milk") == [2]
    assert await found(open_store(database), "cat milk") == [2]
    async with database.read() as connection:
        assert (await connection.execute(text("SELECT count(*) FROM search_text"))).scalar_one() == 1


async def test_removed_entries_do_not_crowd_out_what_is_left(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (0, "a dog barks"), *((number, "the cat") for number in range(1, 30)))
    await embed_all(store)
    await nearest(store, "the cat")
    await remove(database, store, ANN, *range(1, 30))
    assert await nearest(store, "the cat") == [0]


async def test_an_index_that_gives_away_other_peoples_entries_is_not_believed(
    database: Database, ids: IdSource
) -> None:
    store = SearchStore(database, SqliteTextIndex(), HashEmbedder(), ids, new_index=GreedyIndex)
    for scope in (ANN, ANN_GUILD, ANNA):
        await put(database, store, scope, (1, "the cat likes milk"))
    await embed_all(store)
    assert len(await search(store, "cat", ALL_OF_ANNA)) == 1
    assert {entry.scope for entry in await search(store, "cat")} == {ANN, ANN_GUILD}
    assert GreedyIndex.entries
    assert [entry.scope for entry in await search(store, "cat", GUILD_OF_ANN)] == [ANN_GUILD]
    assert await store.search(ALL_OF_ANN, source=Source.ARCHIVAL, query="cat", limit=5) == []


async def test_a_record_in_very_many_items_is_indexed_to_the_last(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, *((1, "page") for _ in range(1_100)), (1, "the cat likes milk"), (2, "rain"))
    await embed_all(store)
    vector = await store.embed_query("the cat likes milk")
    (best, *_) = rank(await store.search(ALL_OF_ANN, source=Source.RECALL, query="about", limit=1, embedded=vector))
    assert best.entry.similarity == pytest.approx(1.0, abs=1e-3)


async def test_own_changes_are_followed_without_building_the_index_again(
    database: Database, store: SearchStore
) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"), (2, "it rains"))
    await embed_all(store)
    await found(store, "cat")
    await put(database, store, ANN, (3, "a cat sleeps"))
    await embed_all(store)
    await remove(database, store, ANN, 1)
    await put(database, store, ANN, (2, "the dog sleeps"))
    await embed_all(store)
    assert (await nearest(store, "cat sleeps"))[0] == 3
    assert sorted(await nearest(store, "dog")) == [2, 3]
    assert CountedIndex.built == 1


async def test_another_store_on_the_same_database_sees_every_change(database: Database, store: SearchStore) -> None:
    other = open_store(database)
    await put(database, store, ANN, (1, "the cat likes milk"))
    await embed_all(store)
    assert await nearest(other, "cat milk") == [1]
    await put(database, store, ANN, (2, "a cat sleeps"))
    await embed_all(store)
    assert await nearest(other, "cat sleeps") == [2, 1]
    await remove(database, other, ANN, 1)
    assert await nearest(store, "cat milk") == [2]
    await put(database, other, ANN, (2, "the dog barks"), (3, "a cat plays"))
    await embed_all(other)
    assert (await nearest(store, "cat plays"))[0] == 3


async def test_an_index_that_missed_a_change_is_not_carried_along(database: Database, store: SearchStore) -> None:
    other = open_store(database)
    await put(database, store, ANN, (1, "the cat likes milk"))
    await embed_all(store)
    await nearest(store, "cat")
    await nearest(other, "cat")
    await put(database, other, ANN, (2, "the dog barks"))
    await embed_all(other)
    await put(database, store, ANN, (3, "a bird sings"))
    await embed_all(store)
    assert sorted(await nearest(store, "anything")) == [1, 2, 3]
    assert sorted(await nearest(other, "anything")) == [1, 2, 3]


async def test_an_erased_scope_filled_anew_is_not_confused_with_the_old_one(
    database: Database, store: SearchStore
) -> None:
    other = open_store(database)
    await put(database, store, ANN, (1, "the cat likes milk"))
    await embed_all(store)
    assert await nearest(other, "cat") == [1]
    async with database.transaction() as tx:
        erased = await store.erase(ANN, tx)
    assert erased == {"search_entries": 1, "index_generations": 1}
    assert await found(store, "cat") == await found(other, "cat") == []
    await put(database, store, ANN, (2, "the dog barks"))
    await embed_all(store)
    assert await nearest(other, "dog") == [2]
    assert await nearest(store, "dog") == [2]


async def test_erased_vectors_leave_memory(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"))
    await embed_all(store)
    await nearest(store, "cat")
    assert len(CountedIndex.alive) == 1
    async with database.transaction() as tx:
        await store.erase(ANN, tx)
    assert len(CountedIndex.alive) == 0


async def test_erasing_one_scope_leaves_the_others_alone(database: Database, store: SearchStore) -> None:
    for scope in (ANN, ANN_GUILD, ANNA):
        await put(database, store, scope, (1, "the cat likes milk"))
    await embed_all(store)
    async with database.transaction() as tx:
        await store.erase(ANN, tx)
    assert [entry.scope for entry in await search(store, "cat")] == [ANN_GUILD]
    assert [entry.scope for entry in await search(store, "cat", ALL_OF_ANNA)] == [ANNA]
    assert await store.export(ANN_GUILD) == []


async def test_all_indexes_may_be_thrown_away_at_any_time(database: Database) -> None:
    store = open_store(database, cache_bytes=0)
    for scope in (ANN, ANN_GUILD, ANNA):
        await put(database, store, scope, (1, "the cat likes milk"), (2, "the dog barks"))
    await embed_all(store)
    for _ in range(2):
        assert len(await search(store, "dog")) == 4
        assert (await nearest(store, "dog", ALL_OF_ANNA))[0] == 2
    await remove(database, store, ANN, 2)
    assert {entry.scope for entry in await search(store, "dog") if entry.record_id == 2} == {ANN_GUILD}


async def test_vectors_of_another_embedder_are_never_compared_and_are_made_anew(
    database: Database, store: SearchStore
) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"), (2, "the dog barks"))
    await embed_all(store)
    changed = open_store(database, ReversedEmbedder())
    assert (await changed.progress()).waiting == 2
    (entry,) = await search(changed, "milk")
    assert (entry.record_id, entry.similarity) == (1, None)
    await embed_all(changed)
    similarity = {entry.record_id: entry.similarity for entry in await search(changed, "the cat likes milk")}
    assert similarity[1] == pytest.approx(1.0, abs=1e-3)
    assert (await store.progress()).waiting == 2


async def test_three_entries_among_ten_thousand_of_somebody_else_are_all_found(
    database: Database, store: SearchStore
) -> None:
    await put(database, store, ANN, *((1, "my cat is Tom"), (2, "Tom the cat is old"), (3, "I feed my cat")))
    await embed_all(store)
    vector = (await HashEmbedder().embed(["my cat is Tom"]))[0].astype("<f2").tobytes()
    await put(database, store, ANNA, *((number, "my cat is Tom") for number in range(10_000)))
    async with database.transaction() as tx:  # embedding ten thousand texts would only take time
        await tx.connection.execute(
            update(search_entries)
            .where(search_entries.c.person == ANNA.person)
            .values(embedder=HashEmbedder.name, vector=vector)
        )
    assert sorted(await found(store, "my cat Tom")) == [1, 2, 3]
    assert sorted(await nearest(store, "my cat Tom")) == [1, 2, 3]


async def test_a_reach_leaves_out_what_was_said_to_fewer_people(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat is a secret"))
    await put(database, store, ANN_GUILD, (2, "the cat is known"))
    await embed_all(store)
    assert await found(store, "cat", GUILD_OF_ANN) == [2]
    assert await nearest(store, "cat secret", GUILD_OF_ANN) == [2]
    assert sorted(await found(store, "cat")) == [1, 2]


async def test_the_sources_are_kept_apart(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"))
    async with database.transaction() as tx:
        await store.put(ANN, tx, source=Source.ARCHIVAL, items=[(1, "the cat likes fish")])
        await store.remove(ANN, tx, source=Source.ARCHIVAL, record_ids=[2])
    await embed_all(store)
    assert await found(store, "cat") == [1]
    (archival,) = await store.search(ALL_OF_ANN, source=Source.ARCHIVAL, query="fish", limit=5)
    assert archival.source is Source.ARCHIVAL
    await remove(database, store, ANN, 1)
    assert len(await store.search(ALL_OF_ANN, source=Source.ARCHIVAL, query="cat", limit=5)) == 1


async def test_a_change_of_embedder_goes_on_where_it_was_stopped_and_may_change_again(
    database: Database, store: SearchStore
) -> None:
    texts = [(number, f"the cat number {number} likes milk") for number in range(5)]
    await put(database, store, ANN, *texts)
    await embed_all(store)
    assert str(await store.progress()) == "all 5 texts are embedded"

    changed = open_store(database, ReversedEmbedder())
    await changed.embed_pending(limit=2)
    assert str(await changed.progress()) == "re-embedding 2 of 5"
    stopped = open_store(database, ReversedEmbedder())  # a new process
    assert (await stopped.progress()).outdated == 3
    entries = await search(stopped, "cat milk", limit=5)
    assert len(entries) == 5
    assert sum(entry.similarity is not None for entry in entries) == 2
    await embed_all(stopped)
    assert (await stopped.progress()).done == 5

    await store.embed_pending(limit=3)  # changed back
    assert str(await stopped.progress()) == "re-embedding 2 of 5"
    await embed_all(store)
    fresh = open_store(database)
    ranked = [rank(await search(one, "cat number 3")) for one in (store, fresh)]
    assert ranked[0] == ranked[1]
    assert ranked[0][0].entry.record_id == 3


async def test_a_process_killed_while_it_embeds_anew_leaves_what_the_next_one_finishes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/keepsake.db"
    database = await open_database(url)
    store = open_store(database)
    await put(database, store, ANN, *((number, f"the cat number {number} likes milk") for number in range(200)))
    await embed_all(store)
    program = (
        "import asyncio, sys\n"
        "from memory.database import open_database\n"
        "from tests.memory.stores.test_search import ReversedEmbedder, open_store\n"
        "async def main():\n"
        "    store = open_store(await open_database(sys.argv[1]), ReversedEmbedder())\n"
        "    while await store.embed_pending(limit=1):\n"
        "        print('embedded one', flush=True)\n"
        "asyncio.run(main())"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, url, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    while await process.stdout.readline() != b"embedded one\n":
        pass
    process.kill()
    await process.wait()

    changed = open_store(database, ReversedEmbedder())
    assert 1 <= (await changed.progress()).done < 200
    assert len(await search(changed, "cat milk", limit=200)) == 200
    await embed_all(changed)
    assert str(await changed.progress()) == "all 200 texts are embedded"
    similar = [entry.similarity for entry in await search(changed, "cat milk", limit=200)]
    assert None not in similar
    await database.close()


async def test_what_is_new_is_embedded_before_what_another_embedder_has_embedded(
    database: Database, store: SearchStore
) -> None:
    await put(database, store, ANN, *((number, f"the dog {number}") for number in range(5)))
    await embed_all(store)
    changed = open_store(database, ReversedEmbedder())
    await put(database, changed, ANN, (9, "the cat likes milk"))
    assert str(await changed.progress()) == "re-embedding 0 of 6"
    await changed.embed_pending(limit=1)
    (entry,) = await search(changed, "cat")
    assert entry.similarity is not None


async def test_an_entry_stored_just_before_a_crash_is_embedded_after_the_restart(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/crash.db"
    database = await open_database(address)
    await put(database, open_store(database), ANN, (1, "the cat likes milk"))
    await database.close()
    database = await open_database(address)
    store = open_store(database)
    assert await found(store, "milk") == [1]
    await embed_all(store)
    assert await nearest(store, "cat milk") == [1]
    await database.close()


async def test_entries_changed_or_removed_while_the_embedder_runs_get_no_stale_vector(
    database: Database, store: SearchStore
) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"), (2, "it rains"), (3, "a bird sings"))

    async def meanwhile() -> None:
        await put(database, store, ANN, (1, "the dog likes rain"))
        await remove(database, store, ANN, 2)

    assert await open_store(database, InterruptedEmbedder(meanwhile)).embed_pending() == 3
    assert (await store.progress()).waiting == 1  # the changed text of record 1
    assert await nearest(store, "cat milk") == [3]
    await embed_all(store)
    assert sorted(await nearest(store, "dog likes rain")) == [1, 3]


async def test_a_failing_embedder_leaves_the_words_and_says_so_where_vectors_are_asked_for(
    database: Database,
) -> None:
    store = open_store(database, BrokenEmbedder())
    await put(database, store, ANN, (1, "the cat likes milk"))
    assert await found(store, "milk") == [1]
    with pytest.raises(EmbedderError):
        await store.embed_query("milk")
    with pytest.raises(EmbedderError):
        await store.embed_pending()
    assert (await store.progress()).waiting == 1


async def test_embedding_goes_on_in_batches(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, *((number, f"text {number}") for number in range(5)))
    taken = [await store.embed_pending(limit=2) for _ in range(4)]
    assert taken == [2, 2, 1, 0]


async def test_searches_at_the_same_time_build_an_index_once(database: Database, store: SearchStore) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"))
    await embed_all(store)
    results = await asyncio.gather(*(found(store, "cat") for _ in range(8)))
    assert results == [[1]] * 8
    assert CountedIndex.built == 1


async def test_searches_and_writes_at_the_same_time_end_in_agreement(database: Database, store: SearchStore) -> None:
    async def write(start: int) -> None:
        for number in range(start, start + 8):
            await put(database, store, ANN, (number, f"the cat number {number}"))
            await store.embed_pending()
            if number % 2:
                await remove(database, store, ANN, number)

    async def read() -> None:
        for _ in range(8):
            await search(store, "cat")

    await asyncio.gather(write(0), write(100), read(), read())
    await embed_all(store)
    left = [*range(0, 8, 2), *range(100, 108, 2)]
    assert sorted(await nearest(store, "cat")) == left
    assert sorted(await nearest(open_store(database), "cat")) == left


async def test_entries_embedded_by_another_process_meanwhile_are_left_as_they_are(
    database: Database, store: SearchStore
) -> None:
    await put(database, store, ANN, (1, "the cat likes milk"))
    generations: list[int] = []

    async def embed_and_note() -> None:
        await embed_all(store)
        generations.append(await generation(database))

    await open_store(database, InterruptedEmbedder(embed_and_note)).embed_pending()
    assert generations == [await generation(database)]


async def test_generations_only_rise(database: Database, store: SearchStore) -> None:
    generations = []
    for number in range(3):
        await put(database, store, ANN, (1, f"text {number}"))
        await embed_all(store)
        generations.append(await generation(database))
    assert generations == sorted(set(generations))


async def generation(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(select(index_generations.c.generation))).scalar_one())


words = st.lists(st.sampled_from(["cat", "dog", "milk", "rain"]), min_size=1, max_size=4).map(" ".join)
scopes = st.sampled_from([ANN, ANN_GUILD, ANNA])
actions = st.lists(
    st.tuples(st.just("put"), scopes, st.integers(1, 5), words)
    | st.tuples(st.just("remove"), scopes, st.integers(1, 5), st.none())
    | st.tuples(st.just("embed"), st.none(), st.none(), st.none()),
    max_size=10,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=actions, cache_bytes=st.sampled_from([0, 2**20]))
async def test_after_any_changes_a_search_finds_each_record_within_reach_and_no_other(
    database: Database, actions: list[tuple[str, Scope, int, str]], cache_bytes: int
) -> None:
    stores = [open_store(database, cache_bytes=cache_bytes) for _ in range(2)]
    async with database.transaction() as tx:
        for scope in (ANN, ANN_GUILD, ANNA):
            await stores[0].erase(scope, tx)
    kept: dict[tuple[Scope, int], str] = {}
    for step, (action, scope, record_id, words_put) in enumerate(actions):
        store = stores[step % 2]
        if action == "put":
            await put(database, store, scope, (record_id, words_put))
            kept[scope, record_id] = words_put
        elif action == "remove":
            await remove(database, store, scope, record_id)
            kept.pop((scope, record_id), None)
        else:
            await embed_all(store)
            await search(store, "cat")
    for embedded in (False, True):
        if embedded:
            await embed_all(stores[0])
        for store, (reach, readable) in product(
            stores,
            [(ALL_OF_ANN, {ANN, ANN_GUILD}), (GUILD_OF_ANN, {ANN_GUILD}), (ALL_OF_ANNA, {ANNA})],
        ):
            hits = await search(store, "cat milk", reach, limit=10)
            found_by_words = {(hit.scope, hit.record_id) for hit in hits if hit.text_score > 0}
            everything = {key: text for key, text in kept.items() if key[0] in readable}
            assert found_by_words == {key for key, text in everything.items() if {"cat", "milk"} & set(text.split())}
            assert {(hit.scope, hit.record_id) for hit in hits} <= everything.keys()
            assert not embedded or len(hits) == len(everything)


async def test_what_is_new_of_one_kind_in_one_scope_is_embedded_before_all_that_waits(database: Database) -> None:
    embedder = Recording()
    store = open_store(database, embedder)
    ann, bob = Scope(person="console:ann", audience="dm"), Scope(person="console:bob", audience="dm")
    await put(database, store, ann, (1, "What Ann said."))
    async with database.transaction() as tx:
        await store.put(ann, tx, source=Source.FACT, items=[(2, "Ann's fact.")])
        await store.put(bob, tx, source=Source.FACT, items=[(3, "Bob's fact.")])
    await store.embed_new(ann, source=Source.FACT)
    assert embedder.texts == ["Ann's fact."]
    await embed_all(store)
    assert sorted(embedder.texts) == ["Ann's fact.", "Bob's fact.", "What Ann said."]
