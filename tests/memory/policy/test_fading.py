"""How documents fade, by either rule."""

from __future__ import annotations

import math

import pytest

from memory.parameters import Fading
from memory.policy.fading import Worth, faded_score, first_accesses, is_let_go, strength

OLD = Worth(importance=0.29, idle_days=91, accesses=2)


def test_the_rank_of_the_rule_of_reuse_has_the_stated_value() -> None:
    fresh = Worth(importance=0.5, idle_days=0, accesses=0)
    assert faded_score(Fading.REUSE, 0.8, fresh) == pytest.approx(0.6)


def test_use_lifts_a_document_by_a_bounded_share() -> None:
    scores = [faded_score(Fading.REUSE, 0.8, Worth(importance=0.5, idle_days=0, accesses=n)) for n in (0, 1, 10, 10**6)]
    assert scores == sorted(scores)
    assert scores[-1] < 1.2 * scores[0] + 1e-9


def test_by_the_rule_of_reuse_only_what_is_old_and_unimportant_and_hardly_read_is_let_go() -> None:
    assert is_let_go(Fading.REUSE, OLD)
    for kept in (
        Worth(importance=0.29, idle_days=90, accesses=2),
        Worth(importance=0.30, idle_days=91, accesses=2),
        Worth(importance=0.29, idle_days=91, accesses=3),
    ):
        assert not is_let_go(Fading.REUSE, kept)


def test_by_the_steady_rule_everything_fades_at_one_rate() -> None:
    week = Worth(importance=0.5, idle_days=7, accesses=1)
    assert strength(week) == pytest.approx(0.5 * math.exp(-0.7))
    assert faded_score(Fading.STEADY, 0.8, week) == pytest.approx(0.4 * math.exp(-0.7))
    assert not is_let_go(Fading.STEADY, Worth(importance=1.0, idle_days=23, accesses=0))
    assert is_let_go(Fading.STEADY, Worth(importance=1.0, idle_days=23.1, accesses=99))


def test_a_stored_document_counts_as_read_once_by_the_steady_rule_alone() -> None:
    assert (first_accesses(Fading.STEADY), first_accesses(Fading.REUSE)) == (1, 0)
