"""A fact in words: what makes two the same, the four forms, and links, commands and paths in it."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.fact_text import (
    extracted,
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


def test_links_commands_and_paths_are_found() -> None:
    text = (
        "See https://a.example/x?y=1. and (http://b.example/z), run `pip install keepsake` or:\n"
        "$ make test\nThe code is in ~/src/app/main.py, /etc and memory/policy/text.py; `foo` and/or 1/2/2024, he/she"
    )
    assert extracted(text) == {
        "urls": ["https://a.example/x?y=1", "http://b.example/z"],
        "commands": ["make test", "pip install keepsake"],
        "paths": ["~/src/app/main.py", "/etc", "memory/policy/text.py"],
    }
    assert extracted("C:\\Users\\Ann\\notes.txt") == {"paths": ["C:\\Users\\Ann\\notes.txt"]}
    assert extracted("User likes tea") == {}


def test_of_each_only_so_many_are_kept_and_each_once() -> None:
    many = " ".join(f"https://a.example/{n} `git log {n}` ~/a/{n}.txt" for n in (*range(20), *range(20)))
    assert {name: len(values) for name, values in extracted(many).items()} == {"urls": 10, "commands": 5, "paths": 10}


@pytest.mark.parametrize("unit", ["a/", "a.", "/a", "`", "$ ", "http://", "C:\\a ", "a+@-", "a b\\", "~/"])
def test_a_long_text_is_searched_in_linear_time(unit: str) -> None:
    started = time.process_time()
    extracted(unit * (50_000 // len(unit)))
    assert time.process_time() - started < 2.0
