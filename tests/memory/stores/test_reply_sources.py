"""What the last replies were given: references in order, and no text."""

from __future__ import annotations

import pytest

from memory.database import Database
from memory.records import Scope, SearchHit, Source
from memory.stores.reply_sources import ReplySource, ReplySourceStore
from tests.fakes import START

ANN = Scope(person="console:ann", audience="dm")
ANN_GUILD = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
LARGE = 2**62 + 1  # no double holds it


def hit(text: str, source: Source = Source.FACT, record_id: int = LARGE, scope: Scope = ANN_GUILD) -> SearchHit:
    return SearchHit(
        source=source,
        scope=scope,
        record_id=record_id,
        score=0.9,
        text=text,
        author=None,
        at=START,
        reason="words in common",
        message_ids=(LARGE + 2,),
    )


@pytest.fixture
def store(database: Database) -> ReplySourceStore:
    return ReplySourceStore(database)


async def note(
    database: Database, store: ReplySourceStore, exchange_id: int, *hits: SearchHit, conversation: str = "here"
) -> None:
    async with database.transaction() as tx:
        await store.note(ANN, tx, exchange_id=exchange_id, conversation=conversation, hits=hits, at=START)


async def test_what_a_reply_was_given_comes_back_in_order(database: Database, store: ReplySourceStore) -> None:
    await note(database, store, 1, hit("User likes tea"), hit("I like tea", Source.RECALL, 5, ANN))
    given = await store.latest(ANN, "here")
    assert given is not None
    assert (given.exchange_id, given.conversation, given.at) == (1, "here", START)
    assert given.sources == (
        ReplySource(
            source=Source.FACT,
            scope=ANN_GUILD,
            record_id=LARGE,
            reason="words in common",
            message_ids=(LARGE + 2,),
        ),
        ReplySource(source=Source.RECALL, scope=ANN, record_id=5, reason="words in common", message_ids=(LARGE + 2,)),
    )
    assert await store.of_exchange(ANN, 1) == given


async def test_nothing_of_the_text_is_kept(database: Database, store: ReplySourceStore) -> None:
    await note(database, store, 1, hit("User likes tea"))
    assert "tea" not in repr(await store.export(ANN))


async def test_the_last_reply_is_that_of_its_own_conversation(database: Database, store: ReplySourceStore) -> None:
    await note(database, store, 1, hit("a"))
    await note(database, store, 2)
    await note(database, store, 3, hit("c"), conversation="elsewhere")
    given = await store.latest(ANN, "here")
    assert given is not None
    assert (given.exchange_id, given.sources) == (2, ())
    assert await store.latest(ANN, "nowhere") is None
    assert await store.latest(BOB, "here") is None
    assert await store.of_exchange(BOB, 1) is None


async def test_noting_an_exchange_again_replaces_it(database: Database, store: ReplySourceStore) -> None:
    for _ in range(2):
        await note(database, store, 1, hit("a"))
    assert len(await store.export(ANN)) == 1


async def test_only_the_last_twenty_replies_of_a_conversation_are_kept(
    database: Database, store: ReplySourceStore
) -> None:
    await note(database, store, 1, conversation="elsewhere")
    for exchange_id in range(2, 32):
        await note(database, store, exchange_id)
    assert [row["exchange_id"] for row in await store.export(ANN)] == [1, *range(12, 32)]


async def test_erasing_leaves_nothing(database: Database, store: ReplySourceStore) -> None:
    await note(database, store, 1, hit("a"))
    async with database.transaction() as tx:
        assert await store.erase(ANN, tx) == {"reply_sources": 1}
    assert await store.export(ANN) == []
