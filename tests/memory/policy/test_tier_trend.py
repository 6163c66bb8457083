"""How full the tiers are, and how that went."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memory.policy.tier_trend import Fill, trends
from memory.records import ConsolidationReport, Mode, Scope

NOW = datetime(2026, 3, 9, 23, 30, tzinfo=UTC)
ANN = Scope(person="console:ann", audience="dm")


@pytest.mark.parametrize(
    ("size", "percent", "bar"),
    [
        (0, 0.0, ".........."),
        (1, 0.0, "#........."),
        (512, 10.0, "#........."),
        (513, 10.0, "##........"),
        (5_120, 100.0, "##########"),
        (9_000, 175.8, "##########"),
    ],
)
def test_a_size_is_told_beside_its_limit_in_ten_steps(size: int, percent: float, bar: str) -> None:
    fill = Fill(name="hot", size=size, limit=5_120)
    assert (fill.percent, fill.bar) == (percent, bar)


def report(number: int, before: timedelta, size: int) -> ConsolidationReport:
    return ConsolidationReport(id=number, mode=Mode.QUICK, scope=ANN, at=NOW - before, warm_bytes=size)


def test_a_trend_is_of_the_days_of_the_last_week_on_which_something_was_measured() -> None:
    reports = [
        report(5, timedelta(), 400),
        report(4, timedelta(hours=2), 200),
        report(3, timedelta(days=3), 150),
        report(2, timedelta(days=6), 100),
        report(1, timedelta(days=7), 9_000),
    ]
    found = trends(reports, now=NOW, zone=UTC)["warm_bytes"]
    assert found.days == {date(2026, 3, 3): 100.0, date(2026, 3, 6): 150.0, date(2026, 3, 9): 300.0}
    assert found.change == 200.0
    in_oslo = trends(reports, now=NOW, zone=ZoneInfo("Europe/Oslo"))["warm_bytes"]
    assert list(in_oslo.days) == [date(2026, 3, 4), date(2026, 3, 7), date(2026, 3, 9), date(2026, 3, 10)]


def test_without_a_consolidation_there_is_no_trend() -> None:
    assert trends([], now=NOW, zone=UTC)["hot_size_bytes"].days == {}
    assert trends([], now=NOW, zone=UTC)["hot_size_bytes"].change == 0.0
