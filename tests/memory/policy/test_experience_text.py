"""Procedures as people edit them."""

from __future__ import annotations

import pytest

from memory.errors import InvalidInput
from memory.policy.experience_text import checked, editable, how_to_from, same_name
from memory.records import Difficulty, Example, HowTo

REPORT = HowTo(
    name="Weekly report",
    description="For Mondays.",
    steps=("Begin with numbers.", "End with risks."),
    examples=(Example(input="Report?", output="12 sold."),),
    triggers=("weekly report",),
    difficulty=Difficulty.HARD,
)


def test_what_is_shown_for_editing_is_read_back_as_it_was() -> None:
    assert how_to_from(editable(REPORT), present=REPORT) == REPORT


def test_only_what_is_named_changes() -> None:
    edited = how_to_from("1. First; 2) Second; triggers: Report, news", present=REPORT)
    assert edited.steps == ("First", "Second")
    assert edited.triggers == ("report", "news")
    assert (edited.name, edited.description, edited.examples) == (REPORT.name, REPORT.description, REPORT.examples)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Say what to change"),
        ("difficulty: impossible", "is no difficulty"),
        ("example: no arrow", "An example is written as"),
        ("description: ", "Say what to change"),
        ("triggers: ab", "at least 3 characters"),
        ("step: " + "x" * 501, "at most 500 characters"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        how_to_from(text, present=REPORT)


def test_a_procedure_without_steps_is_none() -> None:
    with pytest.raises(InvalidInput, match="at least one step"):
        checked(HowTo(name="x", description="y", steps=(" ",)))


def test_names_are_compared_without_case_and_signs() -> None:
    assert same_name("weekly-report") == same_name(" Weekly  REPORT ")
