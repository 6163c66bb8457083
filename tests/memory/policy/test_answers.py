"""Answers of models become values, whatever they are wrapped in, and rubbish becomes None."""

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.answers import candidates_from, operations_from, parse_object
from memory.records import Candidate, CandidateKind, FactOp

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FACT = {"facts": ["User likes tea"]}

MALFORMED = {
    "a fence": '```json\n{"facts": ["User likes tea"]}\n```',
    "a fence that never closes": '```\n{"facts": ["User likes tea"]}',
    "prose around": 'Sure! Here {as asked} are the facts: {"facts": ["User likes tea"]} Let me know [if] that helps.',
    "thinking": '<think>{"facts": ["User is a unicorn, perhaps"]}?</think>\n{"facts": ["User likes tea"]}',
    "a trailing comma": '{"facts": ["User likes tea",],}',
    "single quotes": "{'facts': ['User likes tea']}",
    "typographic quotes": "{“facts”: [“User likes tea”]}",
    "unquoted keys": '{facts: ["User likes tea"]}',
    "comments": '{"facts": [ // lasting ones\n "User likes tea" /* said today */ ]}',
    "a missing bracket": '{"facts": ["User likes tea"',
    "a cut-off second item": '{"facts": ["User likes tea", "User is aller',
    "a missing comma and a byte order mark": '\ufeff{"facts": ["User likes tea"]\n "more": null}',
    "an example before it": 'Format: {"facts": []}. Answer:\n{"facts": ["User likes tea"]}',
}


@pytest.mark.parametrize("answer", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_answer_is_read(answer: str) -> None:
    parsed = parse_object(answer)
    assert parsed is not None
    assert parsed["facts"] == FACT["facts"]
    assert [candidate.text for candidate in candidates_from(answer, now=NOW, zone=UTC) or ()] == FACT["facts"]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I could not find any facts.",
        "{curly} and [square]",
        "null",
        '"User likes tea"',
        "{",
        "[[[[",
        "{}",
        "[1, 2]",
    ],
)
def test_an_answer_without_a_usable_item_is_none(answer: str) -> None:
    assert candidates_from(answer, now=NOW, zone=UTC) is None


@pytest.mark.parametrize("answer", ['{"facts": []}', '{"candidates": []}', "[]", '{"facts": null}', "```json\n[]\n```"])
def test_an_answer_that_found_nothing_is_empty(answer: str) -> None:
    assert candidates_from(answer, now=NOW, zone=UTC) == []


def test_quotes_and_apostrophes_inside_a_string_stay() -> None:
    assert parse_object("{'facts': ['Ann's cat is \"Tom\"', 'it\\'s grey']}") == {
        "facts": ['Ann\'s cat is "Tom"', "it's grey"]
    }
    assert parse_object('{"facts": ["calls it \\"home\\"",]}') == {"facts": ['calls it "home"']}
    assert parse_object('{"facts": ["two\nlines",]}') == {"facts": ["two\nlines"]}


def test_words_of_python_and_objects_in_a_row_are_read() -> None:
    assert parse_object("{'a': True, 'b': None, 'c': -1.5, }") == {"a": True, "b": None, "c": -1.5}
    assert parse_object('{"text": "one"}\n{"text": "two"}') == {"items": [{"text": "one"}, {"text": "two"}]}


def test_nesting_without_end_is_borne() -> None:
    for depth in (39, 100, 100_000):
        parse_object("[" * depth)
        parse_object('{"a":' * depth)
        parse_object("[" * depth + "]" * depth)


PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)


@given(
    st.dictionaries(st.text(max_size=8), st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3), max_leaves=5))
)
def test_strict_json_is_read_as_it_is(value: dict[str, object]) -> None:
    assert parse_object(json.dumps(value)) == value


JSON_ITEMS = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "subject", "predicate", "object", "confidence", "op", "id", "valid_from"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.text() | JSON_ITEMS.map(json.dumps) | JSON_ITEMS.map(repr))
def test_no_answer_raises(answer: str) -> None:
    candidates = candidates_from(answer, now=NOW, zone=UTC)
    for candidate in candidates or ():
        assert candidate.text.strip()
        assert 0 <= candidate.confidence <= 1
        candidate.text.encode()
    operations_from(answer, candidates=[Candidate(text="x")], ids=[7])


def test_the_rich_form_keeps_everything() -> None:
    item = {
        "text": "User starts at ACME on 5 May 2026, see https://acme.example/jobs",
        "kind": "event",
        "subject": "The user",
        "predicate": "Works at",
        "object": "ACME",
        "category": "Work/ Job",
        "importance": 0.8,
        "confidence": "90%",
        "valid_from": "2026-05-05",
        "expires_at": None,
    }
    assert candidates_from(json.dumps({"candidates": [item]}), now=NOW, zone=UTC) == [
        Candidate(
            text="User starts at ACME on 5 May 2026, see https://acme.example/jobs",
            kind=CandidateKind.EVENT,
            subject="user",
            predicate="works_at",
            object="ACME",
            confidence=0.9,
            category="work/job",
            importance=0.8,
            metadata={"urls": ["https://acme.example/jobs"]},
            valid_from=datetime(2026, 5, 5, tzinfo=UTC),
        )
    ]


def test_triples_become_sentences() -> None:
    answer = '[{"subject": "user", "predicate": "lives_in", "object": "Rome", "confidence": 0.7}]'
    [candidate] = candidates_from(answer, now=NOW, zone=UTC) or ()
    assert (candidate.text, candidate.object, candidate.confidence) == ("user lives in Rome", "Rome", 0.7)


