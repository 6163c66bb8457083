"""Words for the time of a reminder, in the person's time zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.reminder_times import moment_of, moments_in

OSLO = ZoneInfo("Europe/Oslo")
NOW = datetime(2026, 3, 2, 10, 0, tzinfo=OSLO)  # a Monday


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("in 10 minutes", "2026-03-02T10:10"),
        ("in 120 seconds", "2026-03-02T10:02"),
        ("in half an hour", "2026-03-02T10:30"),
        ("in an hour and a half", "2026-03-02T11:30"),
        ("2 hours from now", "2026-03-02T12:00"),
        ("in 3 days", "2026-03-05T09:00"),
        ("in two weeks at 8:15", "2026-03-16T08:15"),
        ("in a month", "2026-04-02T09:00"),
        ("tomorrow", "2026-03-03T09:00"),
        ("tomorrow at 9", "2026-03-03T09:00"),
        ("tomorrow at 9.", "2026-03-03T09:00"),
        ("Tomorrow, at 5 pm", "2026-03-03T17:00"),
        ("at 5:30 p.m. tomorrow", "2026-03-03T17:30"),
        ("tomorrow evening", "2026-03-03T19:00"),
        ("tomorrow in the morning", "2026-03-03T09:00"),
        ("the day after tomorrow at noon", "2026-03-04T12:00"),
        ("today at 18:00", "2026-03-02T18:00"),
        ("tonight", "2026-03-02T20:00"),
        ("at 12 am", "2026-03-03T00:00"),
        ("at 9", "2026-03-03T09:00"),
        ("at 11", "2026-03-02T11:00"),
        ("on Friday", "2026-03-06T09:00"),
        ("friday at 4pm", "2026-03-06T16:00"),
        ("next Monday at 08:00", "2026-03-09T08:00"),
        ("next week", "2026-03-09T09:00"),
        ("on 8 May at 15:00", "2026-05-08T15:00"),
        ("May 8th, 2027", "2027-05-08T09:00"),
        ("on the 1st of March", "2027-03-01T09:00"),
        ("2026-03-05", "2026-03-05T09:00"),
        ("2026-03-05 14:30", "2026-03-05T14:30"),
        ("2026-03-05T14:30:00Z", "2026-03-05T15:30"),
        ("2026-03-05T14:30-05:00", "2026-03-05T20:30"),
    ],
)
def test_the_moment_is_the_one_that_is_meant(said: str, expected: str) -> None:
    moment = moment_of(said, NOW)
    assert moment is not None
    assert moment.astimezone(OSLO).isoformat()[:16] == expected


@pytest.mark.parametrize("said", ["", "soon", "on 31 February", "at 25:00", "at 9 and at 11", "at 9.30"])
def test_what_names_no_one_moment_names_none(said: str) -> None:
    assert moment_of(said, NOW) is None


def test_hours_pass_as_they_do_when_the_clocks_change_and_days_keep_their_time() -> None:
    before = datetime(2026, 3, 28, 12, 0, tzinfo=OSLO)  # the clocks go forward that night
    in_a_day, tomorrow = moment_of("in 24 hours", before), moment_of("tomorrow at 12:00", before)
    assert in_a_day is not None
    assert tomorrow is not None
    assert (in_a_day.hour, tomorrow.hour) == (13, 12)


def test_the_words_of_a_time_are_found_where_they_stand() -> None:
    text = "remind me to water the plants tomorrow at 9, not on Friday"
    assert [text[found.start : found.end] for found in moments_in(text, NOW)] == ["tomorrow at 9", "on Friday"]


@given(st.text(st.sampled_from("aintmorw ehuy0129:-,f"), max_size=40) | st.text(max_size=40))
def test_no_text_raises(text: str) -> None:
    for found in moments_in(text, NOW):
        assert found.moment.tzinfo is not None
        assert 0 <= found.start < found.end <= len(text)
    moment_of(text, NOW)
