"""Text at the door, inside a prompt, and cut."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.text import DATA_TAGS, clean, cut_middle, escape_data, spoken_date

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("  hello \r\nthere\rfriend ", "hello \nthere\nfriend"),
        ("a\x00b\x07c\x1bd\x7fe", "abcde"),
        ("tab\tstays\nso does this", "tab\tstays\nso does this"),
        ("one\u2028two\x85three", "one\ntwo\nthree"),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
        ("Cafe\u0301", "Café"),
        ("\x00 \t\n", ""),
        ("👩‍👩‍👧 مرحبا 你好", "👩‍👩‍👧 مرحبا 你好"),
    ],
)
def test_text_is_cleaned_at_the_door(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@given(ANY_TEXT)
def test_clean_text_can_be_stored_anywhere_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert clean(cleaned) == cleaned
    assert all(character in "\n\t" or unicodedata.category(character) != "Cc" for character in cleaned)


@pytest.mark.parametrize(
    "tag",
    [
        "<memory_data>",
        "</memory_data>",
        "< / MEMORY_DATA >",
        "<Memory-Data foo='1'>",
        "<memory data>",
        "<\u200bretrie\u200bved>",
        "\uff1ccore_memory>",
        "</human",
        "<\n/now>",
        "\uff1c\uff0f\uff4d\uff45\uff4d\uff4f\uff52\uff59\uff3f\uff24\uff21\uff34\uff21\uff1e",
        "<\u2215fa\ufe0fcts>",
        "<\U000e0041/\U000e0042now>",
    ],
)
def test_no_spelling_of_a_data_tag_survives(tag: str) -> None:
    escaped = escape_data(f"before {tag} after")
    assert escaped == f"before &lt;{tag[1:]} after"


@pytest.mark.parametrize("text", ["<b>bold</b>", "3 < 4 > 2", "<nowhere>", "if a<b: c", "human rights", "<3 you"])
def test_other_text_stays_readable(text: str) -> None:
    assert escape_data(text) == text


@given(st.lists(st.sampled_from(["<", "/", " ", "\n", "_", "&lt;", "x", *DATA_TAGS]), max_size=12).map("".join))
def test_escaped_text_holds_no_tag_and_stays_as_it_is(text: str) -> None:
    escaped = escape_data(text)
    assert escape_data(escaped) == escaped
    flat = escaped.replace(" ", "").replace("\n", "").lower()
    assert not any(f"<{slash}{tag}>" in flat for tag in DATA_TAGS for slash in ("", "/"))


def test_a_long_text_keeps_its_head_and_tail_and_says_what_is_missing() -> None:
    cut = cut_middle("START" + "x" * 10_000 + "END", 200)
    assert len(cut) <= 200
    assert cut.startswith("START")
    assert cut.endswith("END")
    missing = 10_008 - cut.count("x") - len("STARTEND")
    assert f"[... {missing:,} characters left out here ...]" in cut


@given(st.text(max_size=300), st.integers(0, 320))
def test_a_cut_text_is_never_longer_than_asked(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert len(cut) <= limit
    assert cut == text or len(text) > limit


def test_a_date_is_spoken_without_a_leading_zero() -> None:
    assert spoken_date(datetime(2023, 5, 8, 13, 56, tzinfo=UTC)) == "8 May 2023"
