"""Facts: learned once, never lost, always to be brought back."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from structlog.testing import capture_logs

from memory.database import Database
from memory.embedding import MiniLmEmbedder
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.policy.audience import reach_of, reach_of_person, reach_of_scope
from memory.policy.fact_changes import same_statement, taken_back, undone
from memory.ports import Embedder
from memory.records import Candidate, Change, Fact, FactState, Origin, Scope, Source
from memory.schema import search_entries
from memory.stores.fact_revisions import FactRevisionStore
from memory.stores.facts import FactStore
from memory.stores.search import SearchStore
from tests.fakes import START, FakeClock, HashEmbedder, WordTokenCounter

ANN = Scope(person="console:ann", audience="dm")
ANN_GUILD = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
LEARNED = Change(actor="system", reason="learned", source_message=7, session_id=1, job="learn:7")
LATER = Change(actor="system", reason="learned", source_message=8, session_id=2, job="learn:8")
WISHED = Change(actor="person", reason="asked for")
HOUR = timedelta(hours=1)


def says(text: str, subject: str = "", predicate: str = "", what: str = "", **more: Any) -> Candidate:
    return Candidate(text=text, subject=subject, predicate=predicate, object=what, **more)


OSLO = says("User lives in Oslo", "user", "lives_in", "Oslo")
ROME = says("User lives in Rome", "user", "lives_in", "Rome")


class House:
    """A fact store, with each of its writes in a transaction of its own."""

    def __init__(self, database: Database, ids: IdSource, clock: FakeClock, embedder: Embedder | None = None) -> None:
        self.database = database
        self.clock = clock
        self.search = SearchStore(database, SqliteTextIndex(), embedder or HashEmbedder(), ids, new_index=FaissIndex)
        self.revisions = FactRevisionStore(database, ids)
        self.facts = FactStore(database, self.search, self.revisions, ids=ids, counter=WordTokenCounter(), clock=clock)

    async def write(self, verb: str, scope: Scope = ANN, at: datetime | None = None, **details: Any) -> Any:
        async with self.database.transaction() as tx:
            return await getattr(self.facts, verb)(scope, tx, **{"change": LEARNED, "at": at or self.now, **details})

    async def learn(self, candidate: Candidate | str, scope: Scope = ANN, **details: Any) -> Fact:
        said = says(candidate) if isinstance(candidate, str) else candidate
        fact = await self.write("add", scope, candidate=said, **details)
        assert isinstance(fact, Fact)
        return fact

    @property
    def now(self) -> datetime:
        return self.clock.now()

    async def texts(self, scope: Scope = ANN) -> list[str]:
        return [fact.text for fact in await self.facts.current(scope)]

    async def found(self, query: str, scope: Scope = ANN) -> list[str]:
        await self.search.embed_pending()
        return [hit.text for hit in await self.facts.search(reach_of_scope(scope), query, limit=5)]

    async def searchable(self) -> set[int]:
        entry = search_entries.c
        async with self.database.read() as connection:
            rows = await connection.execute(select(entry.record_id).where(entry.source == Source.FACT.value))
            return set(rows.scalars())

    async def actions(self, fact_id: int | None = None) -> list[str]:
        history = await self.facts.history(reach_of_scope(ANN), fact_id=fact_id)
        return [revision.action for revision in reversed(history)]


@pytest.fixture
def house(database: Database, ids: IdSource, clock: FakeClock) -> House:
    return House(database, ids, clock)


async def test_a_fact_comes_back_as_it_was_learned(house: House) -> None:
    fact = await house.learn(
        says(
            "User races in Bergen on 5 May: https://race.example",
            "user",
            "races_in",
            "Bergen",
            confidence=0.9,
            category="sport/running",
            importance=0.8,
            metadata={"urls": ["https://race.example"]},
            valid_from=START,
            expires_at=START + HOUR,
        )
    )
    assert await house.facts.current(ANN) == [fact]
    assert await house.facts.get(reach_of_scope(ANN), [fact.id, 99]) == [fact]
    assert (fact.source_message, fact.created_at, fact.category) == (7, START, "sport/running")
    [revision] = await house.facts.history(reach_of_scope(ANN), fact_id=fact.id)
    assert (revision.action, revision.before, revision.after) == ("add", None, fact.text)
    assert revision.change == LEARNED


async def test_an_empty_text_is_no_fact(house: House) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        await house.learn(" \n")
    fact = await house.learn(OSLO)
    with pytest.raises(InvalidInput, match="empty"):
        await house.write("correct", fact_id=fact.id, text=" ")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (says("User likes tea"), says("user likes  tea.")),
        (says("用户喜欢茶"), says("用户喜欢茶。")),
        (says("User has a dog", "user", "has", "dog"), says("User has the dog", "user", "has", "Dog")),
        (
            says("User works at Acme since 2020", "user", "works_at", "Acme"),
            says("works at", "User", "works_at", "Acme"),
        ),
    ],
)
async def test_the_same_statement_twice_is_one_fact_that_is_surer(
    house: House, known: Candidate, said: Candidate
) -> None:
    first = await house.learn(known, at=START)
    again = await house.learn(
        Candidate(text=said.text, subject=known.subject, predicate=known.predicate, object=said.object, confidence=1.0),
        at=START + HOUR,
    )
    assert again.id == first.id
    assert await house.texts() == [known.text]
    assert (again.confidence, again.updated_at) == (1.0, START + HOUR)
    assert await house.actions() == ["add"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User has 2 cats", "User has 3 cats"),
        ("User likes tea", "User likes coffee"),
        ("User likes tea", "User no longer likes tea"),
        ("User moved from Oslo to Rome", "User moved from Rome to Oslo"),
        ("User was a nurse", "User is a nurse"),
        ("Meets Ann on 3 May 2026", "Meets Ann on 3 May 2027"),
    ],
)
async def test_statements_that_differ_in_one_word_stay_two_facts(house: House, one: str, other: str) -> None:
    for text in (one, other):
        await house.learn(says(text, "user", "said", "it" if "tea" not in text else text))
    assert await house.texts() == [one, other]


async def test_more_words_on_the_same_triple_are_its_detail(house: House) -> None:
    first = await house.learn(says("User goes to Rome", "user", "goes_to", "Rome"))
    more = await house.learn(says("User goes to Rome in May 2026", "user", "goes_to", "Rome"), change=LATER)
    assert more.id == first.id
    assert await house.texts() == ["User goes to Rome in May 2026"]
    assert await house.actions() == ["add", "update"]
    assert await house.found("Rome in May") == ["User goes to Rome in May 2026"]


async def test_a_replaced_fact_is_superseded_and_found_no_more(house: House) -> None:
    oslo = await house.learn(OSLO)
    rome = await house.learn(ROME, replaces=[oslo.id])
    assert await house.texts() == ["User lives in Rome"]
    assert await house.found("where does the user live Oslo") == ["User lives in Rome"]
    [old] = await house.facts.get(reach_of_scope(ANN), [oslo.id])
    assert (old.state, old.superseded_by) == (FactState.SUPERSEDED, rome.id)
    assert rome.metadata["previous_value"] == "Oslo"
    superseded = (await house.facts.history(reach_of_scope(ANN), fact_id=oslo.id))[0]
    assert (superseded.action, superseded.before, superseded.after) == ("supersede", "User lives in Oslo", None)
    assert superseded.candidate == "User lives in Rome"


async def test_an_update_keeps_the_fact_and_its_first_source(house: House) -> None:
    fact = await house.learn(says("Trip in May", metadata={"urls": ["https://a.example"]}, importance=0.9))
    after = await house.write(
        "update",
        fact_id=fact.id,
        text="Trip from 3 to 9 May",
        candidate=says("The trip is 3 to 9 May", metadata={"urls": ["https://b.example"]}),
        change=LATER,
    )
    assert (after.id, after.text, after.source_message) == (fact.id, "Trip from 3 to 9 May", 7)
    assert after.metadata == {"urls": ["https://a.example", "https://b.example"]}
    assert after.importance == 0.9
    assert await house.found("trip") == ["Trip from 3 to 9 May"]


async def test_a_fact_that_is_no_longer_current_cannot_be_changed(house: House) -> None:
    fact = await house.learn(OSLO)
    await house.write("supersede", fact_id=fact.id)
    for verb, details in {
        "update": {"candidate": ROME},
        "supersede": {},
        "forget": {},
        "correct": {"text": "no"},
        "pin": {"pinned": True},
    }.items():
        assert await house.write(verb, fact_id=fact.id, **details) is None
        assert await house.write(verb, fact_id=12345, **details) is None
    assert await house.actions() == ["add", "supersede"]


async def test_only_the_person_changes_a_pinned_fact(house: House) -> None:
    fact = await house.learn(says("User goes to Rome", "user", "goes_to", "Rome"))
    pinned = await house.write("pin", fact_id=fact.id, pinned=True, change=WISHED)
    assert pinned.pinned
    assert await house.write("supersede", fact_id=fact.id) is None
    assert await house.write("update", fact_id=fact.id, candidate=ROME) is None
    detail = await house.learn(says("User goes to Rome in May", "user", "goes_to", "Rome"))
    assert detail.text == "User goes to Rome"
    replacing = await house.learn(OSLO, replaces=[fact.id])
    assert await house.texts() == ["User goes to Rome", replacing.text]
    assert (await house.write("correct", fact_id=fact.id, text="User went to Rome", change=WISHED)).pinned
    await house.write("pin", fact_id=fact.id, pinned=False, change=WISHED)
    assert await house.write("forget", fact_id=fact.id) is not None
    assert await house.actions(fact.id) == ["add", "pin", "correct", "unpin", "forget"]


async def test_a_correction_puts_the_persons_words_in_place_of_the_triple(house: House) -> None:
    fact = await house.learn(OSLO)
    after = await house.write("correct", fact_id=fact.id, text="User lives near Oslo, in Ski", change=WISHED)
    assert (after.text, after.object, after.confidence) == ("User lives near Oslo, in Ski", "", 1.0)
    assert await house.facts.profile(reach_of_scope(ANN), "user") == {}


async def test_what_was_forgotten_is_learned_again_only_from_newer_words(house: House) -> None:
    fact = await house.learn(OSLO, at=START)
    await house.write("forget", fact_id=fact.id, change=WISHED, at=START + HOUR)
    assert await house.write("add", candidate=OSLO, at=START) is None
    assert await house.texts() == []
    anew = await house.learn(OSLO, at=START + 2 * HOUR)
    assert anew.id != fact.id


async def test_a_forgotten_fact_can_be_brought_back(house: House) -> None:
    fact = await house.learn(OSLO)
    await house.write("forget", fact_id=fact.id, change=WISHED)
    assert await house.found("Oslo") == []
    assert await house.write("reinstate", fact_id=fact.id, change=WISHED) == fact
    assert await house.found("Oslo") == ["User lives in Oslo"]
    assert await house.write("reinstate", fact_id=1, change=WISHED) is None
    assert await house.actions() == ["add", "forget", "restore"]


async def test_every_kind_of_change_can_be_reverted(house: House) -> None:
    fact = await house.learn(OSLO)
    await house.write("update", fact_id=fact.id, candidate=OSLO, text="User lives in Oslo, Norway", change=LATER)
    await house.write("correct", fact_id=fact.id, text="User lives in Oslo, Minnesota", change=WISHED)
    await house.write("pin", fact_id=fact.id, pinned=True, change=WISHED)
    await house.write("forget", fact_id=fact.id, change=WISHED)
    history = await house.facts.history(reach_of_scope(ANN), fact_id=fact.id)
    seen = []
    for revision in history:
        await house.write("revert", revision_id=revision.id, change=WISHED)
        [now] = await house.facts.get(reach_of_scope(ANN), [fact.id])
        seen.append((revision.action, now.text, now.state.value, now.pinned))
        assert (await house.searchable() == {fact.id}) is (now.state is FactState.CURRENT)
    assert seen == [
        ("forget", "User lives in Oslo, Minnesota", "current", True),
        ("pin", "User lives in Oslo, Minnesota", "current", False),
        ("correct", "User lives in Oslo, Norway", "current", False),
        ("update", "User lives in Oslo", "current", False),
        ("add", "User lives in Oslo", "forgotten", False),
    ]


async def test_a_revert_can_itself_be_reverted(house: House) -> None:
    fact = await house.learn(OSLO)
    await house.write("supersede", fact_id=fact.id)
    for expected in ([OSLO.text], [], [OSLO.text]):
        newest = (await house.facts.history(reach_of_scope(ANN)))[0]
        await house.write("revert", revision_id=newest.id, change=WISHED)
        assert await house.texts() == expected
    assert await house.actions() == ["add", "supersede", "revert", "revert", "revert"]


async def test_reverting_one_change_leaves_what_other_changes_did(house: House) -> None:
    fact = await house.learn(OSLO)
    await house.write("update", fact_id=fact.id, candidate=OSLO, text="User lives in Oslo, Norway")
    update = (await house.facts.history(reach_of_scope(ANN)))[0]
    await house.write("pin", fact_id=fact.id, pinned=True, change=WISHED)
    await house.write("supersede", fact_id=fact.id, change=WISHED)
    await house.write("revert", revision_id=update.id, change=WISHED)
    [now] = await house.facts.get(reach_of_scope(ANN), [fact.id])
    assert (now.text, now.pinned, now.state) == ("User lives in Oslo", True, FactState.SUPERSEDED)
    with pytest.raises(InvalidInput, match="already"):
        await house.write("revert", revision_id=update.id, change=WISHED)


async def test_a_revision_of_somebody_else_cannot_be_reverted(house: House) -> None:
    await house.learn(OSLO, scope=BOB)
    [revision] = await house.facts.history(reach_of_scope(BOB))
    with pytest.raises(InvalidInput, match="no revision"):
        await house.write("revert", revision_id=revision.id, change=WISHED)
    assert await house.texts(BOB) == [OSLO.text]


async def test_undoing_a_session_takes_back_all_it_changed_and_nothing_else(house: House) -> None:
    oslo = await house.learn(OSLO)
    tea = await house.learn("User likes tea")
    await house.learn(ROME, replaces=[oslo.id], change=LATER)
    await house.write("update", fact_id=tea.id, candidate=says("green tea"), text="User likes green tea", change=LATER)
    await house.learn("User likes trains", change=LATER)
    await house.write("undo", origin=Origin(session_id=2), change=WISHED)
    assert await house.texts() == ["User lives in Oslo", "User likes tea"]
    assert (await house.actions()).count("revert") == 4
    await house.write("undo", origin=Origin(job="learn:8"), change=WISHED)
    assert (await house.actions()).count("revert") == 4


@pytest.mark.parametrize("named", [{}, {"session_id": 2, "job": "learn:8"}])
def test_undoing_nothing_in_particular_is_refused(named: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="session or a job"):
        Origin(**named)


async def test_undoing_a_job_leaves_facts_that_were_changed_since(house: House) -> None:
    oslo = await house.learn(OSLO)
    rome = await house.learn(ROME, replaces=[oslo.id], change=LATER)
    paris = says("User lives in Paris", "user", "lives_in", "Paris")
    await house.learn(paris, replaces=[rome.id], change=Change(actor="system", reason="learned", session_id=3))
    async with house.database.transaction() as tx:
        changes, left = await house.facts.without_work(ANN, tx, origin=Origin(job="learn:8"))
    assert changes == []
    assert {fact.id for fact in left} == {oslo.id, rome.id}
    await house.write("undo", origin=Origin(job="learn:8"), change=WISHED)
    assert await house.texts() == ["User lives in Paris"]
    assert "revert" not in await house.actions()


async def test_an_expired_fact_is_not_shown_as_true(house: House) -> None:
    await house.learn(says("User races tomorrow", expires_at=START + HOUR))
    assert await house.found("races") == ["User races tomorrow"]
    house.clock.advance(hours=1)
    assert await house.texts() == []
    assert await house.found("races") == []
    assert await house.facts.similar(ANN, "races", limit=5) == []
    anew = await house.learn(says("User races tomorrow"))
    assert await house.facts.current(ANN) == [anew]


async def test_similar_facts_come_nearest_first_and_include_the_same_slot(house: House) -> None:
    await house.learn(OSLO)
    await house.learn(says("User likes green tea", "user", "likes", "green tea"))
    await house.learn(says("User likes black coffee", "user", "likes", "black coffee"))
    await house.learn(OSLO, scope=BOB)
    await house.learn(ROME, scope=ANN_GUILD)
    nearest = await house.facts.similar(ANN, "User likes green apples", limit=1)
    assert [fact.text for fact in nearest] == ["User likes green tea"]
    moved = await house.facts.similar(ANN, "Umzug nach Rom", limit=1, floor=0.99, subject="user", predicate="lives_in")
    assert [fact.text for fact in moved] == ["User lives in Oslo"]
    assert await house.facts.similar(ANN, "Umzug nach Rom", limit=5, floor=0.99) == []


async def test_similar_facts_are_known_the_moment_they_were_learned(house: House) -> None:
    await house.learn("User loves seafood")
    [known] = await house.facts.similar(ANN, "seafood loves User", limit=5, floor=0.9)
    assert known.text == "User loves seafood"


async def test_facts_are_found_within_reach_alone(house: House) -> None:
    private = await house.learn(OSLO)
    public = await house.learn(says("User likes Oslo", "user", "likes", "Oslo"), scope=ANN_GUILD)
    await house.learn(says("Bob hates Oslo", "user", "hates", "Oslo"), scope=BOB)
    dm, guild = reach_of(ANN), reach_of(ANN_GUILD)
    assert {hit.record_id for hit in await house.facts.search(dm, "Oslo", limit=5)} == {private.id, public.id}
    assert [hit.record_id for hit in await house.facts.search(guild, "Oslo", limit=5)] == [public.id]
    assert await house.facts.within(guild) == [public]
    assert await house.facts.get(guild, [private.id]) == []
    assert await house.facts.by_triple(guild, "user") == [public]
    assert [revision.fact_id for revision in await house.facts.history(guild)] == [public.id]


async def test_of_what_two_audiences_were_told_the_newer_is_shown(house: House) -> None:
    oslo = await house.learn(OSLO, scope=ANN_GUILD, at=START)
    rome = await house.learn(ROME, at=START + HOUR)
    tea = await house.learn(says("User likes tea", "user", "likes", "tea"), scope=ANN_GUILD, at=START)
    coffee = await house.learn(says("User likes coffee", "user", "likes", "coffee"), at=START + HOUR)
    shown = {hit.record_id for hit in await house.facts.search(reach_of(ANN), "user lives likes", limit=9)}
    assert shown == {rome.id, tea.id, coffee.id}
    in_public = await house.facts.search(reach_of(ANN_GUILD), "user lives", limit=9)
    assert oslo.id in {hit.record_id for hit in in_public}
    await house.write("forget", fact_id=rome.id, change=WISHED)
    assert [hit.record_id for hit in await house.facts.search(reach_of(ANN), "lives in", limit=1)] == [oslo.id]


async def test_one_current_fact_among_many_superseded_is_all_that_is_found(house: House) -> None:
    last = await house.learn("User lives in town 0")
    for number in range(1, 51):
        last = await house.learn(f"User lives in town {number}", replaces=[last.id])
    assert await house.found("which town does the user live in") == ["User lives in town 50"]


async def test_triples_are_looked_up_exactly_and_make_a_profile(house: House) -> None:
    for candidate in (
        ROME,
        says("User likes tea", "user", "likes", "tea"),
        says("User likes coffee", "user", "likes", "coffee"),
        says("Eva lives in Oslo", "Eva", "lives_in", "Oslo"),
        says("Something without a triple"),
    ):
        await house.learn(candidate)
    reach = reach_of_scope(ANN)
    assert [fact.text for fact in await house.facts.by_triple(reach, "user", "lives_in")] == ["User lives in Rome"]
    assert len(await house.facts.by_triple(reach, "user")) == 3
    assert await house.facts.by_triple(reach) == []
    assert await house.facts.profile(reach, "user") == {"lives_in": "Rome", "likes": ["tea", "coffee"]}
    assert await house.facts.profile(reach, "nobody") == {}


async def test_twenty_adds_at_once_lose_none_and_double_none(house: House) -> None:
    await asyncio.gather(*(house.learn(f"User owns item {number % 10}") for number in range(20)))
    assert sorted(await house.texts()) == [f"User owns item {number}" for number in range(10)]


async def test_a_transaction_that_fails_leaves_no_trace(house: House) -> None:
    fact = await house.learn(OSLO)

    async def cut_off() -> None:
        async with house.database.transaction() as tx:
            await house.facts.add(ANN, tx, candidate=ROME, change=LATER, at=START, replaces=[fact.id])
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        await cut_off()
    assert await house.facts.current(ANN) == [fact]
    assert await house.searchable() == {fact.id}
    assert await house.actions() == ["add"]


async def test_exactly_the_current_facts_are_searchable(house: House) -> None:
    kept, gone, old = [await house.learn(text) for text in ("One thing", "Another thing", "An old thing")]
    await house.write("forget", fact_id=gone.id)
    await house.write("supersede", fact_id=old.id, by=kept.id)
    await house.write("pin", fact_id=kept.id, pinned=True)
    assert await house.searchable() == {kept.id}


async def test_writes_are_logged_by_ids_and_counts_alone(house: House) -> None:
    with capture_logs() as logs:
        await house.learn(OSLO)
        await house.learn(OSLO)
    assert [log["event"] for log in logs] == ["memory_write", "fact_confirmed"]
    assert (logs[0]["tokens_before"], logs[0]["tokens_after"]) == (0, 4)
    assert "Oslo" not in repr(logs)


async def test_what_was_exported_comes_back_with_its_history(house: House) -> None:
    oslo = await house.learn(OSLO)
    await house.learn(ROME, replaces=[oslo.id])
    stores = (house.facts, house.revisions)
    rows = {store.name: await store.export(ANN) for store in stores}
    history = await house.facts.history(reach_of_scope(ANN))
    async with house.database.transaction() as tx:
        assert await house.facts.erase(ANN, tx) == {"facts": 2}
        assert await house.revisions.erase(ANN, tx) == {"fact_revisions": 3}
        await house.search.erase(ANN, tx)
    for added in ([2, 3], [0, 0]):
        async with house.database.transaction() as tx:
            assert [await store.restore(ANN, tx, rows[store.name]) for store in stores] == added
    assert {store.name: await store.export(ANN) for store in stores} == rows
    assert await house.facts.history(reach_of_scope(ANN)) == history
    assert await house.found("lives") == ["User lives in Rome"]
    await house.write("revert", revision_id=history[0].id, change=WISHED)
    assert OSLO.text in await house.texts()


async def test_erasing_one_scope_leaves_the_others(house: House) -> None:
    await house.learn(OSLO)
    await house.learn(OSLO, scope=BOB)
    async with house.database.transaction() as tx:
        await house.facts.erase(ANN, tx)
        await house.revisions.erase(ANN, tx)
    assert await house.facts.within(reach_of_person(ANN.person)) == []
    assert await house.texts(BOB) == [OSLO.text]
    assert await house.facts.count(BOB) == 1


ASKED = {
    "User is vegetarian": ("What should I cook tonight?", "what do I not eat?"),
    "User lives in Rome": ("Where do I live?", "in which city am I?"),
    "User works as a nurse": ("what is my job?", "I had a rough shift today"),
    "User is training for a marathon on 5 May 2026": ("how far should I run this weekend?", "when is my race?"),
    "User's cat is called Milo": ("what is my cat's name?", "my pet is sick, what do I do"),
    "User is learning Japanese": ("which language am I studying?", "translate good morning for my class"),
    "User drives an old Volvo": ("my car makes a noise", "what car do I have?"),
    "User has two children, Tom and Lea": ("what are the names of my kids?", "how many children do I have?"),
    "User's mother lives in Lisbon": ("where does my mom live?", "I want to visit my mother"),
    "User's favourite film is Amelie": ("what film do I love?", "suggest a movie for tonight"),
}
OTHER_MATTERS = (
    "what is the capital of Mongolia?",
    "write a haiku about rain",
    "how tall is Everest",
    "who won the world cup in 1998?",
    "what does HTTP 404 mean",
    "how do vaccines work",
    "what's the square root of 144",
    "difference between TCP and UDP",
    "what is inflation",
    "what's the boiling point of water",
)


async def test_facts_are_found_by_what_they_bear_on_and_seldom_by_anything_else(
    database: Database, ids: IdSource, clock: FakeClock
) -> None:
    house = House(database, ids, clock, embedder=MiniLmEmbedder())
    for text in ASKED:
        await house.learn(text)
    await house.search.embed_pending()

    async def shown(query: str) -> list[str]:
        hits = await house.facts.search(reach_of_scope(ANN), query, limit=5, floor=True)
        return [hit.text for hit in hits]

    found = [text in await shown(query) for text, queries in ASKED.items() for query in queries]
    beside_the_point = [len(await shown(query)) for query in OTHER_MATTERS]
    assert sum(found) >= 0.9 * len(found)
    assert sum(beside_the_point) <= 0.5 * len(OTHER_MATTERS)


texts = st.sampled_from(["likes tea", "likes green tea", "likes tea a lot", "has 2 cats"])
facts = st.builds(
    Fact,
    id=st.just(1),
    scope=st.just(ANN),
    text=texts,
    created_at=st.just(START),
    updated_at=st.sampled_from([START, START + HOUR]),
    state=st.sampled_from(FactState),
    pinned=st.booleans(),
    confidence=st.just(1.0),
    importance=st.just(0.5),
    metadata=st.just({}),
    superseded_by=st.sampled_from([None, 2]),
)


@given(before=facts, after=facts)
def test_taking_the_last_change_back_gives_what_was_before(before: Fact, after: Fact) -> None:
    assert taken_back(after, before, after) == before


@given(before=facts, after=facts, present=facts)
def test_undoing_reports_every_fact_it_does_not_take_back(before: Fact, after: Fact, present: Fact) -> None:
    goals, left = undone({1: (before, after)}, {1: present})
    assert len(goals) + len(left) == (taken_back(present, before, after) != present)


@given(fact=facts, text=texts)
def test_what_says_the_same_says_it_both_ways(fact: Fact, text: str) -> None:
    assert same_statement(fact, Candidate(text=text)) is (fact.text == text)
