"""From which score on a tier is the right one, and what must leave the warm tier.

Invariant: what is old but still worth enough stays, as long as there is room; what makes room is worth least.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memory.policy.decay import score_at
from memory.records import TierEntry

PROMOTED_FROM = 0.7
WARM_FROM = 0.3

AGED = "aged"
MADE_ROOM = "made room"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmLimits:
    """How much the warm tier of a scope holds.

    Attributes:
        max_bytes: size of all entries together, as ``size_of`` counts it.
        retention: an entry older than this leaves once it is worth less than the threshold.
        threshold: that worth.
    """

    max_bytes: int = 50 * 1024
    retention: timedelta = timedelta(days=30)
    threshold: float = WARM_FROM


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """An entry that must leave the warm tier, and why."""

    entry: TierEntry
    reason: str


def current_score(entry: TierEntry, now: datetime) -> float:
    """What an entry is worth now."""
    return score_at(now, importance=entry.importance, created_at=entry.created_at, access_count=entry.access_count)


def size_of(entry: TierEntry) -> int:
    """Bytes that an entry takes: its text and its metadata as JSON."""
    return size_of_text(entry.text, entry.metadata)


def size_of_text(text: str, metadata: Mapping[str, Any]) -> int:
    """The same of what is about to be kept."""
    told = json.dumps(dict(metadata), ensure_ascii=False) if metadata else ""
    return len(text.encode()) + len(told.encode())


def evictions(entries: Iterable[TierEntry], *, now: datetime, limits: WarmLimits) -> list[Eviction]:
    """What must leave, the least worth first.

    Args:
        entries: the warm entries of a scope.
        now: the present moment.
        limits: what they are held to.
    """
    ranked = sorted(entries, key=lambda entry: (current_score(entry, now), entry.created_at, entry.id))
    aged = [entry for entry in ranked if _is_aged(entry, now, limits)]
    gone = [Eviction(entry=entry, reason=AGED) for entry in aged]
    left = [entry for entry in ranked if not _is_aged(entry, now, limits)]
    return gone + _making_room(left, limits.max_bytes)


def _is_aged(entry: TierEntry, now: datetime, limits: WarmLimits) -> bool:
    return now - entry.created_at > limits.retention and current_score(entry, now) < limits.threshold


def _making_room(ranked: Sequence[TierEntry], max_bytes: int) -> list[Eviction]:
    size = sum(map(size_of, ranked))
    gone = []
    for entry in ranked:
        if size <= max_bytes:
            break
        size -= size_of(entry)
        gone.append(Eviction(entry=entry, reason=MADE_ROOM))
    return gone
