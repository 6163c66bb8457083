"""What is stored is embedded at once, and what many store meanwhile together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from memory.database import Database, open_database
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.ports import Vectors
from memory.processes.indexer import Indexer
from memory.records import Scope, Source
from memory.stores.search import SearchStore
from tests.fakes import FakeClock, HashEmbedder
from tests.new_database import database_in


class Recording(HashEmbedder):
    """Keeps what it was asked to embed together, and waits with its answer until it may."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(sorted(texts))
        self.asked.set()
        await self.may_answer.wait()
        return await super().embed(texts)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(await database_in(tmp_path))
    yield opened
    await opened.close()


async def test_one_entry_is_embedded_at_once_and_those_that_come_meanwhile_together(database: Database) -> None:
    embedder = Recording()
    search = SearchStore(database, SqliteTextIndex(), embedder, IdSource(FakeClock()), new_index=FaissIndex)
    indexer = Indexer(search)

    async def say(person: str, text: str) -> None:
        scope = Scope(person=f"console:{person}", audience="dm")
        await database.write(lambda tx: search.add(scope, tx, source=Source.RECALL, items=[(1, text)]))
        indexer.kick()

    await say("ann", "a boat")
    await embedder.asked.wait()
    await say("bob", "a car")
    await say("cid", "a train")
    assert embedder.batches == [["a boat"]]
    embedder.may_answer.set()
    await indexer.settle()
    assert embedder.batches == [["a boat"], ["a car", "a train"]]
    assert (await search.progress()).missing == 0
    await indexer.close()
