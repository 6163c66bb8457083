"""What a note lacks to be of use later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.completeness import completeness_of


@pytest.mark.parametrize(
    ("line", "warning", "remedy"),
    [
        ("- Using Redis for the cache", "a tool without a link nearby", "https://redis.example"),
        ("A new library for dates", "a tool without a link nearby", "See http://dates.example/docs"),
        ("- Deployed to the server", "without an example of the command", "`make deploy`"),
        ("- Ran the tests", "without an example of the command", "$ make test"),
        ("We decided on blue", "a decision without a next step", "- [ ] paint the door"),
        ("We chose the ferry", "a decision without a next step", "Next: book it"),
    ],
)
def test_what_is_missing_is_told_with_its_line_until_it_is_there(line: str, warning: str, remedy: str) -> None:
    [told] = completeness_of(f"# Today\n\n{line}").warnings
    assert told.startswith("Line 3: ")
    assert warning in told
    assert told.endswith(line)
    for place in ("{line}\n{remedy}", "{remedy}\n{line}", "{line}\n\n{remedy}"):
        assert completeness_of(place.format(line=line, remedy=remedy)).warnings == ()
    far = completeness_of(f"{line}\n\n\n{remedy}")
    assert len(far.warnings) == 1


def test_each_kind_of_warning_has_one_suggestion() -> None:
    found = completeness_of("Using Redis\n\n\n\nUsing Kafka\n\n\n\nWe decided on blue")
    assert len(found.warnings) == 3
    assert len(found.suggestions) == 2


def test_code_in_fences_is_an_example_of_which_nothing_is_asked() -> None:
    assert completeness_of("Installed it:\n```\nsetup the library\nwe decided\n```").warnings == ()


def test_a_plain_note_lacks_nothing() -> None:
    found = completeness_of("# Decided things about the API\n\nWe had tea. It rained, so we stayed.")
    assert (found.warnings, found.suggestions) == ((), ())


@given(st.text())
def test_any_text_can_be_checked(text: str) -> None:
    found = completeness_of(text)
    assert bool(found.warnings) == bool(found.suggestions)
