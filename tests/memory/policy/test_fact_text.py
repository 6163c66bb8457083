"""A fact in words: what makes two the same, and the four forms."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.fact_text import (
    graph_triples,
    nested,
    normalised,
    profile_lines,
    sentences,
    text_hash,
    triple_text,
)
from memory.records import Fact, Scope

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def fact(number: int, text: str, subject: str = "", predicate: str = "", value: str = "") -> Fact:
    return Fact(
        id=number,
        scope=Scope(person="console:ann", audience="dm"),
        text=text,
        subject=subject,
        predicate=predicate,
        object=value,
        created_at=NOW,
        updated_at=NOW,
    )


KNOWN = [
    fact(1, "User lives in Rome", "user", "lives_in", "Rome"),
    fact(2, "User likes tea", "user", "likes", "tea"),
    fact(3, "User likes jazz.", "user", "likes", "jazz"),
    fact(4, "Eva's birthday is 3 May", "Eva", "birthday", "3 May"),
    fact(5, "User is tall"),
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User likes tea", " user  LIKES tea. "),
        ("Straße", "STRASSE"),
        ("ｔｅａ", "tea"),
        ("用户喜欢茶。", "用户喜欢茶"),
    ],
)
def test_case_width_spacing_and_outer_punctuation_make_no_difference(one: str, other: str) -> None:
    assert text_hash(one) == text_hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("likes tea", "likes tee"),
        ("has 2 cats", "has 3 cats"),
        ("uses C", "uses C++"),
        ("I'm ill", "Im ill"),
        ("a-b", "ab"),
    ],
)
def test_everything_else_does(one: str, other: str) -> None:
    assert text_hash(one) != text_hash(other)


@given(st.text())
def test_normalising_twice_is_normalising_once(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


def test_a_triple_reads_as_a_sentence() -> None:
    assert triple_text("user", "is_allergic_to", "nuts") == "user is allergic to nuts"


def test_facts_have_four_forms() -> None:
    assert profile_lines(KNOWN) == "lives in: Rome\nlikes: tea, jazz\nEva, birthday: 3 May"
    assert sentences(KNOWN[:3]) == "User lives in Rome. User likes tea. User likes jazz."
    assert nested(KNOWN) == {"user": {"lives_in": "Rome", "likes": ["tea", "jazz"]}, "Eva": {"birthday": "3 May"}}
    assert graph_triples(KNOWN[:2]) == ["(user)-[lives_in]->(Rome)", "(user)-[likes]->(tea)"]
    assert (profile_lines([]), sentences([]), nested([]), graph_triples([])) == ("", "", {}, [])
