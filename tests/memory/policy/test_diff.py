"""A change is shown line by line, and taken back without what came after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.diff import diff_lines, reverse_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=6).map("\n".join)


@given(before=LINES, after=LINES)
def test_taking_a_change_back_from_what_it_made_gives_the_text_before(before: str, after: str) -> None:
    assert reverse_lines(after, before, after) == before


@given(before=LINES, after=LINES, later=st.lists(st.sampled_from(["x", "y"]), max_size=3))
def test_lines_added_later_stay_and_the_others_are_as_before(before: str, after: str, later: list[str]) -> None:
    current = "\n".join([*after.splitlines(), *later])
    left = reverse_lines(current, before, after).splitlines()
    assert [line for line in left if line in ("x", "y")] == later
    assert sorted(line for line in left if line not in ("x", "y")) == sorted(before.splitlines())


@pytest.mark.parametrize(
    ("current", "before", "after", "left"),
    [
        ("Likes tea.\nHas a cat.\nPlays chess.", "Likes tea.", "Likes tea.\nHas a cat.", "Likes tea.\nPlays chess."),
        ("Lives in Rome.\nHas a cat.", "Lives in Oslo.", "Lives in Rome.", "Lives in Oslo.\nHas a cat."),
        ("Lives in Bergen.", "", "Lives in Rome.", "Lives in Bergen."),  # changed since: not ours any more
        ("b\nx", "a\nb", "b", "a\nb\nx"),
        ("x", "a\nb", "a", "x\nb"),
        ("a\nb", "a\nb", "a", "a\nb"),  # somebody wrote it again
    ],
)
def test_what_others_wrote_meanwhile_stays(current: str, before: str, after: str, left: str) -> None:
    assert reverse_lines(current, before, after) == left


def test_a_long_line_is_shown_sentence_by_sentence() -> None:
    assert diff_lines("Likes tea. Has a cat.", "Likes tea. Has a dog.") == [
        "  Likes tea.",
        "- Has a cat.",
        "+ Has a dog.",
    ]
    assert diff_lines("same", "same") == ["  same"]
