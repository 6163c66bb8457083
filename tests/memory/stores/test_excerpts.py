"""The closer look at candidates: token vectors, and what stands beside an entry."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import numpy as np
import pytest
from sqlalchemy import select

from memory.database import Database
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.messages import user_message
from memory.policy.ranking import Excerpt, RankedEntry, rank, seen_in_place
from memory.ports import EmbeddedQuery, EmbeddedText, Embedder, TokenEmbedder
from memory.records import EvictionReason, NewMessage, Reach, Scope, Source
from memory.schema import search_entries
from memory.stores.recall import RecallStore
from memory.stores.search import SearchStore
from memory.stores.sessions import SessionStore
from tests.fakes import START, HashEmbedder

ANN = Scope(person="console:ann", audience="dm")
ANN_GUILD = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
ALL_OF_ANN = Reach(person="console:ann", audiences=None)
GUILD_OF_ANN = Reach(person="console:ann", audiences=frozenset({"guild:1"}))


class HashTokenEmbedder(HashEmbedder):
    """A token for each word, like that of the same word alone."""

    name = "hash-64+tokens-16"
    token_dimensions = 16

    async def embed_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        vectors = await self.embed(texts)
        return [self._embedded(text, vector) for text, vector in zip(texts, vectors, strict=True)]

    def _embedded(self, text: str, vector: np.ndarray) -> EmbeddedText:
        words = list(re.finditer(r"\w+", text.lower()))
        tokens = np.zeros((len(words), self.token_dimensions), dtype=np.int8)
        for row, word in enumerate(words):
            digest = hashlib.blake2b(word[0].encode(), digest_size=2).digest()
            tokens[row, int.from_bytes(digest, "big") % self.token_dimensions] = 127
        return EmbeddedText(vector=vector, tokens=tokens, spans=[word.span() for word in words])


def open_search(database: Database, ids: IdSource, embedder: Embedder | None = None) -> SearchStore:
    return SearchStore(database, SqliteTextIndex(), embedder or HashTokenEmbedder(), ids, new_index=FaissIndex)


async def put(database: Database, search: SearchStore, scope: Scope, *items: tuple[int, str]) -> None:
    async with database.transaction() as tx:
        await search.put(scope, tx, source=Source.RECALL, items=items)
    await search.embed_pending()


async def excerpts_of(
    database: Database,
    search: SearchStore,
    candidates: Sequence[RankedEntry],
    reach: Reach = ALL_OF_ANN,
    embedded: EmbeddedQuery | None = None,
) -> list[Excerpt]:
    look = partial(search.excerpts, reach=reach, source=Source.RECALL, candidates=candidates, embedded=embedded)
    return await database.read_together(look)


async def looked_at(database: Database, search: SearchStore, query: str, reach: Reach = ALL_OF_ANN) -> list[Excerpt]:
    embedded = await search.embed_query(query)
    found = await search.search(reach, source=Source.RECALL, query=query, limit=1, embedded=embedded)
    return await excerpts_of(database, search, rank(found)[:1], reach, embedded)


def record_ids(excerpts: Sequence[Excerpt]) -> list[int]:
    return sorted(excerpt.entry.record_id for excerpt in excerpts)


@pytest.fixture
def search(database: Database, ids: IdSource) -> SearchStore:
    return open_search(database, ids)


def test_the_fake_is_a_token_embedder() -> None:
    assert isinstance(HashTokenEmbedder(), TokenEmbedder)


async def test_token_vectors_are_kept_beside_the_vector(database: Database, search: SearchStore) -> None:
    await put(database, search, ANN, (1, "the cat likes milk"))
    async with database.read() as connection:
        row = (await connection.execute(select(search_entries))).one()
    assert row.embedder == HashTokenEmbedder.name
    assert len(row.tokens) == 4 * HashTokenEmbedder.token_dimensions


async def test_an_embedder_without_token_vectors_takes_the_place_of_one_with_them(
    database: Database, ids: IdSource, search: SearchStore
) -> None:
    await put(database, search, ANN, (1, "the cat likes milk"))
    plain = open_search(database, ids, HashEmbedder())
    assert (await plain.progress()).waiting == 1
    [before] = await looked_at(database, plain, "cat milk")
    assert before.matches is None
    await plain.embed_pending()
    [after] = await looked_at(database, plain, "cat milk")
    assert after.matches == pytest.approx([after.entry.similarity])
    async with database.read() as connection:
        assert (await connection.execute(select(search_entries.c.tokens))).scalar_one() is None


async def test_what_stands_beside_the_best_of_many_candidates_comes_alone(
    database: Database, search: SearchStore
) -> None:
    await put(database, search, ANN, *((number, f"cat {number}") for number in range(1, 101)))
    embedded = await search.embed_query("cat")
    found = rank(await search.search(ALL_OF_ANN, source=Source.RECALL, query="cat", limit=100, embedded=embedded))
    candidates = [one for one in found if one.entry.record_id % 3 == 2]  # no two of them beside one another
    excerpts = await excerpts_of(database, search, candidates, embedded=embedded)
    best = [one.entry.record_id for one in candidates[: seen_in_place(len(candidates))]]
    beside = [record_id + step for record_id in best for step in (-1, 1)]
    assert 2 * len(best) < len(candidates)
    assert record_ids(excerpts) == sorted([*(one.entry.record_id for one in candidates), *beside])


async def test_the_entries_before_and_after_a_candidate_come_with_it(database: Database, search: SearchStore) -> None:
    await put(database, search, ANN, (10, "rain"), (20, "snow"), (30, "the cat likes milk"), (40, "hail"), (50, "fog"))
    excerpts = {one.entry.record_id: one for one in await looked_at(database, search, "cat milk")}
    assert sorted(excerpts) == [20, 30, 40]
    ids = {record_id: one.entry.entry_id for record_id, one in excerpts.items()}
    assert [(one.before, one.after) for _, one in sorted(excerpts.items())] == [
        (None, ids[30]),
        (ids[20], ids[40]),
        (ids[30], None),
    ]
    assert excerpts[30].text_share == 1.0
    assert excerpts[20].text_share == 0.0
    assert excerpts[30].matches is not None
    assert excerpts[30].matches.sum() == pytest.approx(1.0, abs=0.01)


async def test_an_entry_beside_two_candidates_comes_once_and_stands_beside_both(
    database: Database, search: SearchStore
) -> None:
    await put(database, search, ANN, (10, "cat milk"), (20, "rain"), (30, "cat and milk"))
    embedded = await search.embed_query("cat milk")
    found = await search.search(ALL_OF_ANN, source=Source.RECALL, query="cat milk", limit=3, embedded=embedded)
    candidates = [one for one in rank(found) if one.entry.record_id != 20]
    excerpts = await excerpts_of(database, search, candidates, embedded=embedded)
    assert record_ids(excerpts) == [10, 20, 30]
    ids = {one.entry.record_id: one.entry.entry_id for one in excerpts}
    [between] = [one for one in excerpts if one.entry.record_id == 20]
    assert (between.before, between.after) == (ids[10], ids[30])
    assert between.entry.scope == ANN


async def test_the_pieces_of_a_long_text_stand_beside_one_another(database: Database, search: SearchStore) -> None:
    await put(database, search, ANN, (1, "rain"), (2, "one"), (2, "the cat likes milk"), (2, "three"), (3, "fog"))
    assert record_ids(await looked_at(database, search, "cat milk")) == [2, 2, 2]


async def test_nothing_of_another_scope_or_person_stands_beside_an_entry(
    database: Database, search: SearchStore
) -> None:
    await put(database, search, ANN_GUILD, (2, "the cat likes milk"))
    await put(database, search, ANN, (1, "a secret"), (3, "another secret"))
    await put(database, search, BOB, (4, "my secret"))
    assert record_ids(await looked_at(database, search, "cat milk", GUILD_OF_ANN)) == [2]
    candidates = rank(await search.search(ALL_OF_ANN, source=Source.RECALL, query="secret", limit=5))
    beyond = await excerpts_of(database, search, candidates, GUILD_OF_ANN)
    assert record_ids(beyond) == [2]


async def test_without_a_query_vector_words_alone_are_known(database: Database, search: SearchStore) -> None:
    await put(database, search, ANN, (1, "the cat likes milk"))
    candidates = rank(await search.search(ALL_OF_ANN, source=Source.RECALL, query="cat", limit=5))
    [excerpt] = await excerpts_of(database, search, candidates)
    assert (excerpt.matches, excerpt.entry.similarity, excerpt.text_share) == (None, None, 1.0)


async def test_an_answer_is_found_by_the_question_before_it(
    database: Database, ids: IdSource, search: SearchStore
) -> None:
    recall, sessions = RecallStore(database, search, ids), SessionStore(database, ids)

    async def said(*texts: str) -> None:
        messages = [NewMessage(message=user_message(text), author="Ann", sent_at=START) for text in texts]
        async with database.transaction() as tx:
            session = await sessions.start(ANN, tx, conversation="console:ann:dm", community=None, at=START)
            await recall.append(ANN, tx, session=session, messages=messages, evicted=EvictionReason.IMPORTED, at=START)
            await sessions.claim_end(ANN, tx, session_id=session.id, at=START + timedelta(hours=1))
        await search.embed_pending()

    await said("what is the cat called", "Tom naturally")
    await said("Bella naturally", "fog")
    hits = await recall.search(ALL_OF_ANN, "what is the cat called", limit=5, evicted_only=False)
    assert [hit.text for hit in hits][:2] == ["what is the cat called", "Tom naturally"]
    assert len(hits) == 4
    left = await recall.search(
        ALL_OF_ANN, "what is the cat called", limit=5, evicted_only=False, exclude=frozenset({hits[1].record_id})
    )
    assert "Tom naturally" not in [hit.text for hit in left]
