"""Ids rise, whatever the clock does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memory.ids import IdSource
from tests.fakes import FakeClock


@given(st.lists(st.integers(-10_000, 10_000), max_size=200))
def test_ids_rise_though_the_clock_stands_still_or_goes_back(steps: list[int]) -> None:
    clock = FakeClock()
    ids = IdSource(clock)
    drawn = []
    for milliseconds in steps:
        clock.advance(milliseconds=milliseconds)
        drawn.append(ids.next())
    assert all(earlier < later for earlier, later in pairwise(drawn))


def test_an_id_fits_into_63_bits_for_decades() -> None:
    assert 0 < IdSource(FakeClock(datetime(2090, 1, 1, tzinfo=UTC))).next() < 2**63


def test_a_clock_before_the_epoch_still_gives_ids() -> None:
    ids = IdSource(FakeClock(datetime(1996, 1, 1, tzinfo=UTC)))
    assert 0 < ids.next() < ids.next()


def test_two_sources_hardly_ever_draw_the_same_id() -> None:
    clock = FakeClock()
    one, other = IdSource(clock), IdSource(clock)
    drawn = set()
    for _ in range(200):
        drawn |= {one.next(), other.next()}
        clock.time += timedelta(milliseconds=1)
    assert len(drawn) == 400
