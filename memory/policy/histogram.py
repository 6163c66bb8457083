"""Counts of durations by size, as monitoring systems read them.

Invariant: the count of a bound holds every duration up to that bound, so that counts rise with the bounds.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds, in seconds, both as Prometheus' default buckets and wide enough for a search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Durations seen so far.

    Attributes:
        counts: by bound of ``BOUNDS``: durations of at most that many seconds.
        total: all durations, the longer ones too.
        seconds: their sum.
    """

    counts: tuple[int, ...] = (0,) * len(BOUNDS)
    total: int = 0
    seconds: float = 0.0

    def with_duration(self, seconds: float) -> Histogram:
        """The same with one duration more, in seconds."""
        first = bisect_left(BOUNDS, seconds)  # the smallest bound that holds it, and so does every larger one
        counts = (*self.counts[:first], *(count + 1 for count in self.counts[first:]))
        return Histogram(counts=counts, total=self.total + 1, seconds=self.seconds + seconds)
