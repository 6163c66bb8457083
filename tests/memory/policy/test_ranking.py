"""Scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.ranking import (
    Excerpt,
    Setting,
    archival_score,
    rank,
    rerank,
    why_found,
)
from memory.policy.time_expressions import Period
from memory.ports import Vectors
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


def excerpt(
    record_id: int,
    matches: Sequence[float] | None,
    *,
    before: int | None = None,
    after: int | None = None,
    text_share: float = 0.0,
    text: str = "",
    similarity: float | None = None,
) -> Excerpt:
    return Excerpt(
        entry=entry(record_id, 0.0, similarity),
        text_share=text_share,
        text=text,
        matches=None if matches is None else np.array(matches, dtype=np.float32),
        before=None if before is None else before * 10,
        after=None if after is None else after * 10,
    )


def setting(group: int = 1, author: str = "Ann", day: int = 1) -> Setting:
    return Setting(group=group, author=author, at=datetime(2026, 3, day, 12, tzinfo=UTC))


def reranked(
    *excerpts: Excerpt,
    settings: Mapping[int, Setting] | None = None,
    query: str = "?",
    periods: Sequence[Period] = (),
) -> list[int]:
    if settings is None:
        settings = {one.entry.record_id: setting(group=one.entry.record_id) for one in excerpts}
    return [one.entry.record_id for one in rerank(excerpts, settings, query, tokens=tokens(excerpts), periods=periods)]


def tokens(excerpts: Sequence[Excerpt]) -> Vectors:
    """A query of as many tokens as were matched, all of one weight."""
    count = max((len(one.matches) for one in excerpts if one.matches is not None), default=0)
    return np.eye(count, 64, dtype=np.float32) / max(1, count)


def test_a_closer_look_counts_the_best_match_of_each_token() -> None:
    assert reranked(excerpt(1, [0.1, 0.4]), excerpt(2, [0.3, 0.3])) == [2, 1]


def test_what_was_said_beside_it_answers_for_a_turn_that_says_too_little() -> None:
    question, answer, other = (
        excerpt(1, [0.4, 0.0], after=2),
        excerpt(2, [0.0, 0.4], before=1),
        excerpt(3, [0.3, 0.3]),
    )
    one_talk = {1: setting(), 2: setting(), 3: setting(group=2)}
    assert reranked(question, answer, other, settings=one_talk)[:2] == [2, 1]
    two_talks = {1: setting(group=3), 2: setting(group=1), 3: setting(group=2)}
    assert reranked(question, answer, other, settings=two_talks)[0] == 3


def test_what_was_said_two_turns_away_answers_as_well() -> None:
    turns = (
        excerpt(1, [0.4, 0.0], after=2),
        excerpt(2, [0.0, 0.0], before=1, after=3),
        excerpt(3, [0.0, 0.4], before=2),
        excerpt(4, [0.4, 0.0]),
    )
    settings = {1: setting(), 2: setting(), 3: setting(), 4: setting(group=2)}
    assert reranked(*turns, settings=settings) == [3, 1, 2, 4]


def test_a_token_that_every_text_answers_tells_none_from_the_others() -> None:
    usual = [excerpt(number, [0.5, 0.1]) for number in range(3, 40)]
    assert reranked(excerpt(1, [0.5, 0.1]), excerpt(2, [0.2, 0.35]), *usual)[0] == 2
    assert reranked(excerpt(1, [0.5, 0.1]), excerpt(2, [0.2, 0.35])) == [1, 2]


def test_a_statement_comes_before_a_question_that_is_as_much_alike() -> None:
    assert reranked(excerpt(1, [0.5], text="I like tea."), excerpt(2, [0.5], text="Do you like tea?")) == [1, 2]


def test_what_says_a_time_comes_first_where_a_time_is_asked_for() -> None:
    alike = excerpt(1, [0.5], text="We met last May."), excerpt(2, [0.5], text="We met in Rome.")
    assert reranked(*alike, query="When did you meet?") == [1, 2]
    assert reranked(*alike, query="Where did you meet?") == [2, 1]


def test_a_turn_of_the_speaker_who_is_named_comes_first() -> None:
    settings = {1: setting(group=1, author="Ann"), 2: setting(group=2, author="Bob Lee")}
    alike = excerpt(1, [0.5]), excerpt(2, [0.5])
    assert reranked(*alike, settings=settings, query="What did Ann say?") == [1, 2]
    assert reranked(*alike, settings=settings, query="what did bob say?") == [2, 1]


def test_a_turn_of_the_day_that_is_asked_about_comes_first() -> None:
    settings = {1: setting(group=1, day=1), 2: setting(group=2, day=2)}
    first = Period(start=datetime(2026, 3, 1, tzinfo=UTC), end=datetime(2026, 3, 2, tzinfo=UTC))
    alike = excerpt(1, [0.5]), excerpt(2, [0.5])
    assert reranked(*alike, settings=settings, periods=[first]) == [1, 2]
    assert reranked(*alike, settings=settings) == [2, 1]


def test_a_turn_of_a_talk_about_the_subject_comes_before_one_alone() -> None:
    settings = {1: setting(group=1), 2: setting(group=1), 3: setting(group=1), 4: setting(group=2)}
    assert reranked(*(excerpt(number, [0.5]) for number in (1, 2, 3, 4)), settings=settings)[-1] == 4


def test_what_is_not_embedded_yet_is_placed_by_its_words() -> None:
    assert reranked(excerpt(1, None, text_share=1.0), excerpt(2, [0.1]), excerpt(3, None)) == [1, 2, 3]


def test_an_excerpt_of_an_unknown_record_is_left_out() -> None:
    assert reranked(excerpt(1, [0.9]), excerpt(2, [0.1]), settings={2: setting()}) == [2]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3), st.floats(-1, 1)), max_size=12))
def test_a_closer_look_keeps_scores_between_0_and_1_in_falling_order(found: list[tuple[int, int, float]]) -> None:
    excerpts = [excerpt(record_id, [match], after=record_id % 9 + 1) for record_id, _, match in found]
    settings = {record_id: setting(group=group) for record_id, group, _ in found}
    ranked = rerank(excerpts, settings, "Ann?", tokens=tokens(excerpts))
    assert all(0.0 <= one.score <= 1.0 for one in ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert {one.entry.record_id for one in ranked} == settings.keys()
