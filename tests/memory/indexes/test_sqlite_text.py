"""Full text in SQLite: what is found, whose it is, and that no query text can change either."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, text

from memory.database import Database, open_database
from memory.indexes import term_holders
from memory.indexes.marks import mark_of
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.indexes.stop_words import STOP_WORDS
from memory.indexes.term_holders import held_within
from memory.indexes.words import folded, query_terms
from memory.policy.audience import reach_of, reach_of_person
from memory.records import EntryScore, Reach, Scope, SearchEntry, Source
from memory.schema import closed_scopes, search_entries
from tests.fakes import START

INDEX = SqliteTextIndex()
ANN = Scope(person="console:ann", audience="dm")
BOB = Scope(person="console:bob", audience="dm")
EVERYTHING_OF_ANN = reach_of_person("console:ann")


async def store(
    database: Database, *texts: str, scope: Scope = ANN, source: Source = Source.RECALL, first: int = 1
) -> list[SearchEntry]:
    """Entries with rising ids, as the search store writes them."""
    entries = [
        SearchEntry(id=first + row, scope=scope, source=source, record_id=10_000 + first + row, chunk=0, text=words)
        for row, words in enumerate(texts)
    ]
    rows = [
        {
            "person": scope.person,
            "audience": scope.audience,
            "source": source.value,
            "record_id": entry.record_id,
            "chunk": 0,
            "id": entry.id,
            "text": "x" * len(entry.text),  # its words must be in the index alone
        }
        for entry in entries
    ]
    async with database.transaction() as transaction:
        await transaction.connection.execute(insert(search_entries), rows)
        await INDEX.add(transaction.connection, entries)
    return entries


async def search(
    database: Database,
    query: str,
    *,
    reach: Reach = EVERYTHING_OF_ANN,
    source: Source = Source.RECALL,
    limit: int = 10,
) -> list[EntryScore]:
    limits = {source: limit}
    found = await database.read_together(lambda connection: INDEX.search(connection, reach, query, limits))
    return found.get(source, [])


async def found(database: Database, query: str, **options: Reach | Source | int) -> list[int]:
    return [score.entry_id for score in await search(database, query, **options)]  # type: ignore[arg-type]


async def test_what_is_held_is_told_within_reach_alone(database: Database) -> None:
    await store(database, "I moved to Oslo in May")
    await store(database, "Ann lives in Oslo", scope=replace(ANN, audience="guild:1"), source=Source.FACT, first=10)
    await store(database, "Oslo is cold", scope=BOB, source=Source.ARCHIVAL, first=20)

    async def held(reach: Reach) -> frozenset[Source]:
        limits = dict.fromkeys(Source, 5)
        return frozenset(await database.read_together(lambda connection: INDEX.search(connection, reach, "?", limits)))

    assert await held(EVERYTHING_OF_ANN) == {Source.RECALL, Source.FACT}
    assert await held(reach_of(replace(ANN, audience="guild:1"), None)) == {Source.FACT}
    assert await held(reach_of_person("console:eve")) == frozenset()


async def test_a_hit_says_whose_and_which_record_it_is(database: Database) -> None:
    await store(database, "I moved to Oslo in May")
    (hit,) = await search(database, "Oslo?")
    assert (hit.entry_id, hit.scope, hit.source, hit.record_id) == (1, ANN, Source.RECALL, 10_001)
    assert hit.text_score > 0
    assert hit.similarity is None


async def test_the_entry_that_holds_more_and_rarer_words_comes_first(database: Database) -> None:
    await store(database, "dinner with friends", "dinner with Rex my dog", "dinner alone", "lunch", "breakfast")
    hits = await search(database, "dinner dog Rex")
    assert hits[0].entry_id == 2
    assert {hit.entry_id for hit in hits} == {1, 2, 3}
    assert all(one.text_score >= other.text_score > 0 for one, other in pairwise(hits))


async def test_a_word_in_every_entry_still_scores_above_zero(database: Database) -> None:
    await store(database, *["the cat sat"] * 5)
    assert all(hit.text_score > 0 for hit in await search(database, "cat"))


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("she was running", "run"),
        ("two dogs", "dog"),
        ("Café Müller", "cafe muller"),
        ("ANN LIVES HERE", "ann"),
        ("full width ABC１２３", "abc123"),
        ("the ﬁle is here", "file"),
        ("don't forget the visa", "visa"),
        ("user_name and snake_case", "snake"),
        ("see https://example.org/page?id=7", "example.org"),
        ("Привет из Москвы", "москвы"),
        ("ΟΔΟΣ ΑΘΗΝΑΣ", "οδος"),
        ("مرحبا بالعالم", "بالعالم"),
        ("שלום עולם", "עולם"),
        ("मेरी बहन दिल्ली में रहती है", "दिल्ली"),
        ("ich wohne in Köln", "KÖLN"),
        ("costs 1,250 euros", "1,250"),
    ],
)
async def test_words_are_found_in_other_forms_and_scripts(database: Database, stored: str, query: str) -> None:
    await store(database, stored, "something else 99")
    assert await found(database, query) == [1]


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("我妹妹叫小红，住在北京", "猫吗北京"),
        ("我妹妹叫小红，住在北京", "北京"),
        ("我养了一只猫", "猫"),
        ("我的妹妹对花生过敏", "妹妹的名字叫什么"),
        ("東京に住んでいます", "東京"),
        ("カタカナﾃｽﾄ", "テスト"),
        ("ラーメンが好き", "ラーメン"),
        ("나는 서울에 살아요", "서울"),
        ("고양이", "고양이를"),
        ("ฉันอยู่กรุงเทพ", "กรุงเทพ"),
        ("I like 寿司very much", "寿司"),
        ("I like 寿司very much", "very寿"),
        ("𠮷野家で食べた", "𠮷野家"),
    ],
)
async def test_scripts_without_spaces_are_found_by_one_two_and_more_characters(
    database: Database, stored: str, query: str
) -> None:
    await store(database, stored, "别的话", "別の話", "다른 말")
    assert await found(database, query) == [1]


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("Wir haben drei Katzen", "Welche Katze?"),
        ("Unsere Wohnung ist klein", "meine Wohnungen"),
        ("In der Straße gibt es viele Häuser", "Haus"),
        ("In der Straße gibt es viele Häuser", "STRASSE"),
        ("mis gatos duermen", "gato"),
        ("Мою собаку зовут Бобик", "собаки"),
        ("Мы живём в Казани", "живу"),
        ("Купил ёлку", "елка"),
        ("много книг", "с книгами"),
        ("الكلب في البيت", "كلبي"),
        ("عندي كلب", "وكلبك"),
        ("أحمد يسكن هنا", "احمد"),
        ("هذا كِتَاب", "الكتاب"),
        ("मेरे पास एक कुत्ता है", "कुत्ते"),
        ("שָׁלוֹם לכולם", "שלום"),
        ("за́мок на горе", "замок"),
    ],
)
async def test_words_of_other_languages_are_found_in_their_other_forms(
    database: Database, stored: str, query: str
) -> None:
    await store(database, stored, "eins zwei drei", "один два три", "واحد اثنان")
    assert await found(database, query) == [1]


async def test_the_form_that_was_asked_for_comes_before_others(database: Database) -> None:
    await store(database, "Katzen", "Katze", "Hund", "Maus")
    assert await found(database, "Katze") == [2, 1]


@pytest.mark.parametrize("query", ["Where is Lisbon?", "What about the Lisbon trip"])
async def test_a_query_in_english_looks_for_its_words_alone(database: Database, query: str) -> None:
    await store(database, "Lisbeth came", "a Lisbon café", "Paris")
    assert await found(database, query) == [2]


async def test_a_word_that_runs_over_the_end_of_a_line_is_found(database: Database) -> None:
    await store(database, "我住在北\n京", "京北")
    assert await found(database, "北京") == [1]


async def test_two_characters_that_are_not_neighbours_are_no_word(database: Database) -> None:
    await store(database, "北方的京剧")
    assert await found(database, "北京") == []


@pytest.mark.parametrize("query", ["", " ", "what is the", "Who are you?", "!?*\"'", "🙂🎉", "\0", "NOT", "\u200f"])
async def test_a_query_without_a_searchable_word_finds_nothing(database: Database, query: str) -> None:
    await store(database, "what is the thing, who are you, it is not 🙂")
    assert await found(database, query) == []


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_finds_nothing(database: Database, limit: int) -> None:
    await store(database, "cat")
    assert await found(database, "cat", limit=limit) == []


async def test_only_the_best_are_returned_up_to_the_limit(database: Database) -> None:
    await store(database, *[f"cat {'and more words ' * row}" for row in range(5)])
    assert await found(database, "cat", limit=2) == [1, 2]


async def test_among_equals_the_newest_comes_first(database: Database) -> None:
    await store(database, "a cat", "a cat", "a cat")
    assert await found(database, "cat", limit=2) == [3, 2]


async def test_sources_are_searched_apart(database: Database) -> None:
    await store(database, "cat")
    await store(database, "cat", source=Source.ARCHIVAL, first=2)
    assert await found(database, "cat", source=Source.ARCHIVAL) == [2]
    assert await found(database, "cat") == [1]


async def test_an_audience_reads_itself_and_what_is_more_public(database: Database) -> None:
    guild = Scope(person=ANN.person, audience="guild:1")
    channel = Scope(person=ANN.person, audience="channel:7")
    await store(database, "cat in private")
    await store(database, "cat in the guild", scope=guild, first=2)
    await store(database, "cat in the channel", scope=channel, first=3)
    await store(database, "cat elsewhere", scope=Scope(person=ANN.person, audience="guild:2"), first=4)
    assert await found(database, "cat", reach=reach_of(guild)) == [2]
    assert sorted(await found(database, "cat", reach=reach_of(channel, "guild:1"))) == [2, 3]
    assert sorted(await found(database, "cat", reach=reach_of(ANN))) == [1, 2, 3, 4]
    assert await found(database, "cat", reach=Reach(person=ANN.person, audiences=frozenset())) == []


async def test_what_is_in_a_closed_scope_is_not_found_and_takes_no_place(database: Database) -> None:
    closed = Scope(person=ANN.person, audience="guild:1")
    await store(database, "cat", "dog")
    await store(database, "cat", "cat", scope=closed, first=3)
    async with database.transaction() as transaction:
        row = {"person": ANN.person, "audience": closed.audience, "place": closed.audience, "closed_at": START}
        await transaction.connection.execute(insert(closed_scopes).values(**row))
    assert await found(database, "cat", limit=1) == [1]
    assert await found(database, "cat", reach=reach_of(closed)) == []


async def test_somebody_in_many_places_is_searched_for_in_all_of_them_at_once(database: Database) -> None:
    for place in range(30):
        await store(database, "cat", scope=Scope(person=ANN.person, audience=f"guild:{place}"), first=1 + place)
    await store(database, "cat", scope=BOB, first=99)
    before = await search(database, "cat")
    gone = {"person": ANN.person, "audience": "guild:77", "place": "guild:77", "closed_at": START}
    await store(database, "cat", "dog", scope=Scope(person=ANN.person, audience="guild:77"), first=77)
    async with database.transaction() as transaction:
        await transaction.connection.execute(insert(closed_scopes).values(**gone))
    assert await search(database, "cat") == before
    held = await database.read_together(lambda look: held_within(look, EVERYTHING_OF_ANN, [Source.RECALL]))
    assert (len(held[Source.RECALL].marks), held[Source.RECALL].entries) == (1, 30)


async def test_a_person_with_few_entries_finds_them_among_many_of_another(database: Database) -> None:
    await store(database, *["cat and dog"] * 500, scope=BOB)
    await store(database, "a dog", "the cat", "my cat, your dog", first=1_000)
    assert sorted(await found(database, "cat dog")) == [1_000, 1_001, 1_002]


async def test_a_text_that_imitates_a_mark_is_found_by_its_true_owner_alone(database: Database) -> None:
    mark = mark_of(BOB, Source.RECALL)
    await store(database, f"{mark}cat {mark} cat", f"words : {mark}cat")
    await store(database, "something", scope=BOB, first=3)
    assert await found(database, "cat", reach=reach_of_person(BOB.person)) == []
    assert await found(database, f"words {mark}cat", reach=reach_of_person(BOB.person)) == []
    assert sorted(await found(database, f"{mark}cat")) == [1, 2]


async def test_an_indexed_text_whose_entry_is_gone_is_not_found(database: Database) -> None:
    await store(database, "cat", "cat")
    async with database.transaction() as transaction:
        await transaction.connection.execute(delete(search_entries).where(search_entries.c.id == 1))
    assert await found(database, "cat") == [2]


@pytest.mark.parametrize("other", [BOB, Scope(person=ANN.person, audience="guild:1")])
async def test_an_owner_that_the_row_of_the_entry_denies_finds_nothing(database: Database, other: Scope) -> None:
    (entry,) = await store(database, "cat")
    reach = Reach(person=other.person, audiences=frozenset({other.audience}))
    async with database.transaction() as transaction:
        await INDEX.add(transaction.connection, [replace(entry, scope=other)])
    assert await found(database, "cat", reach=reach) == []
    assert await found(database, "cat", reach=Reach(person=BOB.person, audiences=None)) == []


async def test_the_score_of_an_entry_does_not_depend_on_what_is_beyond_the_reach(database: Database) -> None:
    guild = Scope(person=ANN.person, audience="guild:1")
    await store(database, "cat and dog", "a cat", scope=guild)
    before = await search(database, "cat dog", reach=reach_of(guild))
    await store(database, *["dog"] * 20, first=3)
    await store(database, *["cat"] * 20, scope=BOB, first=30)
    assert await search(database, "cat dog", reach=reach_of(guild)) == before


async def test_removed_entries_are_not_found_and_unknown_ones_ignored(database: Database) -> None:
    await store(database, "cat", "cat")
    async with database.transaction() as transaction:
        await INDEX.remove(transaction.connection, [1, 99])
        await INDEX.remove(transaction.connection, [])
        await INDEX.add(transaction.connection, [])
    assert await found(database, "cat") == [2]


async def test_what_is_removed_is_no_longer_held_and_leaves_nothing_of_its_scope(database: Database) -> None:
    (entry, other) = await store(database, "cat", "dog")
    async with database.transaction() as transaction:
        await INDEX.add(transaction.connection, [entry])
        await INDEX.remove(transaction.connection, [entry.id])
        await INDEX.remove(transaction.connection, [other.id])
    limits = {Source.RECALL: 5}
    assert await database.read_together(lambda look: INDEX.search(look, EVERYTHING_OF_ANN, "cat", limits)) == {}
    async with database.read() as connection:
        for kept in ("search_words", "search_marks"):
            assert (await connection.execute(text(f"SELECT count(*) FROM {kept}"))).scalar_one() == 0


async def test_an_entry_added_again_is_replaced(database: Database) -> None:
    (entry,) = await store(database, "cat")
    changed = SearchEntry(id=entry.id, scope=ANN, source=Source.RECALL, record_id=entry.record_id, chunk=0, text="dog")
    async with database.transaction() as transaction:
        await INDEX.add(transaction.connection, [changed])
    assert await found(database, "cat") == []
    assert await found(database, "dog") == [1]


async def test_the_index_holds_what_was_indexed_and_is_still_there_and_nothing_else(database: Database) -> None:
    first, second, _ = await store(database, "my cat", "我的猫 and your dog", "")
    async with database.transaction() as transaction:
        await INDEX.add(transaction.connection, [replace(first, text="a bird"), second])
        await INDEX.remove(transaction.connection, [second.id])
        compare = text("INSERT INTO search_text (search_text, rank) VALUES ('integrity-check', 1)")  # raises otherwise
        await transaction.connection.execute(compare)
    assert await found(database, "bird") == [first.id]


async def test_what_an_earlier_version_indexed_without_the_mark_of_its_person_is_indexed_anew(
    database: Database,
) -> None:
    await store(database, "my cat", "your cat", "a dog")
    async with database.transaction() as transaction:
        for entry_id, words in ((1, "my cat"), (2, "your cat")):  # as that version wrote it
            row = {"id": entry_id, "mark": mark_of(ANN, Source.RECALL), "words": words}
            await transaction.connection.execute(
                text("INSERT INTO search_words (id, mark, words) VALUES (:id, :mark, :words)"), row
            )
            await transaction.connection.execute(
                text("UPDATE search_entries SET text = :words WHERE id = :id"), {"id": entry_id, "words": words}
            )
    assert await found(database, "cat") == []
    async with database.transaction() as transaction:
        assert await INDEX.index_older(transaction.connection) == 2
        assert await INDEX.index_older(transaction.connection) == 0
    assert sorted(await found(database, "cat")) == [1, 2]
    assert await found(database, "cat", reach=reach_of(replace(ANN, audience="guild:1"), None)) == []


async def test_a_rare_word_from_long_ago_is_found_beside_common_ones(database: Database) -> None:
    many = term_holders._MAX_SCORED + 200
    await store(database, "Rex was a good dog", *[f"good dinner {number}" for number in range(many)])
    hits = await search(database, "good dinner dog Rex", limit=3)
    assert hits[0].entry_id == 1
    assert await found(database, "good dinner", limit=2) == [many + 1, many]


async def test_common_words_add_to_the_score_of_what_a_rare_word_found(database: Database) -> None:
    filler = [f"good dinner {number}" for number in range(term_holders._MAX_SCORED + 200)]
    await store(database, "Rex ate dinner up", "Rex ate supper up", "Rex ate butter up", *filler)
    hits = await search(database, "Rex dinner good", limit=10)
    assert [hit.entry_id for hit in hits] == [1, 3, 2]
    assert hits[0].text_score > hits[1].text_score


async def test_texts_that_sqlite_cannot_hold_are_indexed_all_the_same(database: Database) -> None:
    await store(database, "nul\0cat", "surrogate \ud800 dog")
    assert await found(database, "cat") == [1]
    assert await found(database, "nul") == [1]
    assert await found(database, "dog") == [2]


HOSTILE = (
    '"', "'", '""', "*", "^cat", "cat*", "-cat", "+", "cat AND", "AND OR NOT", "NEAR(cat dog, 5)", "NEAR(",
    "(", ")", "words:x", "words : cat", "words:", "{words}:cat", "- words : cat", "'; DROP TABLE messages; --",
    "%", "_", "\\", "cat\0dog", "\0", "\ud800", "\udfff cat", "a" * 40_000, "猫" * 40_000, "ก็" * 3_000, "cat " * 20_000,
    " OR ".join(["cat"] * 500), "(" * 3_000, '"cat' * 3_000, "a\u0301" * 3_000, "\u202ecat\u202c",
    "👩\u200d👩\u200d👧", "ﷺ" * 4_000,
    ":", ";", "--", "/*", "?", "?1", ":match", "$1", "@a", "1e309", "0x7f", "\x1a\x1b\x7f", "\u2028\u2029",
    "1" * 5_000,
)  # fmt: skip

PIECES = st.sampled_from([*HOSTILE[:26], "cat", "Dog", " ", "猫", "ก", "AND", "OR", "NOT", "\n", "é", "🙂", "שלום"])
QUERIES = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join), st.lists(PIECES).map(" ".join))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, Database]]:
    """One database with two people's entries, for queries that change nothing."""

    async def prepare(folder: Path) -> Database:
        database = await open_database(f"sqlite:///{folder}/keepsake.db")
        texts = ["cat owner body near", "dog or not and", "猫 ก שלום é", *HOSTILE]
        await store(database, *texts)
        await store(database, *texts, scope=BOB, first=1_000)
        return database

    with asyncio.Runner() as runner:
        database = runner.run(prepare(tmp_path_factory.mktemp("text")))
        yield runner, database
        runner.run(database.close())


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_queries_raise_nothing_and_stay_with_their_person(
    shared: tuple[asyncio.Runner, Database], query: str
) -> None:
    runner, database = shared
    assert all(hit.scope == ANN for hit in runner.run(search(database, query, limit=500)))