def test_one_bad_item_does_not_lose_the_others() -> None:
    items = [{"text": "User likes tea"}, 3, None, {"text": ""}, {"no": 1}, {"text": "x" * 5_000}, "User has a cat"]
    found = candidates_from(json.dumps({"candidates": items}), now=NOW, zone=UTC) or ()
    assert [candidate.text for candidate in found] == ["User likes tea", "User has a cat"]


def test_the_same_candidate_comes_once() -> None:
    found = candidates_from('{"facts": ["User likes tea", "user likes  tea.", "b"]}', now=NOW, zone=UTC) or ()
    assert [candidate.text for candidate in found] == ["User likes tea", "b"]


@pytest.mark.parametrize(
    ("said", "starts", "ends"),
    [
        ("2026-03-05", "2026-03-04T15:00+00:00", "2026-03-05T15:00+00:00"),
        ("2026-12", "2026-11-30T15:00+00:00", "2026-12-31T15:00+00:00"),
        ("2026", "2025-12-31T15:00+00:00", "2026-12-31T15:00+00:00"),
        (2026, "2025-12-31T15:00+00:00", "2026-12-31T15:00+00:00"),
        ("tomorrow", "2026-03-02T15:00+00:00", "2026-03-03T15:00+00:00"),
        ("2026-03-05T10:00:00Z", "2026-03-05T10:00+00:00", "2026-03-05T10:00+00:00"),
        ("2026-03-05 10:00", "2026-03-05T01:00+00:00", "2026-03-05T01:00+00:00"),
        ("soon", None, None),
        ("2026-02-31", None, None),
        ("9999", "9998-12-31T15:00+00:00", None),
        (None, None, None),
        (True, None, None),
    ],
)
def test_dates_are_meant_where_the_person_lives(said: object, starts: str | None, ends: str | None) -> None:
    answer = json.dumps({"candidates": [{"text": "x", "valid_from": said, "expires_at": said}]})
    [candidate] = candidates_from(answer, now=NOW, zone=ZoneInfo("Asia/Tokyo")) or ()
    assert candidate.valid_from == (datetime.fromisoformat(starts) if starts else None)
    assert candidate.expires_at == (datetime.fromisoformat(ends) if ends else None)


TEA, CAT = Candidate(text="User likes green tea"), Candidate(text="User has a cat called Tom")


def test_operations_name_facts_by_the_number_they_were_shown_under() -> None:
    answer = json.dumps(
        {
            "ops": [
                {"candidate": 2, "reason": "new name", "op": "delete", "id": 2, "text": None},
                {"candidate": "1", "op": "UPDATE", "id": "[1]", "text": "User likes green tea with milk"},
                {"candidate": 1, "op": "NOOP", "id": 1},
            ]
        }
    )
    operations = operations_from(answer, candidates=[TEA, CAT], ids=[901, 902]) or ()
    assert [(found.op, found.candidate, found.fact_id, found.text) for found in operations] == [
        (FactOp.DELETE, CAT, 902, None),
        (FactOp.UPDATE, TEA, 901, "User likes green tea with milk"),
        (FactOp.NOOP, TEA, 901, None),
    ]


@pytest.mark.parametrize("unknown", [0, 3, -1, 901, None, "x", 1.5, True])
def test_an_unknown_number_names_no_fact_and_leaves_the_others(unknown: object) -> None:
    answer = json.dumps({"ops": [{"op": "DELETE", "id": unknown}, {"op": "DELETE", "id": 2}]})
    operations = operations_from(answer, candidates=[TEA], ids=[901, 902]) or ()
    assert [found.fact_id for found in operations] == [None, 902]


def test_operations_without_a_candidate_find_theirs_by_their_words() -> None:
    answer = json.dumps(
        {
            "ops": [
                {"op": "DELETE", "id": 1, "text": None},
                {"op": "ADD", "id": None, "text": "Has a cat, Tom"},
                {"op": "ADD", "id": None, "text": "Likes green tea"},
                {"op": "FORGET", "id": 1},
            ]
        }
    )
    operations = operations_from(answer, candidates=[TEA, CAT], ids=[901]) or ()
    assert [found.candidate for found in operations] == [CAT, CAT, TEA]


def test_operations_that_do_not_parse_are_none_and_no_operations_are_empty() -> None:
    assert operations_from("I would keep all", candidates=[TEA], ids=[]) is None
    assert operations_from('{"ops": [{"op": "SHRUG"}]}', candidates=[TEA], ids=[]) is None
    assert operations_from('{"ops": []}', candidates=[TEA], ids=[]) == []


def test_an_endless_list_teaches_its_first_fifty() -> None:
    found = candidates_from(json.dumps({"facts": [f"Fact number {number}" for number in range(3_000)]}), now=NOW)
    assert found is not None
    assert [candidate.text for candidate in found] == [f"Fact number {number}" for number in range(50)]


@pytest.mark.parametrize("text", ["\u200b", "...", "🙂", "-"])
def test_a_text_without_a_word_is_no_fact(text: str) -> None:
    assert candidates_from(json.dumps({"facts": [text, "User likes tea"]}), now=NOW) == candidates_from(
        json.dumps(FACT), now=NOW
    )


def test_an_overlong_category_is_left_out() -> None:
    [found] = (
        candidates_from(json.dumps({"facts": [{"text": "User likes tea", "category": "food/" + "x" * 9_000}]}), now=NOW)
        or ()
    )
    assert found.category == "food"
