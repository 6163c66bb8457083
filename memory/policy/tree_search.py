"""Which categories of a tree a query is about, and which of what is filed there answers it best.

The keyword score of a category is ``words in common / words of the query x min(1 + 0.1 x warm + 0.01 x cold, 2) x
recency``, where recency is 1.5 for one that was active within 7 days, 1.2 within 30, and 1 otherwise; counts and
activity are those at and below it.

Invariant: a route leads to a path that exists, and nothing is found for a query without a word of content.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from memory.indexes.words import content_words
from memory.policy.category_tree import Counts, ancestors, home_of, inclusive, is_within
from memory.policy.loose_json import read_json
from memory.policy.relevance import has_content, speaks_of_oneself
from memory.policy.text import clean
from memory.policy.tiers import current_score
from memory.records import ROOT, Fact, Scope, SearchHit, Source, TierEntry, Tree, TreeNode

_MOST_ROUTES = 5
FOLLOWED_ROUTES = 3
"""So many of the best are followed."""

_MOST_LISTED = 50  # categories that a model is shown
_LEAST_RELEVANCE = 0.3  # what a model finds less relevant, or as much, is left out
_LONGEST_REASON = 200  # characters
_BEST_KEYWORD_SCORE = 3.0  # of a category named by every word, full and active
_BOOSTED_AT_MOST = 2.0

# What a message must have in common with a category or an entry for it to be shown unasked, as a share of the message's
# words. One that speaks of its writer may ask for a memory in other words than it was told.
_ROUTE_OF_ONESELF = 0.5
_ROUTE_OF_THE_WORLD = 1.0
_WORDS_OF_ONESELF = 0.25
_WORDS_OF_THE_WORLD = 0.6

# An answer shares words with its question; of two that do alike, the category decides and then the worth.
_WORDS_WEIGHT = 0.5
_ROUTE_WEIGHT = 0.3
_WORTH_WEIGHT = 0.2

_ENDINGS = frozenset({"s", "es", "d", "ed", "ing", "er", "ers"})
_SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A way to where something may be filed.

    Attributes:
        path: of a category, or of a part of the hot state such as ``active_context/events``.
        relevance: 0 to 1 as a model judges it; the keyword score, 0 to 3, where words do.
        reason: why, in a few words.
        weight: the relevance as a share of the highest there can be.
    """

    path: str
    relevance: float
    reason: str
    weight: float


def joined(nodes: Iterable[TreeNode]) -> Tree:
    """The trees of several scopes as one: what stands at the same path is counted together."""
    together: dict[str, TreeNode] = {}
    for node in nodes:
        known = together.get(node.path)
        together[node.path] = node if known is None else _both(known, node)
    return Tree(nodes=together)


def keyword_routes(tree: Tree, query: str, *, now: datetime, unasked: bool = False) -> list[Route]:
    """The categories that share words with a query, the best first, five at most; the root is none of them.

    Args:
        tree: the categories.
        query: any text.
        now: by which it is told how lately a category was active.
        unasked: leave out those that are not plainly meant.
    """
    words = content_words(query) if has_content(query) else ()
    least = _least(query, _ROUTE_OF_ONESELF, _ROUTE_OF_THE_WORLD) if unasked else 0.0
    named = {
        path: common
        for path, node in tree.nodes.items()
        if path != ROOT and (common := in_common(words, f"{path} {node.description}"))
    }
    if not named:
        return []
    counts, active = inclusive(tree), _last_active(tree)
    found = [
        _named(path, common, len(common) / len(words) * _boost(counts[path]) * _recency(now - active[path]))
        for path, common in named.items()
        if len(common) / len(words) >= least
    ]
    return sorted(found, key=lambda route: (-route.relevance, route.path))[:_MOST_ROUTES]


def listed(tree: Tree) -> str:
    """The categories as a model is shown them, the largest first: path, description, counts."""
    counts = inclusive(tree)
    paths = sorted((path for path in tree.nodes if path != ROOT), key=lambda path: (-_total(counts[path]), path))
    return "\n".join(_listed(tree.nodes[path], counts[path]) for path in paths[:_MOST_LISTED])


def routes_from(answer: str, known: Collection[str]) -> list[Route] | None:
    """The routes of a model's answer ``[{"path", "relevance", "reason"}]``, the best first.

    Left out are unknown paths, those that come a second time, and a relevance of 0.3 or less.

    Args:
        answer: the whole answer, in whatever wrapping.
        known: the paths that it was shown.

    Returns:
        None where there is no list in it.
    """
    parsed = read_json(answer)
    if isinstance(parsed, dict):
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if lists else [parsed] if "path" in parsed else None
    if not isinstance(parsed, list):
        return None
    best: dict[str, Route] = {}
    for route in filter(None, map(_judged, parsed)):
        if route.path in known and route.relevance > _LEAST_RELEVANCE:
            best.setdefault(route.path, route)
    return sorted(best.values(), key=lambda route: -route.relevance)[:_MOST_ROUTES]


def entry_hits(
    found: Iterable[TierEntry], routes: Sequence[Route], query: str, *, now: datetime, unasked: bool = False
) -> list[SearchHit]:
    """Entries as results, the best first.

    Args:
        found: those filed where the routes lead, and others that share words with the query.
        unasked: of the others leave out what is not close enough.
    """
    compared = _Compared(routes=routes, words=content_words(query), least=_least_words(query) if unasked else 0.0)
    hits = []
    for entry in found:
        worth = min(1.0, current_score(entry, now))
        if (match := compared.with_text(entry.text, entry.category, worth)) is not None:
            hits.append(
                SearchHit(
                    source=Source.ENTRY,
                    scope=entry.scope,
                    record_id=entry.id,
                    score=match.score,
                    text=entry.text,
                    author=None,
                    at=entry.created_at,
                    reason=match.reason,
                    message_ids=() if entry.source_message is None else (entry.source_message,),
                )
            )
    return _ranked(hits)


