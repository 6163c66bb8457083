"""Whatever happens to vectors and indexes, a search finds in the end what it finds over a fresh index."""

from __future__ import annotations

import random
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, event

from memory.messages import user_message
from memory.parameters import MemoryParameters
from memory.ports import Embedder, Vectors
from memory.records import EvictionReason, NewMessage
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.new_database import database_in

PEOPLE = ("console:ann", "console:bob")
WORDS = ("cat", "dog", "boat", "rain", "milk", "piano", "letter", "garden", "train", "doctor", "Oslo", "Rome")
QUERIES = ("the cat and the milk", "piano in the garden", "Oslo", "a letter for the doctor", "zebra", "rain, rain")
MESSAGES = 24
AT_ONCE = 5  # entries embedded in one transaction, so that there are several to die in
# Of each person; with 2,500 the searches of one run are 5,000, in about a minute.
FUZZED = 150


class OtherEmbedder(HashEmbedder):
    """Another space of the same size: texts that share their first letters are alike."""

    name = "letters-64"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await super().embed([" ".join(word[0] for word in text.split()) for text in texts])


@dataclass(frozen=True, slots=True)
class Found:
    """One hit, apart from how it was found."""

    text: str
    score: float


@asynccontextmanager
async def opened(folder: Path, embedder: Embedder | None = None) -> AsyncIterator[MemorySystem]:
    async with open_memory(
        database_url=await database_in(folder),
        embedder=embedder or HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=ScriptedModel(),
        parameters=MemoryParameters(),
        clock=FakeClock(),
    ) as system:
        yield system


async def fill(system: MemorySystem) -> None:
    draw = random.Random(3)
    for person in PEOPLE:
        place = system.conversation(person=person, audience="dm", conversation=f"{person}:dm").place
        texts = [f"{person} {' '.join(draw.sample(WORDS, 4))}" for _ in range(MESSAGES)]
        said = [NewMessage(message=user_message(text), author="Ann", sent_at=START) for text in texts]
        async with system.transaction() as tx:
            session = await system.stores.sessions.start(
                place.scope, tx, conversation=place.conversation, community=None, at=START
            )
            await system.stores.recall.append(
                place.scope, tx, session=session, messages=said, evicted=EvictionReason.IMPORTED, at=START
            )
            await system.stores.archival.insert(place.scope, tx, content=f"{person} keeps {texts[0]}")


async def embed(system: MemorySystem) -> None:
    while await system.stores.search.embed_pending(limit=AT_ONCE):
        pass


async def found(system: MemorySystem, queries: Sequence[str] = QUERIES) -> dict[tuple[str, str], list[Found]]:
    results = {}
    for person in PEOPLE:
        for query in queries:
            hits = await system.search(person, query, limit=8)
            assert all(hit.scope.person == person and hit.text.startswith(person) for hit in hits)
            results[person, query] = [Found(hit.text, round(hit.score, 4)) for hit in hits]
    return results


async def fresh(folder: Path, embedder: Embedder | None = None) -> dict[tuple[str, str], list[Found]]:
    """What is found where everything was stored and embedded without any trouble."""
    async with opened(folder, embedder) as system:
        await fill(system)
        await embed(system)
        return await found(system)


@contextmanager
def snapshots(folder: Path, places: list[Path]) -> Iterator[None]:
    """What is on disk before each commit meanwhile: where a process that dies then leaves off."""

    def take(_connection: Connection) -> None:
        place = folder.parent / f"death-{len(places)}"
        place.mkdir()
        for file in folder.glob("keepsake.db*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, place)
        places.append(place)

    event.listen(Engine, "commit", take)
    try:
        yield
    finally:
        event.remove(Engine, "commit", take)


async def test_a_process_that_dies_while_it_embeds_leaves_what_the_next_one_finishes(tmp_path: Path) -> None:
    expected = await fresh(tmp_path / "fresh")
    folder, deaths = tmp_path / "dying", list[Path]()
    async with opened(folder) as system:
        await fill(system)
        with snapshots(folder, deaths):
            await embed(system)
    assert len(deaths) == -(-2 * (MESSAGES + 1) // AT_ONCE)
    for place in deaths:
        async with opened(place) as system:
            assert (await system.stores.search.progress()).waiting > 0
            await found(system)  # builds indexes of what is there already
            await embed(system)
            assert await found(system) == expected


async def test_an_embedder_changed_half_way_and_back_finds_what_a_fresh_one_finds(tmp_path: Path) -> None:
    expected, of_other = await fresh(tmp_path / "fresh"), await fresh(tmp_path / "other", OtherEmbedder())
    assert expected != of_other
    async with opened(tmp_path) as system:
        await fill(system)
        await system.stores.search.embed_pending(limit=AT_ONCE)
    for embedder, of_it in ((OtherEmbedder(), of_other), (HashEmbedder(), expected), (OtherEmbedder(), of_other)):
        async with opened(tmp_path, embedder) as system:
            by_words = await found(system)
            assert by_words["console:ann", "Oslo"], "full text answers meanwhile"
            await system.stores.search.embed_pending(limit=AT_ONCE)
            await found(system)
        async with opened(tmp_path, embedder) as system:
            await embed(system)
            assert await found(system) == of_it


async def test_fuzzed_queries_find_rows_of_their_own_person_alone_and_the_same_ones_every_time(tmp_path: Path) -> None:
    draw = random.Random(11)
    alphabet = [
        *WORDS,
        *"\"()*^:-+,.?!'%_",
        "AND",
        "NOT",
        "NEAR(",
        "\x00",
        "\ud800",
        "你好",
        "مرحبا",
        "é",
        "😀",
        "2019",
    ]
    queries = [" ".join(draw.choices(alphabet, k=draw.randint(0, 12))) for _ in range(FUZZED)]
    async with opened(tmp_path) as system:
        await fill(system)
        await embed(system)
        first = await found(system, queries)
    async with opened(tmp_path) as system:
        assert await found(system, queries) == first
