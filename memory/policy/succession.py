"""Which of two statements comes first where the one took the place of the other: the present one.

"I live in Oslo" may answer "Do I live in Oslo?" in more of its words than "I moved to Rome" does, and is yet the worse
answer. The old statement keeps its place, right behind the present one: it tells since when, and what was before.

Invariant: nothing is lost, and no score rises above the best of what it took the place of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memory.policy.ranking import RankedEntry


def present_first(
    shown: Sequence[RankedEntry], known: Sequence[RankedEntry], later: Mapping[int, Collection[int]]
) -> list[RankedEntry]:
    """What is shown with what took its place before it, best first; of equals the newest.

    Args:
        shown: what is worth showing.
        known: all that was looked at, from which what took the place of something shown is taken.
        later: by record, the records that said what took its place.
    """
    if not later:
        return list(shown)
    candidates = {one.entry.record_id: one for one in known}
    chosen = {one.entry.record_id: one for one in shown}
    for one in shown:
        for newer in _all_after(one.entry.record_id, later) & candidates.keys():
            present = chosen.get(newer, candidates[newer])
            chosen[newer] = replace(present, score=max(present.score, one.score))
    return sorted(chosen.values(), key=lambda ranked: (-ranked.score, -ranked.entry.record_id))


def _all_after(record_id: int, later: Mapping[int, Collection[int]]) -> set[int]:
    """What took the record's place, what took the place of that, and so on."""
    after: set[int] = set()
    following = set(later.get(record_id, ()))
    while following:
        after |= following
        following = {newer for one in following for newer in later.get(one, ())} - after
    return after - {record_id}
