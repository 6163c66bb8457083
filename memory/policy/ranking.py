"""How what the indexes say of an entry becomes one score.

Invariant: scores lie between 0 and 1 (archival scores below 1.2), so that hits of two sources can be put in one
order.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from memory.policy.late_interaction import Around, likenesses, telling
from memory.policy.question_kinds import Kind, fitness, kinds_asked_for
from memory.policy.time_expressions import Period, names_only_a_time
from memory.ports import Vectors
from memory.records import EntryScore

_COSINE_WEIGHT = 2.0  # against 1 for full text; the plain sum finds more than rank fusion does

# The closer look. In brackets recall@10 and mean reciprocal rank of the turns that answer questions about five public
# conversations of two people (bench/retrieval.py, categories 1-4): .852 and .665 with all of this.
_TEXT_WEIGHT = 0.025  # against 1 for MaxSim, which knows most words by itself (0: .845 .663, 0.05: .848 .661)
# Against 1 for the cosine: then .756 and .565, and the one statement asked for comes first in .58 of cases (0.3: .756,
# .574 and .51; 0.1: .734, .529 and .72).
_TEXT_WEIGHT_WITHOUT_TOKENS = 0.2
# The cosine's share beside MaxSim. It costs a little there (0.1: .849 .675), but of a hundred single statements it
# lifts the one asked for among the first five in .91 of cases instead of .87.
_COSINE_SHARE = 0.25
_LIKENESS_OF_WORDS_ALONE = 0.5  # of the best match in words where there is no vector yet: that of a good answer
_SPEAKER_BOOST = 1.1  # for "What did Ann say?" (1: .843 .645, 1.2: .846 .667)
_PERIOD_BOOST = 1.2  # for "What did I say last Monday?", which names little else (1: .845 .654; few ask so there)
_PERIOD_BOOST_ALONE = 4.0  # where the time is all that it names: then before any likeness of words without content
_SHARE_OF_THE_CORRECTED = 0.8  # what the person set right since is found still, but behind what is as much alike
_SESSION_SHARE = 0.3  # an answer is more credible in a conversation about its subject (0: .839 .664, 0.6: .845 .662)
_SESSION_BEST = 3
_LEAST_CANDIDATES = 40
_CANDIDATES_OF_EACH = 5  # for twenty results (3: .845 .664, 10: .852 .665)

_SIMILAR = 0.30  # a cosine that is worth mentioning

_WORD = re.compile(r"[^\W_]+")

_ACCESS_BOOST = 0.2
_ACCESSES_OF_HALF_BOOST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEntry:
    """An entry in its place among everything one search found.

    Attributes:
        entry: what the indexes said.
        text_share: its full-text score as a share of the best one of this search, 0 to 1.
        score: text and meaning together, 0 to 1.
    """

    entry: EntryScore
    text_share: float
    score: float


def rank(found: Sequence[EntryScore]) -> list[RankedEntry]:
    """One entry of each record, its best one, best first.

    The score is ``(text / best text + 2 x cosine) / 3``; what only one index found counts 0 on the other side.

    Args:
        found: everything one search found, in any order.
    """
    best_text = max((entry.text_score for entry in found), default=0.0)
    return _best_of_each(_ranked(entry, best_text) for entry in found)


def _best_of_each(found: Iterable[RankedEntry]) -> list[RankedEntry]:
    """Of each record its best entry, best first; of equals the newest."""
    best: dict[int, RankedEntry] = {}
    for candidate in found:
        present = best.get(candidate.entry.record_id)
        if present is None or candidate.score > present.score:
            best[candidate.entry.record_id] = candidate
    return sorted(best.values(), key=lambda ranked: (-ranked.score, -ranked.entry.record_id))


def _ranked(entry: EntryScore, best_text: float) -> RankedEntry:
    text_share = entry.text_score / best_text if best_text > 0 else 0.0
    similarity = max(0.0, entry.similarity or 0.0)
    score = (text_share + _COSINE_WEIGHT * similarity) / (1.0 + _COSINE_WEIGHT)
    return RankedEntry(entry=entry, text_share=text_share, score=score)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """An entry looked at more closely.

    Attributes:
        entry: what the indexes say of it.
        text_share: its full-text score as a share of the best one of this search, 0 to 1.
        text: what it says.
        matches: how well it answers each token of the query, from ``late_interaction.best_matches``; or its cosine
            similarity alone, where the embedder gives no token vectors. None where it is not embedded yet.
        beside: the ids of the entries before and after it.
    """

    entry: EntryScore
    text_share: float
    text: str
    matches: Vectors | None
    beside: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known of the record that an excerpt is of.

    Attributes:
        group: the session it was said in, or the text it is a piece of. Entries of two groups say nothing of each
            other.
        at: when it was said or stored.
        author: who said it.
        learned: how well each fact that was learned from it answers each token of the query.
        corrected: whether the person corrected what was learned from it.
    """

    group: int
    at: datetime
    author: str = ""
    learned: Sequence[Vectors] = ()
    corrected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A query as excerpts are measured by it.

    Attributes:
        words: in lower case.
        kinds: the kinds of answer that it wants.
        periods: the times that it asks about.
        in_period: the boost of what was said then.
        late: whether matches are of single tokens.
        counting: what each match counts for.
    """

    words: frozenset[str]
    kinds: Sequence[Kind]
    periods: Sequence[Period]
    in_period: float
    late: bool
    counting: Vectors | float


def rerank(
    excerpts: Sequence[Excerpt],
    settings: Mapping[int, Setting],
    query: str,
    *,
    tokens: Vectors | None,
    periods: Sequence[Period] = (),
) -> list[RankedEntry]:
    """One entry of each record, its best one, best first; of equals the newest.

    Args:
        excerpts: candidates and what stands beside them.
        settings: by record id; an excerpt of a record that is not here is left out.
        query: the text that was searched for.
        tokens: its tokens, from ``late_interaction.query_tokens``; None where matches are not of single tokens.
        periods: the times that the query asks about.
    """
    known = {excerpt.entry.entry_id: excerpt for excerpt in excerpts if excerpt.entry.record_id in settings}
    compared = [excerpt.matches for excerpt in known.values() if excerpt.matches is not None]
    asked = _Asked(
        words=frozenset(_WORD.findall(query.lower())),
        kinds=kinds_asked_for(query),
        periods=periods,
        in_period=_PERIOD_BOOST_ALONE if names_only_a_time(query) else _PERIOD_BOOST,
        late=tokens is not None,
        counting=1.0 if tokens is None else telling(tokens, compared),
    )
    embedded = _around(known, settings)
    likeness = dict(zip(embedded, likenesses(list(embedded.values()), asked.counting), strict=True))
    groups: defaultdict[int, list[RankedEntry]] = defaultdict(list)
    for entry_id, excerpt in known.items():
        setting = settings[excerpt.entry.record_id]
        score = _closer_score(excerpt, likeness.get(entry_id), asked) * _boost(setting, asked)
        score *= fitness(excerpt.text, asked.kinds)
        groups[setting.group].append(RankedEntry(entry=excerpt.entry, text_share=excerpt.text_share, score=score))
    return _best_of_each(ranked for group in groups.values() for ranked in _smoothed(group))


def _around(known: Mapping[int, Excerpt], settings: Mapping[int, Setting]) -> dict[int, Around]:
    """The matches of each embedded excerpt, of what stands beside it in its group, and of what stands beside that."""
    setting_of = {entry_id: settings[excerpt.entry.record_id] for entry_id, excerpt in known.items()}
    beside_of = {entry_id: excerpt.beside & known.keys() for entry_id, excerpt in known.items()}

    def matched(entry_ids: Iterable[int], group: int) -> list[Vectors]:
        found = [known[entry_id].matches for entry_id in entry_ids if setting_of[entry_id].group == group]
        return [matches for matches in found if matches is not None]

    around: dict[int, Around] = {}
    for entry_id, excerpt in known.items():
        if excerpt.matches is None:
            continue
        setting, beside = setting_of[entry_id], beside_of[entry_id]
        beyond = {one for neighbour in beside for one in beside_of[neighbour]} - beside
        beyond.discard(entry_id)
        around[entry_id] = Around(
            own=excerpt.matches,
            beside=matched(beside, setting.group),
            further=matched(beyond, setting.group),
            learned=setting.learned,
        )
    return around


def candidates_of(limit: int) -> int:
    """How many of the best candidates are worth a closer look, for that many results."""
    return max(_LEAST_CANDIDATES, _CANDIDATES_OF_EACH * limit)


def _closer_score(excerpt: Excerpt, likeness: float | None, asked: _Asked) -> float:
    if likeness is None:
        alike = _LIKENESS_OF_WORDS_ALONE * excerpt.text_share
    else:
        own = max(0.0, excerpt.entry.similarity or 0.0)
        alike = (1.0 - _COSINE_SHARE) * likeness + _COSINE_SHARE * own
    weight = _TEXT_WEIGHT if asked.late else _TEXT_WEIGHT_WITHOUT_TOKENS
    return max(0.0, (weight * excerpt.text_share + alike) / (weight + 1.0))


def _boost(setting: Setting, asked: _Asked) -> float:
    speaker = 1.0 if asked.words.isdisjoint(_words(setting.author)) else _SPEAKER_BOOST
    truth = _SHARE_OF_THE_CORRECTED if setting.corrected else 1.0
    period = asked.in_period if any(setting.at in period for period in asked.periods) else 1.0
    return speaker * truth * period


@lru_cache(256)  # a conversation has few authors
def _words(author: str) -> frozenset[str]:
    return frozenset(_WORD.findall(author.lower()))


def _smoothed(group: Sequence[RankedEntry]) -> list[RankedEntry]:
    """The entries of one group with a share of what the best of them have, each score at most 1."""
    best = sorted((ranked.score for ranked in group), reverse=True)[:_SESSION_BEST]
    share = _SESSION_SHARE * sum(best) / _SESSION_BEST
    return [
        RankedEntry(
            entry=ranked.entry,
            text_share=ranked.text_share,
            score=min(1.0, (ranked.score + share) / (1.0 + _SESSION_SHARE)),
        )
        for ranked in group
    ]


def why_found(ranked: RankedEntry) -> str:
    """Why a search returned the entry, in a few words for people."""
    reasons = []
    if ranked.text_share > 0:
        reasons.append("words in common")
    if ranked.entry.similarity is not None and ranked.entry.similarity >= _SIMILAR:
        reasons.append(f"similar meaning ({ranked.entry.similarity:.2f})")
    return " and ".join(reasons) or "the nearest there is"


def archival_score(
    *,
    similarity: float,
    importance: float,
    days_since_access: float,
    access_count: int,
    recency_weight: float,
) -> float:
    """The rank of an archival passage.

    ``similarity x (0.5 + 0.5 x importance) x (0.7 + 0.3 x exp(-recency_weight x days)) x access factor``. The
    access factor is 1 for a passage never returned before and nears 1.2 for one returned often: bounded, so that
    what was once popular cannot crowd out the rest.

    Args:
        similarity: the score of ``rank``, 0 to 1.
        importance: 0 to 1.
        days_since_access: days since a search last returned it, or since it was stored.
        access_count: how often a search returned it.
        recency_weight: how fast it fades, per day; 0 for not at all.
    """
    recency = 0.7 + 0.3 * math.exp(-recency_weight * max(0.0, days_since_access))
    frequency = 1.0 + _ACCESS_BOOST * access_count / (access_count + _ACCESSES_OF_HALF_BOOST)
    return similarity * (0.5 + 0.5 * importance) * recency * frequency
