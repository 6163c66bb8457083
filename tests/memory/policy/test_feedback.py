"""What people say of an answer, and the running rate of it."""

from __future__ import annotations

import pytest

from memory.policy.feedback import (
    Verdict,
    in_force,
    judged,
    next_rate,
    rate_without,
    reaction,
    with_verdict,
    without_verdict,
)


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


@pytest.mark.parametrize("sign", ["👍", "👍🏽", "+1", ":+1:", "+1::skin-tone-3", "❤️", "❤", "white_check_mark"])
def test_a_good_sign_is_known_in_whatever_colour(sign: str) -> None:
    assert reaction(sign) is True


@pytest.mark.parametrize("sign", ["👎", "👎🏿", "-1", "thumbsdown::skin-tone-6", "❌"])
def test_a_bad_sign_is_known_too(sign: str) -> None:
    assert reaction(sign) is False


@pytest.mark.parametrize("sign", ["👀", "eyes", "<:x:123>", ""])
def test_other_signs_say_nothing(sign: str) -> None:
    assert reaction(sign) is None


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("success", [True, False])
def test_taking_the_last_outcome_back_leaves_the_rate_before_it(rate: float, success: bool) -> None:
    assert rate_without(next_rate(rate, success=success), success=success) == pytest.approx(rate)
    assert 0 <= rate_without(rate, success=success) <= 1


def test_of_several_verdicts_the_last_that_stands_counts() -> None:
    good, bad = Verdict(by="👍", success=True), Verdict(by="words", success=False)
    both = with_verdict(with_verdict((), good), bad)
    assert with_verdict(both, good) == both
    assert [in_force(verdicts) for verdicts in ((), (good,), both)] == [None, True, False]
    assert without_verdict(both, "words") == (good,)
    assert without_verdict(both, "👎") == both
