"""From what every source found to one list: each thing once, the best of each kind, in one order.

Invariant: of two hits that say the same the one of the more lasting kind stays, and what is left out loses no number,
date, name or link that the other does not hold. An entry is left out beside the message that it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.policy.details import keeps_details
from memory.policy.fact_text import normalised
from memory.records import SearchHit, Source

# Of equal meaning. With all-MiniLM-L6-v2 two facts in nearly the same words lie above it, and two of one subject
# ("... lives in Oslo", "... works in Oslo") below.
_SAME_MEANING = 0.90

# What is kept of two hits that say the same, the first of these.
_LASTING = (Source.PROCEDURE, Source.FACT, Source.EPISODE, Source.ARCHIVAL, Source.JOURNAL, Source.ENTRY, Source.RECALL)


def merged(found: Sequence[SearchHit], most: Mapping[Source, int]) -> tuple[SearchHit, ...]:
    """The hits to show, best first.

    Args:
        found: what the sources found, in no order.
        most: how many hits of a source there may be; sources with the same number of messages and documents share it
            (``RECALL`` and ``ARCHIVAL``).
    """
    kept: list[SearchHit] = []
    said: set[str] = set()
    for hit in sorted(found, key=lambda hit: (_LASTING.index(hit.source), -hit.score)):
        words = normalised(hit.text)
        if words not in said and not any(_means_the_same(one, hit) for one in kept):
            kept.append(hit)
            said.add(words)
    ranked = sorted(kept, key=lambda hit: -hit.score)
    counts = dict.fromkeys(Source, 0)
    chosen = []
    for hit in ranked:
        kind = _counted_as(hit.source)
        if counts[kind] < most.get(kind, 0):
            counts[kind] += 1
            chosen.append(hit)
    whole = {hit.record_id for hit in chosen if hit.source is Source.RECALL}
    return tuple(hit for hit in chosen if hit.source is not Source.ENTRY or whole.isdisjoint(hit.message_ids))


def _counted_as(source: Source) -> Source:
    return Source.RECALL if source is Source.ARCHIVAL else source


def _means_the_same(kept: SearchHit, hit: SearchHit) -> bool:
    if kept.vector is None or hit.vector is None:
        return False
    return float(kept.vector @ hit.vector) >= _SAME_MEANING and keeps_details(kept.text, of=hit.text)
