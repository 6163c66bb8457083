"""The worth of an entry by age, importance and use."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.policy.decay import frozen_at, score, score_at
from memory.policy.tiers import WARM_FROM
from tests.fakes import START


@pytest.mark.parametrize(
    ("importance", "days", "accesses", "worth"),
    [(0.8, 10.13, 3, 0.742), (1.0, 30, 0, 0.368), (1.0, -5, 0, 1.0), (0.5, 0, 10, 1.0)],
)
def test_the_score_follows_the_formula(importance: float, days: float, accesses: int, worth: float) -> None:
    assert score(importance, days, accesses) == pytest.approx(worth, abs=5e-4)


def test_something_important_and_unused_leaves_the_warm_tier_after_a_month() -> None:
    assert score(0.8, 29.4, 0) >= WARM_FROM > score(0.8, 29.5, 0)


@pytest.mark.parametrize("importance", [0.0, 0.04, 0.3, 1.0])
def test_it_is_frozen_when_the_score_falls_under_its_limit(importance: float) -> None:
    moment = frozen_at(importance=importance, created_at=START, access_count=0)
    hour = timedelta(hours=1)
    after = score_at(moment + hour, importance=importance, created_at=START, access_count=0)
    assert after < 0.05
    if importance > 0.05:
        assert score_at(moment - hour, importance=importance, created_at=START, access_count=0) > 0.05
