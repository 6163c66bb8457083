"""One list from many sources."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memory.policy.merging import merged
from memory.records import Scope, SearchHit, Source
from tests.fakes import START

ANN = Scope(person="console:ann", audience="dm")
MOST = {Source.RECALL: 2, Source.FACT: 1, Source.EPISODE: 1, Source.PROCEDURE: 1}


def hit(source: Source, text: str, score: float, direction: float | None = None) -> SearchHit:
    vector = None if direction is None else np.array([np.cos(direction), np.sin(direction)], dtype=np.float32)
    return SearchHit(
        source=source,
        scope=ANN,
        record_id=len(text),
        score=score,
        text=text,
        author=None,
        at=START,
        reason="",
        vector=vector,
    )


def test_all_kinds_stand_in_one_order_and_none_takes_more_than_its_share() -> None:
    found = [hit(Source.RECALL, f"message {n}", 0.5 + n / 10) for n in range(4)]
    found += [hit(Source.ARCHIVAL, "document", 0.95), hit(Source.FACT, "fact", 0.6), hit(Source.PROCEDURE, "how", 1.0)]
    assert [one.text for one in merged(found, MOST, unasked=True)] == ["how", "document", "message 3", "fact"]


def test_of_the_same_words_the_more_lasting_kind_stays() -> None:
    found = [hit(Source.RECALL, "I like tea", 0.9), hit(Source.FACT, "i like  TEA", 0.4)]
    assert [one.source for one in merged(found, MOST, unasked=True)] == [Source.FACT]


def test_of_the_same_meaning_one_stays_unless_a_detail_would_be_lost() -> None:
    told = hit(Source.FACT, "User likes tea in the morning", 0.4, 0.0)
    again = hit(Source.RECALL, "Tea is what I like in the mornings", 0.9, 0.1)
    another = hit(Source.RECALL, "I drink tea at 9:40 in the morning", 0.9, 0.1)
    elsewhere = hit(Source.RECALL, "I like coffee", 0.9, 1.0)
    assert merged([told, again], MOST, unasked=True) == (told,)
    assert set(merged([told, another], MOST, unasked=True)) == {told, another}
    assert set(merged([told, elsewhere], MOST, unasked=True)) == {told, elsewhere}


def test_a_message_makes_way_for_a_fact_that_was_learned_from_it_and_has_all_its_words() -> None:
    said = hit(Source.RECALL, "My sister Clara keeps two bees!", 0.9)
    fact = replace(hit(Source.FACT, "User's sister Clara keeps two bees", 0.5), message_ids=(said.record_id,))
    shorter = replace(fact, text="User's sister keeps bees")
    assert merged([said, fact], MOST, unasked=True) == (fact,)
    assert set(merged([said, shorter], MOST, unasked=True)) == {said, shorter}
    assert set(merged([said, fact], MOST, unasked=False)) == {said, fact}
    assert set(merged([said, replace(fact, message_ids=(1,))], MOST, unasked=True)) == {
        said,
        replace(fact, message_ids=(1,)),
    }
