"""What words are worth."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.indexes.term_scores import Scored, Term, best, by_length, rarity


def term(*entries: int, weight: float = 1.0) -> Term:
    return Term(entries=np.array(entries, dtype=np.int64), weight=weight)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_word_is_worth_something_and_the_more_the_rarer_it_is(holders: int, total: int) -> None:
    assert 0 < rarity(holders + 1, total) <= rarity(holders, total)


def in_order(found: Scored) -> list[tuple[int, float]]:
    return list(zip(found.ids.tolist(), found.scores.tolist(), strict=True))


def test_the_words_of_an_entry_add_up_and_the_newest_of_equals_comes_first() -> None:
    both = [term(1, 2, 3), term(2, 9, weight=2.0)]
    assert in_order(best(both, [], 3)) == [(2, 3.0), (9, 2.0), (3, 1.0)]


def test_a_common_word_makes_no_candidate_but_adds_to_one() -> None:
    assert in_order(best([term(1, 2)], [term(2, 3, weight=0.5)], 9)) == [(2, 1.5), (1, 1.0)]


def test_a_word_says_more_of_a_short_text_and_an_entry_that_is_gone_is_left_out() -> None:
    equals = Scored(ids=np.array([1, 2, 3, 4]), scores=np.ones(4))
    [(first, high), (last, low)] = in_order(by_length(equals, np.array([300, 30, -1, -1]), 9))
    assert (first, last) == (2, 1)
    assert high > 1.0 > low > 0
    alike = by_length(equals, np.full(4, 30), 2)
    assert in_order(alike) == [(4, 1.0), (3, 1.0)]
    assert in_order(by_length(equals, np.full(4, -1), 9)) == []
