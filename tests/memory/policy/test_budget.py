"""Sharing the context window."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import InvalidInput
from memory.parameters import MemoryParameters
from memory.policy.budget import (
    LEAST_TURN,
    cut_to_tokens,
    estimated_room,
    fair_cap,
    input_budget,
    newest_that_fit,
    room_for_turn,
)

SIZES = st.lists(st.integers(0, 500), max_size=12)


def words(text: str) -> int:
    return len(text.split())


def test_the_answer_keeps_its_room() -> None:
    assert input_budget(MemoryParameters(context_window_tokens=1000, max_output_tokens=300)) == 700


@given(st.integers(-10, 50_000), st.floats(0.2, 3.0))
def test_the_estimated_room_is_the_most_that_fits_when_calibrated(tokens: int, factor: float) -> None:
    def calibrated(estimate: int) -> int:
        return math.ceil(estimate * factor)

    room = estimated_room(tokens, calibrated)
    if tokens < 0:
        assert room == 0
    else:
        assert calibrated(room) <= tokens < calibrated(room + 1)


def test_fixed_parts_that_fill_the_window_are_refused_with_the_setting_to_change() -> None:
    parameters = MemoryParameters(context_window_tokens=1000, max_output_tokens=300)
    assert room_for_turn(700 - LEAST_TURN, parameters, lambda tokens: tokens) == LEAST_TURN
    with pytest.raises(InvalidInput, match="Raise CONTEXT_WINDOW_TOKENS or lower MAX_OUTPUT_TOKENS"):
        room_for_turn(701 - LEAST_TURN, parameters, lambda tokens: tokens)


def test_the_newest_are_kept_without_a_gap() -> None:
    assert newest_that_fit([1, 50, 10, 10], 30) == 2
    assert newest_that_fit([1, 2], 3) == 2
    assert newest_that_fit([5], 4) == 0
    assert newest_that_fit([], 4) == 0


def test_only_the_largest_are_cut() -> None:
    assert fair_cap([10, 100, 20], 60) == 30
    assert fair_cap([10, 20], 60) == 20
    assert fair_cap([], 60) == 0


@given(SIZES, st.integers(-5, 3000))
def test_a_fair_cap_fits_and_wastes_less_than_one_token_each(sizes: list[int], room: int) -> None:
    cap = fair_cap(sizes, room)
    used = sum(min(size, cap) for size in sizes)
    assert used <= max(0, room)
    assert used == sum(sizes) or max(0, room) - used < len(sizes)


@given(st.text(max_size=400).map(str.strip).filter(bool), st.integers(0, 80))
def test_a_text_is_cut_to_its_tokens(text: str, limit: int) -> None:
    cut = cut_to_tokens(text, limit, words)
    assert words(cut) <= max(1, limit)
    assert cut.strip()
    assert cut == text or words(text) > limit


def test_a_text_that_cannot_be_too_long_is_not_counted() -> None:
    def count(text: str) -> int:
        raise AssertionError(f"{text} was counted")

    assert cut_to_tokens("short", 5, count) == "short"
    for longer in ("longer", "früh!"):
        with pytest.raises(AssertionError, match=f"{longer} was counted"):
            cut_to_tokens(longer, 5, count)


def test_a_cut_uses_most_of_its_room() -> None:
    text = " ".join(f"word{number}" for number in range(10_000))
    cut = cut_to_tokens(text, 500, words)
    assert 400 < words(cut) <= 500
    assert cut.startswith("word0 ")
    assert cut.endswith("word9999")
