"""How well something worked, from what people say and how they react, and the running rate of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_KEPT_SHARE = 0.9

_WRONG = re.compile(
    r"\W*(?:no\b[,.! ]+(?:not\b|that'?s|this|you|i (?:said|meant|asked|wanted))|wrong\b"
    r"|that(?:'s| is| was) (?:not|wrong)|not like (?:that|this)|that'?s not (?:how|what)"
    r"|you (?:forgot|missed|got (?:it|that) wrong)|i (?:said|asked for|wanted) .{0,60}\bnot\b"
    r"|nein\b[,.! ]+(?:nicht|das|so)|falsch\b)",
    re.IGNORECASE,
)
_RIGHT = re.compile(
    r"\W*(?:(?:that'?s |this is |just )?(?:perfect|exactly|spot on|well done|great job|good job)\b"
    r"|(?:that'?s|this is) (?:exactly|just|precisely) (?:right|it|how|what)|just how i like|perfekt\b|genau so\b)",
    re.IGNORECASE,
)

_GOOD_SIGNS = frozenset({"👍", "+1", "thumbsup", "❤", "heart", "💯", "100", "✅", "white_check_mark"})
_BAD_SIGNS = frozenset({"👎", "-1", "thumbsdown", "❌", "x"})
_VARIANTS = re.compile("[\U0001f3fb-\U0001f3ff\ufe0f]|::skin-tone-\\d")

WORDS = "words"
"""What a verdict that a message gave is named by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a person made known of one answer.

    Attributes:
        by: the reaction, or ``WORDS`` for the message that followed.
        success: whether the answer was good.
    """

    by: str
    success: bool


def with_verdict(verdicts: Sequence[Verdict], verdict: Verdict) -> tuple[Verdict, ...]:
    """The verdicts with a further one, unless it is among them."""
    return tuple(verdicts) if verdict in verdicts else (*verdicts, verdict)


def without_verdict(verdicts: Sequence[Verdict], by: str) -> tuple[Verdict, ...]:
    """The verdicts without one that was taken back."""
    return tuple(verdict for verdict in verdicts if verdict.by != by)


def in_force(verdicts: Sequence[Verdict]) -> bool | None:
    """What counts of several verdicts on one answer: the last; None where there is none."""
    return verdicts[-1].success if verdicts else None


def judged(text: str) -> bool | None:
    """Whether a message begins by praising or correcting the answer before it; None where it does neither."""
    if _WRONG.match(text):
        return False
    return True if _RIGHT.match(text) else None


def reaction(sign: str) -> bool | None:
    """What a reaction says of the message it is on; None where it says neither.

    Args:
        sign: an emoji, or its name without colons.
    """
    plain = _VARIANTS.sub("", sign).strip(":")
    if plain in _GOOD_SIGNS:
        return True
    return False if plain in _BAD_SIGNS else None


def next_rate(rate: float | None, *, success: bool) -> float:
    """The running success rate: first 1 or 0, then 0.9 of the old and 0.1 of the new."""
    outcome = 1.0 if success else 0.0
    return outcome if rate is None else _KEPT_SHARE * rate + (1 - _KEPT_SHARE) * outcome


def rate_without(rate: float, *, success: bool) -> float:
    """The running success rate before its last outcome: the inverse of ``next_rate``, kept between 0 and 1.

    It is exact for the last outcome, and close for an earlier one, which weighs less than a tenth by then.
    """
    outcome = 1.0 if success else 0.0
    return min(1.0, max(0.0, (rate - (1 - _KEPT_SHARE) * outcome) / _KEPT_SHARE))
