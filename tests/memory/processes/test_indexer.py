"""What is stored is embedded soon, and what many store at about the same time together."""

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

AN_HOUR = 3_600.0


class Recording(HashEmbedder):
    """Keeps what it was asked to embed together."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.asked = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(sorted(texts))
        self.asked.set()
        return await super().embed(texts)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_database(await database_in(tmp_path))
    yield opened
    await opened.close()


async def test_one_entry_is_embedded_at_once_and_those_soon_after_it_together(database: Database) -> None:
    embedder = Recording()
    search = SearchStore(database, SqliteTextIndex(), embedder, IdSource(FakeClock()), new_index=FaissIndex)
    indexer = Indexer(search, collecting=AN_HOUR)

    async def say(person: str, text: str) -> None:
        scope = Scope(person=f"console:{person}", audience="dm")
        await database.write(lambda tx: search.add(scope, tx, source=Source.RECALL, items=[(1, text)]))
        indexer.kick()

    await say("ann", "a boat")
    await embedder.asked.wait()
    await say("bob", "a car")
    await say("cid", "a train")
    assert embedder.batches == [["a boat"]]
    await indexer.settle()
    assert embedder.batches == [["a boat"], ["a car", "a train"]]
    assert (await search.progress()).missing == 0
    await indexer.close()
