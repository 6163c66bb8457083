"""What was said in its distilled forms: a fact, what is told beside it, and a core of a few words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.aspects import OUTCOMES, actions_in, emotion_of, outcome_of, people_in, topics_in
from memory.policy.distillation import (
    Distilled,
    core_of,
    details_of,
    distilled,
    distilled_from,
    shortened,
)

TALK = (
    "Ann: Hey Bob! Long time no see. Honestly, I was worried about the move for weeks, you know how it is with old "
    "houses and boxes everywhere. Well, we decided to rent the flat in Oslo from 3 May, see "
    "https://a.example/flat?id=7. Thanks for asking! I ran `git clone box.git` in ~/moving/plan.md too. How are you? "
    "Now I'm so relieved, and the garden is lovely in the evening when the light comes in and "
    "everybody sits outside with a cup of tea and talks."
)


def test_talk_of_some_hundred_bytes_becomes_its_decision_and_then_a_few_words() -> None:
    found = distilled(TALK)
    assert len(TALK.encode()) > 440
    assert found.fact == "we decided to rent the flat in Oslo from 3 May, see a.example"
    assert found.core == "rent Oslo 3 May"
    assert found.emotion == "anxious -> relieved"
    assert found.people == ("Ann", "Bob")
    assert found.actions == ("rent the flat in Oslo",)
    assert found.outcome == "positive"
    assert len(found.topics) == 5
    assert found.metadata == {
        "urls": ["https://a.example/flat?id=7"],
        "commands": ["git clone box.git"],
        "paths": ["~/moving/plan.md"],
    }


def test_an_entry_keeps_only_what_there_is() -> None:
    assert details_of(distilled("Tea")) == {"core": "Tea", "topics": ["tea"], "outcome": "ongoing"}
    assert details_of(distilled(TALK))["urls"] == ["https://a.example/flat?id=7"]


@given(st.text(), st.integers(1, 200))
def test_whatever_the_text_the_limits_hold_and_nothing_is_cut_within_a_character(text: str, max_bytes: int) -> None:
    found = distilled(text, max_bytes=max_bytes)
    assert len(found.fact) <= 80
    assert len(found.fact.encode()) <= max_bytes
    assert len(found.core.encode()) < 30
    assert "\ufffd" in text or "\ufffd" not in found.fact + found.core
    assert len(found.topics) <= 5
    assert len(found.actions) <= 3
    assert found.outcome in OUTCOMES


@given(st.text(alphabet="añ茶🍵é ", min_size=1, max_size=120), st.integers(1, 60))
def test_a_shortened_text_is_a_beginning_of_it(text: str, max_bytes: int) -> None:
    cut = shortened(text, 80, max_bytes)
    assert " ".join(text.split()).startswith(cut)
    assert len(cut.encode()) <= max_bytes


@pytest.mark.parametrize(("letters", "cut"), [(80, 80), (81, 80)])
def test_a_fact_has_eighty_characters_at_most(letters: int, cut: int) -> None:
    assert len(distilled("x" * letters).fact) == cut
    assert len(distilled("я" * letters, max_bytes=1_000).fact) == cut
    assert len(distilled("я" * letters).fact.encode()) == 100


@pytest.mark.parametrize(
    ("fact", "core"),
    [
        ("x" * 29, "x" * 29),
        ("x" * 30, "x" * 29),
        ("茶" * 9, "茶" * 9),
        ("茶" * 10, "茶" * 9),
        ("User moved to Oslo in 2024", "moved Oslo 2024"),
        ("it is what it is", "it is what"),
        ("", ""),
        ("?!", "?"),
    ],
)
def test_a_core_has_less_than_thirty_bytes(fact: str, core: str) -> None:
    assert core_of(fact) == core


@pytest.mark.parametrize(
    ("text", "emotion"),
    [
        ("The train leaves at nine", "neutral"),
        ("I am so happy about it", "happy"),
        ("I am not happy about it", "neutral"),
        ("I was worried, but now I am relieved", "anxious -> relieved"),
        ("Happy now, happy for ever", "happy"),
    ],
)
def test_a_feeling_or_its_change_is_told(text: str, emotion: str) -> None:
    assert emotion_of(text) == emotion


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("The build is fixed", "positive"),
        ("The build failed again and the server crashed", "negative"),
        ("I need to call the bank tomorrow", "pending"),
        ("I am still working on it", "ongoing"),
        ("A table", "ongoing"),
    ],
)
def test_how_it_stands_is_one_of_four(text: str, outcome: str) -> None:
    assert outcome_of(text) == outcome


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("My sister Anna lives in Rome", ["Anna"]),
        ("I met John Smith and Eva at Google", ["John Smith", "Eva"]),
        ("Thanks, Melanie! On Monday in Oslo", ["Melanie"]),
        ("Everyone was there", []),
        ("nobody is named", []),
        (
            " ".join(f"with {name}," for name in ("Abe", "Bea", "Cid", "Dan", "Eve", "Fay")),
            ["Abe", "Bea", "Cid", "Dan", "Eve"],
        ),
    ],
)
def test_people_are_told_by_the_words_around_their_names(text: str, people: list[str]) -> None:
    assert people_in(text) == people


def test_topics_are_the_words_used_most_and_actions_what_is_done() -> None:
    assert topics_in("pottery class, pottery bowl, glaze, kiln, clay, wheel")[0] == "pottery"
    assert len(topics_in("pottery class, pottery bowl, glaze, kiln, clay, wheel")) == 5
    said = "I booked the ferry. I bought a tent. We need to pack the bags and leave. They fixed the car."
    assert actions_in(said) == ["booked the ferry", "bought a tent", "pack the bags"]


def test_what_a_model_says_is_held_to_the_same_limits() -> None:
    answer = {
        "fact": "User " + "moved " * 40,
        "emotion": "Happy",
        "people": ["Ann", "Ann", 7],
        "topics": [f"t{number}" for number in range(9)],
        "actions": [f"a{number}" for number in range(9)],
        "outcome": "splendid",
    }
    found = distilled_from(f"```json\n{json.dumps(answer)}\n```", "It failed, see https://a.example/x")
    assert found is not None
    assert found.fact == "User" + " moved" * 12
    assert (found.emotion, found.people) == ("happy", ("Ann",))
    assert (len(found.topics), len(found.actions)) == (5, 3)
    assert found.outcome == "negative"
    assert found.metadata == {"urls": ["https://a.example/x"]}


@pytest.mark.parametrize("answer", ["no JSON", "{}", '{"fact": ""}', '{"fact": 7}', "[]", '["a"]', "null"])
def test_an_answer_without_a_fact_is_none(answer: str) -> None:
    assert distilled_from(answer, "text") is None


def test_a_text_without_words_gives_nothing() -> None:
    assert distilled("") == Distilled(fact="", core="")
