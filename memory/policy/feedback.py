"""How well something worked, from what people say and how they react, and the running rate of it."""

from __future__ import annotations

import re

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

_GOOD_SIGNS = frozenset({"👍", "+1", "thumbsup", "❤️", "heart", "💯", "100", "✅", "white_check_mark"})
_BAD_SIGNS = frozenset({"👎", "-1", "thumbsdown", "❌", "x"})
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff]|::skin-tone-\\d")


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
    plain = _SKIN_TONES.sub("", sign).strip(":")
    if plain in _GOOD_SIGNS:
        return True
    return False if plain in _BAD_SIGNS else None


def next_rate(rate: float | None, *, success: bool) -> float:
    """The running success rate: first 1 or 0, then 0.9 of the old and 0.1 of the new."""
    outcome = 1.0 if success else 0.0
    return outcome if rate is None else _KEPT_SHARE * rate + (1 - _KEPT_SHARE) * outcome
