"""How full the tiers are, and how their sizes went over the last week.

Invariant: a size is told beside its limit; a day without a consolidation has no average, rather than one of 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from statistics import fmean

from memory.records import ConsolidationReport

_DAYS = 7
_STEPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """How full something is.

    Attributes:
        size, limit: in bytes, or in whatever it is counted by.
    """

    name: str
    size: int
    limit: int

    @property
    def percent(self) -> float:
        """The share that is taken."""
        return round(100 * self.size / self.limit, 1)

    @property
    def bar(self) -> str:
        """The same in ten steps, of which each begun one counts."""
        steps = min(_STEPS, -(-_STEPS * self.size // self.limit))
        return "#" * steps + "." * (_STEPS - steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How a size went.

    Attributes:
        days: its average on each day on which it was measured, oldest first.
        change: from the first of these days to the last.
    """

    days: dict[date, float]
    change: float


def trends(reports: Iterable[ConsolidationReport], *, now: datetime, zone: tzinfo) -> dict[str, Trend]:
    """How the sizes of hot state, tree and recent entries went over the last seven days, today included.

    Args:
        reports: of consolidations, each with the sizes after it.
        now: the present moment.
        zone: in which days begin.
    """
    today = now.astimezone(zone).date()
    sizes: dict[str, defaultdict[date, list[int]]] = {
        name: defaultdict(list) for name in ("hot_size_bytes", "tree_size_bytes", "warm_entries", "warm_bytes")
    }
    for report in sorted(reports, key=lambda report: report.at):
        day = report.at.astimezone(zone).date()
        if today - timedelta(days=_DAYS) < day <= today:
            for name, of_day in sizes.items():
                of_day[day].append(getattr(report, name))
    return {name: _trend(of_day) for name, of_day in sizes.items()}


def _trend(of_day: dict[date, list[int]]) -> Trend:
    days = {day: round(fmean(sizes), 1) for day, sizes in of_day.items()}
    averages = list(days.values())
    return Trend(days=days, change=round(averages[-1] - averages[0], 1) if averages else 0.0)