def fact_hits(found: Iterable[Fact], routes: Sequence[Route], query: str) -> list[SearchHit]:
    """Facts that are at home where the routes lead as results, the best first."""
    compared = _Compared(routes=routes, words=content_words(query))
    hits = []
    for fact in found:
        if (match := compared.with_text(fact.text, home_of(fact.category), fact.importance)) is not None:
            hits.append(
                SearchHit(
                    source=Source.FACT,
                    scope=fact.scope,
                    record_id=fact.id,
                    score=match.score,
                    text=fact.text,
                    author=None,
                    at=fact.valid_from or fact.updated_at,
                    reason=match.reason,
                    message_ids=() if fact.source_message is None else (fact.source_message,),
                )
            )
    return _ranked(hits)


def entries_among(hits: Iterable[SearchHit], person: str) -> list[tuple[Scope, int]]:
    """The scopes and ids of those results that are entries of a person's own; those of linked accounts are not."""
    return [(hit.scope, hit.record_id) for hit in hits if hit.source is Source.ENTRY and hit.scope.person == person]


def in_common(words: Collection[str], text: str) -> list[str]:
    """Those of the words that stand in a text, in whatever number or tense."""
    if not words:
        return []
    there = set(content_words(text))
    return [word for word in words if word in there or any(_same_stem(word, other) for other in there)]


def _total(counts: Counts) -> int:
    """Everything that is filed."""
    return counts.facts + counts.warm + counts.cold


@dataclass(frozen=True, slots=True, kw_only=True)
class _Match:
    score: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """A query as texts are compared with it.

    Attributes:
        least: the share of the words that a text needs to which no route leads.
    """

    routes: Sequence[Route]
    words: tuple[str, ...]
    least: float = 0.0

    def with_text(self, text: str, category: str, worth: float) -> _Match | None:
        """How well a text of a category and a worth of 0 to 1 answers; None where it does not."""
        leading = [route for route in self.routes if is_within(category, route.path)]
        route = max(leading, key=lambda route: route.weight, default=None)
        share = len(in_common(self.words, text)) / len(self.words) if self.words else 0.0
        if route is None and (share == 0 or share < self.least):
            return None
        weight = route.weight if route is not None else 0.0
        reasons = ["words in common"] * bool(share) + ([f"the category {route.path}"] if route is not None else [])
        score = _WORDS_WEIGHT * share + _ROUTE_WEIGHT * weight + _WORTH_WEIGHT * worth
        return _Match(score=score, reason=" and ".join(reasons))


def _ranked(hits: list[SearchHit]) -> list[SearchHit]:
    return sorted(hits, key=lambda hit: (-hit.score, -hit.at.timestamp(), hit.record_id))


def _both(one: TreeNode, other: TreeNode) -> TreeNode:
    return replace(
        one,
        description=" ".join(dict.fromkeys(filter(None, (one.description, other.description)))),
        warm=one.warm + other.warm,
        cold=one.cold + other.cold,
        facts=one.facts + other.facts,
        last_active_at=max(one.last_active_at, other.last_active_at),
    )


def _last_active(tree: Tree) -> Mapping[str, datetime]:
    """When each category, or one below it, was last active."""
    active: dict[str, datetime] = {}
    for node in tree.nodes.values():
        for path in ancestors(node.path):
            active[path] = max(active.get(path, node.last_active_at), node.last_active_at)
    return active


def _named(path: str, common: Sequence[str], score: float) -> Route:
    reason = f"named by {', '.join(common)}"
    return Route(path=path, relevance=score, reason=reason, weight=min(1.0, score / _BEST_KEYWORD_SCORE))


def _boost(counts: Counts) -> float:
    return min(1.0 + 0.1 * counts.warm + 0.01 * counts.cold, _BOOSTED_AT_MOST)


def _recency(idle: timedelta) -> float:
    if idle < timedelta(days=7):
        return 1.5
    return 1.2 if idle < timedelta(days=30) else 1.0


def _least(query: str, of_oneself: float, of_the_world: float) -> float:
    return of_oneself if speaks_of_oneself(query) else of_the_world


def _least_words(query: str) -> float:
    return _least(query, _WORDS_OF_ONESELF, _WORDS_OF_THE_WORLD)


def _same_stem(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST_STEM and long.startswith(short) and long[len(short) :] in _ENDINGS


def _listed(node: TreeNode, counts: Counts) -> str:
    told = f" {node.description}" if node.description else ""
    return f"{node.path}:{told} ({counts.facts} facts, {counts.warm} warm, {counts.cold} cold)"


def _judged(item: Any) -> Route | None:
    if not isinstance(item, dict) or not isinstance(item.get("path"), str):
        return None
    relevance, reason = item.get("relevance"), item.get("reason")
    if isinstance(relevance, bool) or not isinstance(relevance, (int, float)) or not math.isfinite(relevance):
        return None
    told = " ".join(clean(reason).split())[:_LONGEST_REASON] if isinstance(reason, str) else ""
    weight = min(1.0, float(relevance))
    return Route(path=item["path"].strip().strip("/"), relevance=weight, reason=told, weight=weight)
