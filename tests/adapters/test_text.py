"""Splitting answers at the places a reader would choose."""

from __future__ import annotations

import pytest

from adapters.text import split


def test_a_text_that_fits_is_one_part() -> None:
    assert split("Hello there.", 100) == ["Hello there."]


def test_a_blank_text_has_no_parts() -> None:
    assert split(" \n \n", 100) == []


def test_a_limit_too_small_for_fences_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        split("text", 40)


@pytest.mark.parametrize(
    ("separator", "unit"),
    [
        ("\n\n", "first words, more words\nand a line of it"),
        ("\n", "a line. Of two sentences and forty letters"),
        (" ", "one sentence of some forty letters or more."),
        ("", "一句中文，大约三十个字，没有空格，只有标点符号，用来试验断句的地方。"),
        (" ", "word" * 10),
    ],
    ids=["paragraphs", "lines", "sentences", "sentences without spaces", "words"],
)
def test_a_cut_falls_between_whole_units(separator: str, unit: str) -> None:
    parts = split(separator.join([unit] * 8), 130)

    assert len(parts) > 1
    for part in parts:
        assert set(part.replace(unit, "")) <= set(separator)


def test_a_word_longer_than_the_limit_is_cut() -> None:
    assert "".join(split("x" * 500, 100)) == "x" * 500


def test_a_long_link_stays_whole_when_it_fits_into_a_part_of_its_own() -> None:
    link = "https://example.org/" + "x" * 70

    assert link in split("Some words come first. " + link, 100)


def test_a_cut_code_block_is_closed_and_reopened_with_its_language() -> None:
    lines = [f"total = total + {number}" for number in range(12)]
    text = "Look:\n\n```python\n" + "\n".join(lines) + "\n```\n\nThat is all."

    parts = split(text, 120)

    assert parts[0] == "Look:\n\n```python\n" + "\n".join(lines[:5]) + "\n```"
    for part in parts[1:-1]:
        assert part.startswith("```python\n")
        assert part.endswith("\n```")
    assert parts[-1].endswith("\n```\n\nThat is all.")


def test_a_code_block_that_does_not_fit_begins_in_the_next_part() -> None:
    text = "word " * 20 + "\n```python\n" + "x = 1\n" * 10 + "```"

    first, second = split(text, 110)

    assert "`" not in first
    assert second == "```python\n" + "x = 1\n" * 10 + "```"


def test_an_info_string_of_nearly_the_limit_keeps_every_part_within_it() -> None:
    text = "```" + "x" * 1_990 + "\n" + "code\n" * 1_000 + "```"

    parts = split(text, 2_000)

    assert all(len(part) <= 2_000 and part.count("```") == 2 for part in parts)
    assert sum(part.count("code") for part in parts) == 1_000


def test_a_block_ending_at_the_cut_leaves_no_empty_block_behind() -> None:
    for length in range(60, 130):
        text = "```\n" + "y" * length + "\n```\nafter"
        for part in split(text, 100):
            assert not part.replace("after", "").startswith("```\n```")
            assert "```\n\n```" not in part


@pytest.mark.parametrize("length", range(60, 100))
def test_a_fence_in_the_middle_of_a_line_is_never_cut(length: int) -> None:
    text = "x" * length + "```python\n" + "y" * (length - 20) + "```" + "z" * 80

    parts = split(text, 100)

    assert all(part.count("```") % 2 == 0 and part.count("`") % 3 == 0 for part in parts)
    assert not any(part.endswith("```python\n```") for part in parts)
    joined = "".join(parts)
    assert [joined.count(letter) for letter in "xz"] == [length, 80]


def test_an_unclosed_code_block_is_closed() -> None:
    assert split("```py\nx = 1", 100) == ["```py\nx = 1\n```"]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    text = "````markdown\n```python\nx = 1\n```\n" + "text\n" * 30 + "````"

    parts = split(text, 100)

    assert len(parts) > 1
    for part in parts:
        assert part.startswith("````markdown\n")
        assert part.endswith("\n````")
