"""What is shown unasked."""

from __future__ import annotations

import pytest

from memory.embedding import MiniLmEmbedder
from memory.multilingual import MultilingualEmbedder
from memory.policy.ranking import RankedEntry, rank
from memory.policy.relevance import MESSAGE_FLOORS, Floor, Floors, above_floor, floors_of, has_content, is_relevant
from memory.records import EntryScore, Scope, Source

FLOOR = Floor(similarity=0.30, with_words=0.10)
FLOORS = Floors(oneself=Floor(similarity=0.1), world=Floor(similarity=0.5), unknown=Floor(similarity=0.3))


def ranked(text_share: float, similarity: float | None) -> RankedEntry:
    scope = Scope(person="console:ann", audience="dm")
    entry = EntryScore(entry_id=1, scope=scope, source=Source.RECALL, record_id=1, similarity=similarity)
    return RankedEntry(entry=entry, text_share=text_share, score=0.5)


@pytest.mark.parametrize(
    ("text_share", "similarity", "relevant"),
    [
        (0.0, 0.31, True),
        (0.0, 0.29, False),
        (1.0, 0.12, True),
        (1.0, 0.05, False),
        (0.4, 0.12, False),
        (1.0, None, True),
        (0.4, None, False),
    ],
)
def test_an_entry_is_relevant_by_meaning_or_by_a_strong_match_of_words(
    text_share: float, similarity: float | None, relevant: bool
) -> None:
    assert is_relevant(ranked(text_share, similarity), FLOOR) is relevant


@pytest.mark.parametrize(
    "query",
    [
        "2+2?",
        "17 * 23 = ?",
        "hi",
        "Hello there!",
        "hey, how are you?",
        "what's up",
        "how's it going?",
        "thank you so much",
        "ok",
        "👍",
        "",
    ],
)
def test_a_query_that_asks_for_nothing_brings_nothing(query: str) -> None:
    assert not has_content(query)
    assert above_floor([ranked(1.0, 0.9)], query) == []


@pytest.mark.parametrize(
    "query",
    [
        "what is 17 times 23?",
        "How much is 15 % of 2080?",
        "square root of 1444",
        "convert 1000 miles to kilometres",
        "how many seconds are in an hour?",
        "what's 2000 - 300",
    ],
)
def test_a_sum_is_answered_by_nothing_that_was_said(query: str) -> None:
    assert above_floor([ranked(1.0, 0.9)], query) == []


@pytest.mark.parametrize(
    "query",
    [
        "What is 4471?",
        "2026-03-05",
        "our trip in 2019",
        "what is 15 % of my rent?",
        "the 2019 budget",
        "room 12 in Rome",
    ],
)
def test_what_only_holds_a_number_is_no_sum(query: str) -> None:
    assert above_floor([ranked(1.0, 0.9)], query)


@pytest.mark.parametrize(
    "query",
    ["where do I live?", "hi, what is my cat called?", "order 4471", "who am I?", "猫", "привет, где мой кот"],
)
def test_a_query_that_asks_for_something_is_answered(query: str) -> None:
    near, far = ranked(1.0, 0.9), ranked(0.0, 0.0)
    assert above_floor([near, far], query) == [near]


@pytest.mark.parametrize(
    "query",
    [
        "What do I drive?",
        "I'm cooking for Clara tonight",
        "how do I get to my sister's place?",
        "what is OUR wifi called",
        "remind me of the date",
        "How do I usually get there?",
        "What needs repairing at home?",
        "Who in the family sings?",
        "Which restaurant do you recommend?",
        "Wo habe ich früher gewohnt?",
        "Wie heißt meine Katze?",
        "¿Dónde vive mi hermana?",
        "где мой кот",
        "我的猫叫什么",
    ],
)
def test_who_speaks_of_oneself_is_met_half_way(query: str) -> None:
    assert FLOORS.of(query) is FLOORS.oneself


@pytest.mark.parametrize(
    "query",
    [
        "What is the capital of Mongolia?",
        "How do I reverse a list in Python?",
        "can I use tabs in YAML?",
        "Tell me a funny joke",
        "explain recursion and closures to me",
        "10 factorial",
        "write a limerick on fog",
    ],
)
def test_who_asks_about_the_world_is_shown_only_what_is_close(query: str) -> None:
    assert FLOORS.of(query) is FLOORS.world


def test_where_it_cannot_be_told_the_floor_is_between_the_two() -> None:
    assert FLOORS.of("猫の名前は?") is FLOORS.unknown
    assert FLOORS.of("and Lisbon?") is FLOORS.unknown
    assert MESSAGE_FLOORS.oneself.similarity < MESSAGE_FLOORS.unknown.similarity < MESSAGE_FLOORS.world.similarity


def test_a_question_about_the_world_is_not_answered_by_one_word_in_common() -> None:
    [found] = rank([EntryScore(entry_id=1, scope=Scope(person="console:ann", audience="dm"), source=Source.RECALL,
                               record_id=1, text_score=3.0, similarity=0.29)])  # fmt: skip
    assert above_floor([found], "How many moons does Jupiter have?") == []
    assert above_floor([found], "When do I sleep badly? Is it the moon?") == [found]


def test_every_source_has_floors_under_every_embedder_and_facts_need_more_of_a_question_about_the_world() -> None:
    for embedder in ("all-MiniLM-L6-v2-int8", "all-MiniLM-L6-v2-int8+tokens-64", "an embedder of nobody"):
        floors = {source: floors_of(embedder, source) for source in Source}
        assert floors[Source.RECALL] == floors[Source.ARCHIVAL] == MESSAGE_FLOORS
        assert floors[Source.FACT].world.similarity > MESSAGE_FLOORS.world.similarity


def test_the_multilingual_embedder_has_floors_of_its_own() -> None:
    for source in Source:
        floors = floors_of(MultilingualEmbedder.name, source)
        assert floors.world.similarity > floors_of(MiniLmEmbedder.name, source).world.similarity
