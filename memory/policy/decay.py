"""How the worth of a distilled entry decays with age and is refreshed by use.

``score = importance x exp(-age in days / 30) x (1 + 0.1 x accesses)``. The thirty days are a decay constant, after
which 0.368 is left, and no half-life.

Invariant: a score never falls with importance or use and never rises with age.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

DECAY_DAYS = 30.0
REINFORCEMENT = 0.1
FROZEN_BELOW = 0.05

_DAY = timedelta(days=1)
_LONGEST = timedelta(days=36_500)


def score(importance: float, age_days: float, access_count: int) -> float:
    """The worth of an entry.

    Args:
        importance: 0 to 1.
        age_days: days since it happened; one of the future has the age 0.
        access_count: how often it was given to somebody.
    """
    return importance * math.exp(-max(0.0, age_days) / DECAY_DAYS) * (1 + REINFORCEMENT * access_count)


def score_at(now: datetime, *, importance: float, created_at: datetime, access_count: int) -> float:
    """The same at a moment."""
    return score(importance, (now - created_at) / _DAY, access_count)


def frozen_at(*, importance: float, created_at: datetime, access_count: int) -> datetime:
    """When the score falls below 0.05: the formula solved for the age."""
    fresh = score(importance, 0, access_count)
    if fresh <= FROZEN_BELOW:
        return created_at
    return created_at + min(_LONGEST, timedelta(days=DECAY_DAYS * math.log(fresh / FROZEN_BELOW)))
