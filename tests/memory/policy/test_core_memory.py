"""What core memory says of a fact is found line by line."""

import pytest

from memory.policy.core_memory import restated

HUMAN = "Name: Ann.\nLoves tea.\nTheir sister Mia is allergic to nuts.\nDoes not love tea in the evening."


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("User loves tea.", "Loves tea."),
        ("I LOVES TEA", "Loves tea."),
        ("User's name is Ann.", "Name: Ann."),
        ("User's sister Mia is allergic to nuts.", "Their sister Mia is allergic to nuts."),
    ],
)
def test_a_line_that_says_the_same_is_replaced_or_left_out(fact: str, line: str) -> None:
    others = [other for other in HUMAN.splitlines() if other != line]
    assert restated(HUMAN, fact, "").splitlines() == others
    assert restated(HUMAN, fact, "Right.").splitlines() == [
        "Right." if said == line else said for said in HUMAN.splitlines()
    ]


@pytest.mark.parametrize("fact", ["User does not love tea.", "User loves tea with milk.", "User is.", "", "Mia"])
def test_what_says_something_else_stays(fact: str) -> None:
    assert restated(HUMAN, fact, "") == HUMAN
