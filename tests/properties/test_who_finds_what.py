"""Full text shows its asker all they may hear and nothing else, whatever was added, erased, closed and linked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, text

from memory.database import Database, open_database
from memory.indexes.marks import mark_of, mark_of_person
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.indexes.words import indexed_words
from memory.policy.audience import reach_of, reach_of_person, with_linked
from memory.records import Reach, Scope, SearchEntry, Source
from memory.schema import closed_scopes, search_entries
from tests.fakes import START
from tests.new_database import database_in

INDEX = SqliteTextIndex()
PEOPLE = [f"console:p{number}" for number in range(4)]
AUDIENCES = ["dm", "guild:1", "guild:2", "channel:9"]
SOURCES = [Source.RECALL, Source.FACT]
WORDS = ["cat", "ferry", "Oslo", "猫", "it's", "x"]
STEPS, ROUNDS = 12, 6


@dataclass(slots=True, kw_only=True)
class Index:
    """The index, and by id what it should hold."""

    database: Database
    random: random.Random
    entries: dict[int, SearchEntry] = field(default_factory=dict)
    closed: set[Scope] = field(default_factory=set)
    last: int = field(default=0)

    def scope(self) -> Scope:
        return Scope(person=self.random.choice(PEOPLE), audience=self.random.choice(AUDIENCES))

    def words(self) -> str:
        """A text that may imitate the marks that words of others have."""
        marks = [mark_of(self.scope(), Source.RECALL), mark_of_person(self.random.choice(PEOPLE), Source.RECALL)]
        plain = self.random.choices(WORDS, k=3)
        return " ".join([*plain, self.random.choice(marks) + self.random.choice(WORDS)])

    async def add(self) -> None:
        self.last += 1
        scope, source = self.scope(), self.random.choice(SOURCES)
        entry = SearchEntry(
            id=self.last, scope=scope, source=source, record_id=1_000 + self.last, chunk=0, text=self.words()
        )
        row = {
            "person": scope.person,
            "audience": scope.audience,
            "source": source.value,
            "record_id": entry.record_id,
            "chunk": 0,
            "id": entry.id,
            "text": entry.text,
        }
        self.entries[entry.id] = entry
        async with self.database.transaction() as tx:
            await tx.connection.execute(insert(search_entries), row)
            await INDEX.add(tx.connection, [entry])

    async def add_again(self) -> None:
        if self.entries:
            async with self.database.transaction() as tx:
                await INDEX.add(tx.connection, self.random.choices(list(self.entries.values()), k=2))

    async def erase(self) -> None:
        """Everything of a scope goes."""
        scope = self.scope()
        gone = [entry.id for entry in self.entries.values() if entry.scope == scope]
        async with self.database.transaction() as tx:
            await INDEX.remove(tx.connection, gone)
            await tx.connection.execute(delete(search_entries).where(search_entries.c.id.in_(gone)))
        for entry_id in gone:
            del self.entries[entry_id]

    async def close(self) -> None:
        scope = self.scope()
        if scope not in self.closed:
            row = {"person": scope.person, "audience": scope.audience, "place": scope.audience, "closed_at": START}
            async with self.database.transaction() as tx:
                await tx.connection.execute(insert(closed_scopes), row)
        self.closed.add(scope)

    async def open(self) -> None:
        place = self.random.choice(AUDIENCES)
        async with self.database.transaction() as tx:
            await tx.connection.execute(delete(closed_scopes).where(closed_scopes.c.place == place))
        self.closed = {scope for scope in self.closed if scope.audience != place}

    def reaches(self) -> Iterator[Reach]:
        for person in PEOPLE:
            others = self.random.sample(PEOPLE, k=self.random.randrange(3))
            for audience in AUDIENCES:
                reach = reach_of(Scope(person=person, audience=audience), "guild:1")
                yield reach
                yield with_linked(reach, others)
            yield with_linked(reach_of_person(person), others)

    async def check(self, reach: Reach, word: str) -> None:
        """What is found is all that the asker may hear, and what is said to be held is there."""
        heard = [
            entry
            for entry in self.entries.values()
            if entry.scope.person in {reach.person, *reach.linked}
            and (reach.audiences is None or entry.scope.audience in reach.audiences)
            and entry.scope not in self.closed
        ]
        limits = dict.fromkeys(SOURCES, 1_000)
        found = await self.database.read_together(lambda look: INDEX.search(look, reach, word, limits))
        ids = {source: sorted(score.entry_id for score in scores) for source, scores in found.items()}
        asked = set(indexed_words(word))
        assert ids == {
            source: [entry.id for entry in heard if entry.source is source and asked & set(indexed_words(entry.text))]
            for source in {entry.source for entry in heard}
        }


@pytest.mark.parametrize("seed", range(3))
async def test_a_search_finds_what_its_asker_may_hear_and_nothing_else(tmp_path: Path, seed: int) -> None:
    database = await open_database(await database_in(tmp_path))
    index = Index(database=database, random=random.Random(seed))
    for _ in range(ROUNDS):
        for _ in range(STEPS):
            await index.random.choice([*[index.add] * 6, index.add_again, index.erase, index.close, index.open])()
        for reach in index.reaches():
            await index.check(reach, index.random.choice(["cat", "ferry", "Oslo", "猫"]))
    async with database.transaction() as tx:
        compare = text("INSERT INTO search_text (search_text, rank) VALUES ('integrity-check', 1)")  # raises otherwise
        await tx.connection.execute(compare)
        counted = text("SELECT sum(entries) FROM search_marks")
        assert (await tx.connection.execute(counted)).scalar_one() == 2 * len(index.entries)
    await database.close()
