"""From what every source found to one list: each thing once, the best of each kind, in one order.

Invariant: of two hits that say the same the one of the more lasting kind stays, and what is left out loses no number,
date, name or link that the other does not hold. A message makes way for a fact that was learned from it only where
nobody asked for messages and the fact has all its words. An entry is left out beside the message that it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memory.indexes.stop_words import STOP_WORDS
from memory.policy.details import keeps_details
from memory.policy.fact_text import normalised
from memory.records import SearchHit, Source

# Of equal meaning. With all-MiniLM-L6-v2 two facts in nearly the same words lie above it, and two of one subject
# ("... lives in Oslo", "... works in Oslo") below.
_SAME_MEANING = 0.90

_WORD = re.compile(r"[^\W_]+")
_ENDING = 2  # letters in which two forms of a word may differ ("keep", "keeps")

# What is kept of two hits that say the same, the first of these.
_LASTING = (Source.PROCEDURE, Source.FACT, Source.EPISODE, Source.ARCHIVAL, Source.JOURNAL, Source.ENTRY, Source.RECALL)


def merged(found: Sequence[SearchHit], most: Mapping[Source, int], *, unasked: bool) -> tuple[SearchHit, ...]:
    """The hits to show, best first.

    Args:
        found: what the sources found, in no order.
        most: how many hits of a source there may be; sources with the same number of messages and documents share it
            (``RECALL`` and ``ARCHIVAL``).
        unasked: nobody searches; what is shown has to be short.
    """
    kept: list[SearchHit] = []
    said: set[str] = set()
    for hit in sorted(found, key=lambda hit: (_LASTING.index(hit.source), -hit.score)):
        words = normalised(hit.text)
        if words not in said and not any(
            _means_the_same(one, hit) or (unasked and _tells_all(one, hit)) for one in kept
        ):
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


def _tells_all(kept: SearchHit, hit: SearchHit) -> bool:
    """Whether a fact has all the words with content of the message that it was learned from."""
    if kept.source is not Source.FACT or hit.source is not Source.RECALL or hit.record_id not in kept.message_ids:
        return False
    told = _content(kept.text)
    return all(any(_is_a_form_of(word, other) for other in told) for word in _content(hit.text))


def _content(text: str) -> set[str]:
    words = _WORD.findall(normalised(text))
    return {word for word in words if word not in STOP_WORDS and (len(word) > 1 or not word.isascii())}


def _is_a_form_of(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    return longer.startswith(shorter) and len(longer) - len(shorter) <= _ENDING
