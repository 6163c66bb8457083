"""How what the indexes say of an entry becomes one score.

Invariant: scores lie between 0 and 1 (archival scores below 1.2), so that hits of two sources can be put in one
order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memory.policy.late_interaction import Places, likenesses, telling
from memory.policy.question_kinds import fitness, kinds_asked_for
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
_SEEN_IN_PLACE = 0.4  # of the candidates (0.3: .849 .665, 1: .851 .665, for two fifths more of a search's time)
_LEAST_SEEN_IN_PLACE = 10

_SIMILAR = 0.30  # a cosine that is worth mentioning

_WORD = re.compile(r"[^\W_]+")

_ACCESS_BOOST = 0.2
_ACCESSES_OF_HALF_BOOST = 10

Scores = NDArray[np.float64]


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
    words = np.array([entry.text_score for entry in found])
    meaning = np.maximum(0.0, [entry.similarity or 0.0 for entry in found])
    best_text = words.max(initial=0.0)
    shares = words / best_text if best_text > 0 else np.zeros(len(found))
    return _best_of_each(found, shares, (shares + _COSINE_WEIGHT * meaning) / (1.0 + _COSINE_WEIGHT))


def _best_of_each(entries: Sequence[EntryScore], text_shares: Scores, scores: Scores) -> list[RankedEntry]:
    """Of each record its best entry, best first; of equals the newest."""
    record_ids = [entry.record_id for entry in entries]
    order = np.lexsort((np.negative(record_ids), -scores)).tolist()
    best: dict[int, int] = {}
    for place in order:
        best.setdefault(record_ids[place], place)
    shares, each = text_shares.tolist(), scores.tolist()
    return [RankedEntry(entry=entries[place], text_share=shares[place], score=each[place]) for place in best.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """An entry looked at more closely.

    Attributes:
        entry: what the indexes say of it.
        text_share: its full-text score as a share of the best one of this search, 0 to 1.
        text: what it says, as it is indexed.
        matches: how well it answers each token of the query, from ``late_interaction.best_matches``; or its cosine
            similarity alone, where the embedder gives no token vectors. None where it is not embedded yet.
        before, after: the ids of the entries before and after it, where these were looked at too.
    """

    entry: EntryScore
    text_share: float
    text: str
    matches: Vectors | None
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known of the record that an excerpt is of.

    Attributes:
        group: the session it was said in, or the text it is a piece of. Entries of two groups say nothing of each
            other.
        at: when it was said; only needed where the query asks about a time.
        author: who said it.
        learned: how well each fact that was learned from it answers each token of the query.
        corrected: whether the person corrected what was learned from it.
    """

    group: int
    at: datetime | None = None
    author: str = ""
    learned: Sequence[Vectors] = ()
    corrected: bool = False


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
    known = list({one.entry.entry_id: one for one in excerpts if one.entry.record_id in settings}.values())
    if not known:
        return []
    those = [settings[excerpt.entry.record_id] for excerpt in known]
    groups = np.unique([setting.group for setting in those], return_inverse=True)[1]
    shares = np.array([excerpt.text_share for excerpt in known])
    scores = _closer_scores(known, shares, _likenesses(known, those, groups, tokens), late=tokens is not None)
    scores *= _boosts(those, query, periods)
    kinds = kinds_asked_for(query)
    scores *= [fitness(excerpt.text, kinds) for excerpt in known]
    return _best_of_each([excerpt.entry for excerpt in known], shares, _smoothed(scores, groups))


def candidates_of(limit: int) -> int:
    """How many of the best candidates are worth a closer look, for that many results."""
    return max(_LEAST_CANDIDATES, _CANDIDATES_OF_EACH * limit)


def seen_in_place(candidates: int) -> int:
    """Of how many of the best among so many candidates the closer look takes in what stands beside them, too."""
    return max(_LEAST_SEEN_IN_PLACE, round(_SEEN_IN_PLACE * candidates))


def _likenesses(
    known: Sequence[Excerpt], settings: Sequence[Setting], groups: Places, tokens: Vectors | None
) -> Vectors:
    """Of each excerpt, by what it says itself and what stands beside it in its group; any number where not embedded."""
    nothing = np.full(1 if tokens is None else len(tokens), -np.inf, dtype=np.float32)
    matches = np.array([nothing if excerpt.matches is None else excerpt.matches for excerpt in known])
    compared = matches[[excerpt.matches is not None for excerpt in known]]
    learned = [(row, fact) for row, setting in enumerate(settings) for fact in setting.learned]
    counting = 1.0 if tokens is None else telling(tokens, compared)
    return likenesses(matches, _beside(known, groups), learned, counting)


def _beside(known: Sequence[Excerpt], groups: Places) -> Places:
    """What stands beside each excerpt in its group, as ``likenesses`` takes it."""
    nothing = len(known)
    row_of: dict[int | None, int] = {excerpt.entry.entry_id: row for row, excerpt in enumerate(known)}
    before = [row_of.get(excerpt.before, nothing) for excerpt in known]
    after = [row_of.get(excerpt.after, nothing) for excerpt in known]
    beside = np.array([before, after], dtype=np.intp).T
    return np.where(np.append(groups, -1)[beside] == groups[:, None], beside, nothing)


def _closer_scores(known: Sequence[Excerpt], share: Scores, likeness: Vectors, *, late: bool) -> Scores:
    """What excerpts say, by their meaning and a little by their words."""
    own = np.array([max(0.0, excerpt.entry.similarity or 0.0) for excerpt in known])
    embedded = np.array([excerpt.matches is not None for excerpt in known])
    meaning = (1.0 - _COSINE_SHARE) * likeness.astype(np.float64) + _COSINE_SHARE * own
    alike = np.where(embedded, meaning, _LIKENESS_OF_WORDS_ALONE * share)
    weight = _TEXT_WEIGHT if late else _TEXT_WEIGHT_WITHOUT_TOKENS
    return np.maximum(0.0, (weight * share + alike) / (weight + 1.0))


def _boosts(settings: Sequence[Setting], query: str, periods: Sequence[Period]) -> list[float]:
    """The factors for who said it, for whether it is true still, and for when it was said."""
    named = frozenset(_WORD.findall(query.lower()))
    speakers = {
        author: 1.0 if named.isdisjoint(_WORD.findall(author.lower())) else _SPEAKER_BOOST
        for author in {setting.author for setting in settings}
    }
    boosts = [
        speakers[setting.author] * (_SHARE_OF_THE_CORRECTED if setting.corrected else 1.0) for setting in settings
    ]
    if not periods:
        return boosts
    of_then = _PERIOD_BOOST_ALONE if names_only_a_time(query) else _PERIOD_BOOST
    return [
        boost * (of_then if setting.at is not None and any(setting.at in period for period in periods) else 1.0)
        for boost, setting in zip(boosts, settings, strict=True)
    ]


def _smoothed(scores: Scores, groups: Places) -> Scores:
    """The scores with a share of what the best of their group have, each at most 1."""
    by_group = np.lexsort((-scores, groups))
    place = np.arange(len(scores)) - np.searchsorted(groups[by_group], groups[by_group])
    best = by_group[place < _SESSION_BEST]
    share = _SESSION_SHARE * np.bincount(groups[best], weights=scores[best]) / _SESSION_BEST
    return np.minimum(1.0, (scores + share[groups]) / (1.0 + _SESSION_SHARE))


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
