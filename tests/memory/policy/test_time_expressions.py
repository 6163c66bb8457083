"""Which days a question asks about."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.time_expressions import Anchor, anchors_in, asks_of_last_time, bounded, names_only_a_time, periods_in

OSLO = ZoneInfo("Europe/Oslo")
NOW = datetime(2026, 3, 11, 0, 30, tzinfo=OSLO)  # a Wednesday; in UTC it is still Tuesday


def days(text: str, now: datetime = NOW) -> list[tuple[str, int]]:
    """Of each time named in the text, its first day, and how many days it has."""
    periods = periods_in(text, now)
    return [(one.start.date().isoformat(), (one.end.date() - one.start.date()).days) for one in periods]


@pytest.mark.parametrize(
    ("text", "first", "length"),
    [
        ("What did Ann do on 8 May 2023?", "2023-05-08", 1),
        ("on the 8th of May, 2023", "2023-05-08", 1),
        ("May 8, 2023", "2023-05-08", 1),
        ("on 2023-05-08", "2023-05-08", 1),
        ("on Dec. 24", "2025-12-24", 1),
        ("on 1 March", "2026-03-01", 1),
        ("on 12 March", "2025-03-12", 1),
        ("in May 2023", "2023-05-01", 31),
        ("in february", "2026-02-01", 28),
        ("last April", "2025-04-01", 30),
        ("in 2024", "2024-01-01", 366),
        ("What did I say yesterday?", "2026-03-10", 1),
        ("the day before yesterday", "2026-03-09", 1),
        ("today", "2026-03-11", 1),
        ("three days ago", "2026-03-08", 1),
        ("2 weeks ago", "2026-02-22", 7),
        ("a month ago", "2026-02-01", 28),
        ("four months ago", "2025-11-01", 30),
        ("a couple of years ago", "2024-01-01", 366),
        ("last week", "2026-03-02", 7),
        ("this week", "2026-03-09", 7),
        ("last weekend", "2026-03-07", 2),
        ("last month", "2026-02-01", 28),
        ("last year", "2025-01-01", 365),
        ("on Monday", "2026-03-09", 1),
        ("on Wednesday", "2026-03-11", 1),
        ("last Wednesday", "2026-03-04", 1),
        ("last thursday", "2026-03-05", 1),
    ],
)
def test_a_time_is_read_as_the_latest_one_that_has_begun(text: str, first: str, length: int) -> None:
    assert days(text) == [(first, length)]


@pytest.mark.parametrize(
    "text",
    ["What may I eat?", "we march on", "on 31 February 2024", "room 2023b", "a mayor of 12", "999999 weeks ago", ""],
)
def test_what_names_no_time_gives_none(text: str) -> None:
    assert days(text) == []


def test_several_times_are_all_read() -> None:
    assert sorted(days("between 8 May 2023 and June 2023, or yesterday")) == [
        ("2023-05-08", 1),
        ("2023-06-01", 30),
        ("2026-03-10", 1),
    ]


def test_a_day_begins_in_the_persons_zone() -> None:
    [yesterday] = periods_in("yesterday", NOW)
    assert datetime(2026, 3, 10, 0, 0, tzinfo=OSLO) in yesterday
    assert datetime(2026, 3, 10, 23, 59, tzinfo=OSLO) in yesterday
    assert NOW not in yesterday
    assert yesterday.start.utcoffset() == timedelta(hours=1)


_TIMES = st.from_regex(r"(on|in|last)? ?[0-9]{0,4} ?(may|june|week|years ago|monday)", fullmatch=True)


@given(st.text(max_size=60) | _TIMES, st.dates(date(1971, 1, 1), date(2099, 1, 1)))
def test_no_text_raises_and_every_period_ends_after_it_begins(text: str, today: date) -> None:
    now = datetime(today.year, today.month, today.day, 12, tzinfo=OSLO)
    assert all(one.start < one.end for one in periods_in(text, now))


_WORDS = (
    "what did i do in on of the last this past previous time we talked our conversation chat may mar. march sept june "
    "8th 12 2023 2024-02-30 a couple three days weeks months ago the day before yesterday tonight night today weekend "
    "year monday sunday , ? at market mayor"
)


@given(st.lists(st.sampled_from(_WORDS.split()), max_size=8).map(" ".join))
def test_a_text_names_the_same_times_whatever_else_is_named_behind_it(text: str) -> None:
    assert [*days(text), ("1999-05-08", 1)] == sorted(
        [*days(f"{text} ; 1999-05-08")], key=lambda one: one[0] == "1999-05-08"
    )


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("What did I buy before the trip to Oslo?", [Anchor(event="the trip to Oslo", before=True)]),
        ("Where was I after the wedding, and with whom?", [Anchor(event="the wedding", before=False)]),
        ("what have I read since I moved to Rome", [Anchor(event="I moved to Rome", before=False)]),
        ("Who called until the exam?", [Anchor(event="the exam", before=True)]),
        ("After the storm I slept well.", []),
        ("What did I do before May 2023?", []),
        ("What happened after that?", []),
        ("", []),
    ],
)
def test_a_question_may_tell_a_time_by_what_happened_then(text: str, anchors: list[Anchor]) -> None:
    assert list(anchors_in(text)) == anchors


def test_the_day_of_what_happened_bounds_the_time_in_the_zone_of_its_moment() -> None:
    at = datetime(2026, 2, 1, 23, 30, tzinfo=ZoneInfo("Europe/Oslo"))
    before, after = (bounded(Anchor(event="the trip", before=earlier), at) for earlier in (True, False))
    assert at in before
    assert at in after
    assert at - timedelta(days=1) in before
    assert at - timedelta(days=1) not in after
    assert at + timedelta(hours=1) in after
    assert at + timedelta(hours=1) not in before


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("What did I do last Monday?", True),
        ("What did we talk about on 8 May 2023?", True),
        ("What's happened since yesterday?", True),
        ("What did we talk about last time?", True),
        ("And what did I say in our last conversation", True),
        ("What did you tell me when we last spoke?", True),
        ("What did I buy last time we met?", False),
        ("What did I buy last Monday?", False),
        ("What did I do?", False),
        ("", False),
    ],
)
def test_a_question_may_name_nothing_but_a_time(text: str, only: bool) -> None:
    assert names_only_a_time(text) is only


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("What did we decide the last time we talked?", True),
        ("What was our previous conversation about?", True),
        ("When was the last time I went to Rome?", False),
        ("Is it the last day of school?", False),
        ("yesterday", False),
    ],
)
def test_a_text_may_name_the_time_of_the_last_conversation(text: str, asks: bool) -> None:
    assert asks_of_last_time(text) is asks
    assert bool(periods_in(text, NOW)) is (text == "yesterday")
