"""Notes of a day: the journal below the mark, and what is taken in of what a person wrote above it."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.daily_notes import (
    NotedFact,
    day_of,
    facts_from,
    facts_in,
    note_name,
    noted_at,
    own_part,
    with_journal,
)
from memory.records import JournalEntry, Scope

DAY = date(2026, 3, 2)
OSLO = ZoneInfo("Europe/Oslo")


def entry(text: str, hour: int = 9) -> JournalEntry:
    at = datetime(2026, 3, 2, hour, tzinfo=UTC)
    scope = Scope(person="console:ann", audience="dm")
    return JournalEntry(id=1, scope=scope, at=at, text=text, importance=0.5, noted_at=at)


def test_a_journal_is_written_in_lines_with_its_times() -> None:
    note = with_journal("", [entry("User moved.\nTo Oslo"), entry("User slept.", 21)], day=DAY, zone=OSLO)
    assert note.splitlines()[1:] == [
        "# Journal of 2026-03-02",
        "",
        "- 10:00:00 User moved. To Oslo",
        "- 22:00:00 User slept.",
    ]
    assert own_part(note) == ""
    assert facts_in(own_part(note)) == []


OWN = st.text(st.sampled_from("ab*-# \n[x]décided"), max_size=60)


@given(OWN, st.lists(st.text(st.characters(codec="utf-8"), max_size=40), max_size=3))
def test_what_a_person_wrote_stays_and_writing_again_changes_nothing(own: str, texts: list[str]) -> None:
    entries = [entry(text) for text in texts]
    note = with_journal(own, entries, day=DAY, zone=UTC)
    assert own_part(note) == own.strip()
    assert with_journal(note, entries, day=DAY, zone=UTC) == note
    assert own_part(with_journal(note, [], day=DAY, zone=UTC)) == own.strip()


def test_a_day_without_a_journal_leaves_a_note_as_it_is() -> None:
    assert with_journal("- [x] mine  \n\n", [], day=DAY, zone=UTC) == "- [x] mine  \n\n"
    assert with_journal(with_journal("", [entry("Gone.")], day=DAY, zone=UTC), [], day=DAY, zone=UTC) == ""


def test_ticked_items_bold_keys_and_decisions_are_taken_with_the_category_of_their_heading() -> None:
    note = """# 2026-03-02
- [x] Sent the tax form
## Projects / Garden
* **Budget:** 400 euros, see [the list](https://a.example/list)
- We decided to plant quinces
- Looked at quinces
- [ ] decide about the fence, we agreed on nothing
**Style**: short sentences
```
- [x] this is code only
```
### Tools
1. chose `pip install keepsake` over pipx
- [X] sent the TAX form
"""
    assert facts_in(note) == [
        NotedFact(text="Sent the tax form", category="general", importance=0.7),
        NotedFact(
            text="Budget: 400 euros, see the list (https://a.example/list)",
            category="projects/garden",
            importance=0.7,
            metadata={"urls": ["https://a.example/list"]},
        ),
        NotedFact(text="We decided to plant quinces", category="projects/garden", importance=0.75),
        NotedFact(text="Style: short sentences", category="projects/garden", importance=0.7),
        NotedFact(
            text="chose `pip install keepsake` over pipx",
            category="tools",
            importance=0.75,
            metadata={"commands": ["pip install keepsake"]},
        ),
    ]


@pytest.mark.parametrize(
    ("line", "is_taken"),
    [
        ("- [x] 123456789", False),
        ("- [x] 1234567890", True),
        ("**Key:** 12345", True),
        ("**Key:** 1234", False),
        ("- chose 12345678", False),
        ("- chose 123456789", True),
        ("chose 123456789", False),
    ],
)
def test_what_is_too_short_says_nothing(line: str, is_taken: bool) -> None:
    assert bool(facts_in(line)) == is_taken


def test_secrets_are_taken_out() -> None:
    [fact] = facts_in("- [x] Made the key ghp_" + "a1B2" * 9)
    assert fact.text == "Made the key [secret removed]"


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    for fact in facts_in(text):
        assert len(fact.text) >= 10
    facts_from(text)


def test_what_a_model_finds_is_held_to_its_limits() -> None:
    url = "https://a.example/" + "x" * 200
    items = [
        {"text": "User planted quinces", "category": "Projects/Garden", "importance": 7},
        {"text": f"Read {url}", "importance": "no"},
        {"text": "user planted QUINCES"},
        {"text": "short"},
        {"no": "text"},
    ]
    found = facts_from(f"```json\n{json.dumps({'facts': items})}\n```")
    assert found is not None
    assert found[0] == NotedFact(text="User planted quinces", category="projects/garden", importance=1.0)
    assert (len(found[1].text), found[1].importance, found[1].category) == (150, 0.6, "general")
    assert found[1].metadata == {"urls": [url]}
    assert len(found) == 2


@pytest.mark.parametrize(
    ("answer", "found"), [("no", None), ('{"facts": []}', []), ('[{"text": 7}]', None), ("{}", None)]
)
def test_an_answer_without_facts_is_known_from_one_that_cannot_be_read(
    answer: str, found: list[NotedFact] | None
) -> None:
    assert facts_from(answer) == found


def test_a_note_is_of_the_day_of_its_name() -> None:
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert day_of(note_name(DAY)) == DAY
    assert day_of("2026-02-30.md") is None
    assert day_of("ideas.md") is None
    assert noted_at("2026-03-01.md", zone=OSLO, now=now) == datetime(2026, 3, 1, 11, tzinfo=UTC)
    assert noted_at("2026-03-02.md", zone=OSLO, now=now) == now
    assert noted_at("2027-03-02.md", zone=OSLO, now=now) == now
    assert noted_at("ideas.md", zone=OSLO, now=now) == now


@pytest.mark.parametrize(
    "note",
    ["- [x] " + "[" * 100_000, "- [x] " + "[a](" * 25_000, "# " + "# " * 50_000 + "x", "# a" + "!" * 100_000 + "b"],
)
def test_no_line_holds_the_reader_up_however_long_it_is(note: str) -> None:
    begun = time.process_time()
    facts_in(note)
    assert time.process_time() - begun < 1.0  # minutes, where the effort grows with the square of the length