@settings(max_examples=300)
@given(QUERIES)
@example('cat" OR words : "x')
@example('cat") OR (words : dog')
def test_no_query_of_any_content_raises_or_leaves_its_person(
    shared: tuple[asyncio.Runner, Database], query: str
) -> None:
    runner, database = shared
    hits = runner.run(search(database, query, limit=500))
    assert all(hit.scope == ANN and hit.entry_id < 1_000 and hit.text_score > 0 for hit in hits)


@given(st.text(min_size=1, max_size=12).filter(lambda word: word.isalpha()))
def test_any_word_of_letters_becomes_search_terms_or_is_a_stop_word(word: str) -> None:
    parts = folded(word).lower().split()
    # Of a lone vowel mark or stretching of Arabic nothing is left.
    assert query_terms(word) or not parts or STOP_WORDS.intersection(parts)


def content_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_scrubbing_leaves_no_word_of_a_removed_entry_in_the_files(database: Database, tmp_path: Path) -> None:
    numbers = random.Random(1)
    filler = [" ".join(f"w{numbers.random()}" for _ in range(20)) for _ in range(1_500)]
    await store(database, *[f"keepme{number} {words}" for number, words in enumerate(filler)])
    await store(database, *[f"canary{number}" for number in range(50)], first=10_000)
    async with database.transaction() as transaction:
        await INDEX.remove(transaction.connection, range(10_000, 10_050))
    async with database.transaction() as transaction:
        await INDEX.begin_scrub(transaction.connection)
    more, steps = True, 0
    while more:
        async with database.transaction() as transaction:
            more = await INDEX.scrub_step(transaction.connection)
        steps += 1
        assert steps < 100
    async with database.engine.connect() as connection:
        raw = await connection.execution_options(isolation_level="AUTOCOMMIT")
        await raw.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    files = content_of(tmp_path)
    assert b"keepme" in files
    assert b"canary" not in files
    assert len(await found(database, " ".join(f"keepme{number}" for number in range(30)), limit=500)) == 30
