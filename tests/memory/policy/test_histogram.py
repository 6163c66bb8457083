"""A duration counts under every bound that holds it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.policy.histogram import BOUNDS, Histogram


@given(st.lists(st.sampled_from(BOUNDS) | st.floats(0, 10), max_size=20))
def test_a_bound_counts_all_durations_up_to_it_and_the_longest_only_in_the_total(durations: list[float]) -> None:
    histogram = Histogram()
    for seconds in durations:
        histogram = histogram.with_duration(seconds)
    assert histogram.counts == tuple(sum(seconds <= bound for seconds in durations) for bound in BOUNDS)
    assert (histogram.total, histogram.seconds) == (len(durations), sum(durations))
