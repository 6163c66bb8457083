"""What words are worth."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.indexes.term_scores import Term, best, by_length, rarity


def term(*entries: int, weight: float = 1.0) -> Term:
    return Term(entries=np.array(entries, dtype=np.int64), weight=weight)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_word_is_worth_something_and_the_more_the_rarer_it_is(holders: int, total: int) -> None:
    assert 0 < rarity(holders + 1, total) <= rarity(holders, total)


def test_the_words_of_an_entry_add_up_and_the_newest_of_equals_comes_first() -> None:
    assert best([term(1, 2, 3), term(2, 9, weight=2.0)], [], 3) == {2: 3.0, 9: 2.0, 3: 1.0}


def test_a_common_word_makes_no_candidate_but_adds_to_one() -> None:
    assert best([term(1, 2)], [term(2, 3, weight=0.5)], 9) == {2: 1.5, 1: 1.0}


def test_a_word_says_more_of_a_short_text_and_an_unknown_length_leaves_an_entry_out() -> None:
    scores = by_length({1: 1.0, 2: 1.0, 3: 1.0}, {1: 300, 2: 30})
    assert scores.keys() == {1, 2}
    assert scores[2] > 1.0 > scores[1] > 0
    assert by_length({1: 1.0}, {}) == {}
