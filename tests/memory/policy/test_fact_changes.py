"""What counts as the same statement, and as taken away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.policy.fact_changes import adds_detail, same_statement, was_unsaid
from memory.records import Candidate, Fact, FactState, Scope
from tests.fakes import START

FACT = Fact(
    id=1,
    scope=Scope(person="console:ann", audience="dm"),
    text="User lives in Rome",
    subject="user",
    predicate="lives_in",
    object="Rome",
    created_at=START,
    updated_at=START,
)


def candidate(text: str, value: str = "Rome") -> Candidate:
    return Candidate(text=text, subject="user", predicate="lives_in", object=value)


@pytest.mark.parametrize("negated", ["User no longer lives in Rome", "User does not live in Rome"])
def test_a_statement_and_its_opposite_are_not_the_same_and_no_detail_of_each_other(negated: str) -> None:
    opposite = replace(FACT, text=negated)
    assert not same_statement(opposite, candidate(FACT.text))
    assert not same_statement(FACT, candidate(negated))
    assert not adds_detail(FACT, candidate(negated))
    assert same_statement(opposite, candidate(negated))


def test_what_a_fact_no_longer_says_is_taken_away_in_whatever_words() -> None:
    forgotten, moved = replace(FACT, state=FactState.FORGOTTEN), replace(FACT, text="User lives in Pisa", object="Pisa")
    for after in (forgotten, moved, replace(FACT, text="User no longer lives in Rome")):
        assert was_unsaid(FACT, after, candidate("User resides in Rome"))
        assert not was_unsaid(FACT, after, candidate("User lives in Oslo", "Oslo"))


def test_what_a_fact_still_says_with_more_detail_is_not_taken_away() -> None:
    assert not was_unsaid(FACT, replace(FACT, text="User lives in Rome, Italy"), candidate("User lives in Rome"))
    assert not was_unsaid(FACT, replace(FACT, pinned=True), candidate("User lives in Rome"))
    assert not was_unsaid(replace(FACT, state=FactState.FORGOTTEN), FACT, candidate("User lives in Rome"))
