"""How archival memory fades: the rank of what a search finds, and when what nobody needs is let go of.

Two rules, of which an installation has one (``ARCHIVAL_FADING``). With ``reuse`` age weighs little, and only what is
old, unimportant and hardly read, all three, is forgotten. With ``steady`` everything fades at one rate from its last
reading on, faster the less important it is.

Invariant: nothing fades while it is read, and scores rise with similarity and importance and never with age.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from memory.parameters import Fading
from memory.policy.ranking import archival_score

_DECAY_RATE = 0.1  # per day
_FORGOTTEN_BELOW = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What is known of a passage's worth.

    Attributes:
        importance: 0 to 1.
        idle_days: days since a search last returned it, or since it was stored.
        accesses: how often a search returned it.
    """

    importance: float
    idle_days: float
    accesses: int


def faded_score(rule: Fading, similarity: float, worth: Worth, *, recency_weight: float = 0.1) -> float:
    """The rank of a passage.

    Args:
        rule: the rule in force.
        similarity: the score of ``rank``, 0 to 1.
        worth: what is known of it.
        recency_weight: how fast it fades by the rule ``reuse``, per day.
    """
    if rule is Fading.STEADY:
        return similarity * strength(worth)
    return archival_score(
        similarity=similarity,
        importance=worth.importance,
        days_since_access=worth.idle_days,
        access_count=worth.accesses,
        recency_weight=recency_weight,
    )


def strength(worth: Worth) -> float:
    """What is left of a passage by the rule ``steady``: ``importance x exp(-0.1 x idle days)``."""
    return worth.importance * math.exp(-_DECAY_RATE * max(0.0, worth.idle_days))


def is_let_go(
    rule: Fading, worth: Worth, *, threshold_days: float = 90, min_importance: float = 0.3, min_accesses: int = 3
) -> bool:
    """Whether a passage is to be forgotten.

    Args:
        rule: the rule in force.
        worth: what is known of it.
        threshold_days, min_importance, min_accesses: by the rule ``reuse`` it must be idle for longer, less important
            and less often read.
    """
    if rule is Fading.STEADY:
        return strength(worth) < _FORGOTTEN_BELOW
    return worth.idle_days > threshold_days and worth.importance < min_importance and worth.accesses < min_accesses


def first_accesses(rule: Fading) -> int:
    """How often a passage counts as read when it is stored."""
    return 1 if rule is Fading.STEADY else 0


def why_let_go(rule: Fading) -> str:
    """The reason to be kept with a forgotten passage."""
    return "faded" if rule is Fading.STEADY else "old, unimportant and hardly read"
