"""Scores and the relevance floor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.ranking import (
    above_floor,
    archival_score,
    has_content,
    is_relevant,
    rank,
    why_found,
)
from memory.records import EntryScore, Scope, Source

ANN = Scope(person="console:ann", audience="dm")


def entry(record_id: int, text_score: float = 0.0, similarity: float | None = None, chunk: int = 0) -> EntryScore:
    return EntryScore(
        entry_id=record_id * 10 + chunk,
        scope=ANN,
        source=Source.RECALL,
        record_id=record_id,
        text_score=text_score,
        similarity=similarity,
    )


scores = st.floats(0, 50)
cosines = st.none() | st.floats(-1, 1)
entries = st.lists(st.builds(entry, st.integers(1, 9), scores, cosines), max_size=20)


def test_the_score_is_the_share_of_the_best_text_match_plus_twice_the_cosine() -> None:
    ranked = rank([entry(1, 4.0, 0.1), entry(2, 8.0, 0.4)])
    assert [(one.entry.record_id, one.score) for one in ranked] == [
        (2, pytest.approx((1.0 + 0.8) / 3)),
        (1, pytest.approx((0.5 + 0.2) / 3)),
    ]


def test_an_entry_found_by_one_index_alone_counts_nothing_for_the_other() -> None:
    ranked = rank([entry(1, 4.0, None), entry(2, 0.0, 0.6)])
    assert {one.entry.record_id: one.score for one in ranked} == {
        1: pytest.approx(1 / 3),
        2: pytest.approx(0.4),
    }


def test_a_record_in_several_pieces_is_ranked_by_its_best_piece() -> None:
    ranked = rank([entry(1, 2.0, 0.1, chunk=0), entry(1, 6.0, 0.7, chunk=1), entry(2, 6.0, 0.2)])
    assert [(one.entry.record_id, one.entry.entry_id) for one in ranked] == [(1, 11), (2, 20)]


def test_of_equal_records_the_newer_comes_first() -> None:
    assert [one.entry.record_id for one in rank([entry(1, 3.0, 0.5), entry(2, 3.0, 0.5)])] == [2, 1]


@given(entries)
def test_scores_lie_between_0_and_1_in_falling_order(found: list[EntryScore]) -> None:
    ranked = rank(found)
    assert all(0.0 <= one.score <= 1.0 for one in ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert {one.entry.record_id for one in ranked} == {one.record_id for one in found}
    assert len(ranked) == len({one.record_id for one in found})


@pytest.mark.parametrize(
    ("found", "relevant"),
    [
        (entry(1, 0.0, 0.31), True),
        (entry(1, 0.0, 0.29), False),
        (entry(1, 9.0, 0.12), True),
        (entry(1, 9.0, 0.05), False),
        (entry(1, 4.0, 0.12), False),
        (entry(1, 9.0, None), True),
        (entry(1, 4.0, None), False),
    ],
)
def test_an_entry_is_relevant_by_meaning_or_by_a_strong_match_of_words(found: EntryScore, relevant: bool) -> None:
    ranked = {one.entry.record_id: one for one in rank([found, entry(2, 9.0, 0.9)])}
    assert is_relevant(ranked[1]) is relevant


@pytest.mark.parametrize(
    "query",
    [
        "2+2?",
        "17 * 23 = ?",
        "hi",
        "Hello there!",
        "hey, how are you?",
        "what's up",
        "thank you so much",
        "ok",
        "👍",
        "",
    ],
)
def test_a_query_that_asks_for_nothing_brings_nothing(query: str) -> None:
    assert not has_content(query)
    assert above_floor(rank([entry(1, 9.0, 0.9)]), query) == []


@pytest.mark.parametrize(
    "query",
    ["where do I live?", "hi, what is my cat called?", "order 4471", "who am I?", "猫", "привет, где мой кот"],
)
def test_a_query_that_asks_for_something_is_answered(query: str) -> None:
    ranked = rank([entry(1, 9.0, 0.9), entry(2, 0.1, 0.0)])
    assert [one.entry.record_id for one in above_floor(ranked, query)] == [1]


def test_the_reason_says_which_index_found_it() -> None:
    words, meaning, both, neither = (
        why_found(rank([found])[0])
        for found in (entry(1, 3.0), entry(1, 0.0, 0.62), entry(1, 3.0, 0.62), entry(1, 0.0, 0.1))
    )
    assert words == "words in common"
    assert meaning == "similar meaning (0.62)"
    assert both == "words in common and similar meaning (0.62)"
    assert neither == "the nearest there is"


def archival(**changes: float) -> float:
    values = {"similarity": 0.8, "importance": 0.5, "days_since_access": 0.0, "recency_weight": 0.1, **changes}
    return archival_score(access_count=int(values.pop("access_count", 0)), **values)


def test_a_fresh_passage_of_middling_importance_keeps_three_quarters_of_its_similarity() -> None:
    assert archival() == pytest.approx(0.6)


def test_age_takes_at_most_three_tenths() -> None:
    assert archival(days_since_access=10_000) == pytest.approx(0.42)
    assert archival(days_since_access=10_000, recency_weight=0.0) == pytest.approx(0.6)
    assert archival(days_since_access=-5) == pytest.approx(0.6)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1000), st.integers(0, 10_000))
def test_more_of_anything_good_never_ranks_lower(
    similarity: float, importance: float, days: float, accesses: int
) -> None:
    def score(**better: float) -> float:
        values = {"similarity": similarity, "importance": importance, "days_since_access": days}
        return archival(**{**values, "access_count": accesses, **better})

    assert score() <= score(importance=1.0)
    assert score() <= score(similarity=1.0)
    assert score() <= score(days_since_access=0.0)
    assert score() <= score(access_count=accesses + 1) <= score(access_count=0) * 1.2 + 1e-12
