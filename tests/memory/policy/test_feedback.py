"""What people say of an answer, and the running rate of it."""

from __future__ import annotations

import pytest

from memory.policy.feedback import judged, next_rate


@pytest.mark.parametrize("text", ["Perfect, thanks!", "That's exactly what I wanted.", "exactly!"])
def test_praise_is_heard(text: str) -> None:
    assert judged(text) is True


@pytest.mark.parametrize("text", ["No, that's wrong.", "Not like that, please", "Wrong."])
def test_correction_is_heard(text: str) -> None:
    assert judged(text) is False


@pytest.mark.parametrize("text", ["No milk for me.", "The perfect storm is a film.", "Thanks"])
def test_all_else_says_nothing(text: str) -> None:
    assert judged(text) is None


def test_the_rate_begins_with_the_first_outcome_and_moves_by_a_tenth() -> None:
    assert (next_rate(None, success=True), next_rate(None, success=False)) == (1.0, 0.0)
    assert next_rate(1.0, success=False) == pytest.approx(0.9)
    assert next_rate(0.5, success=True) == pytest.approx(0.55)
