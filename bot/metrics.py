"""The page that monitoring systems read, in Prometheus' text format.

Invariant: every label has few values: platforms, models, states, and at most twenty hashes of persons. A database that
cannot be asked is said to be down; the rest of the page is there all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from bot.backups import Backups
from bot.circuit_breaker import CircuitBreaker
from bot.fair_slots import FairSlots
from bot.measures import Measures
from memory.errors import StorageError
from memory.policy.histogram import BOUNDS, Histogram
from memory.stores.consolidations import TierSizes
from memory.system import MemorySystem

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_MOST_ACTIVE = 20

Prices = Mapping[str, tuple[float, float]]
"""By model: US dollars for a million tokens read, and written."""

# What a cached token costs of one that is read: https://docs.claude.com/en/docs/build-with-claude/prompt-caching
_CACHE_READ, _CACHE_WRITE = 0.1, 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What the page tells of.

    Attributes:
        measures: counts and durations.
        system: the memory.
        slots: the places for model calls.
        breakers: the models that may rest.
        prices: of the models whose cost is to be estimated.
        platforms: how each platform stands, as its adapter says.
        now: the present moment.
        backups: the backups by the clock; None for none.
    """

    measures: Measures
    system: MemorySystem
    slots: FairSlots
    breakers: tuple[CircuitBreaker, ...]
    prices: Prices
    platforms: Mapping[str, Mapping[str, Any]]
    now: datetime
    backups: Backups | None


async def metrics_page(observed: Observed) -> bytes:
    """The page as it is now."""
    registry = CollectorRegistry()
    of_database = await _of_database(observed.system, observed.now)
    registry.register(_Families([*_of_process(observed), *of_database, *await _of_copies(observed)]))
    return generate_latest(registry)


class _Families(Collector):
    """Metrics that are known already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def _of_process(observed: Observed) -> Iterator[Metric]:
    measures, system = observed.measures, observed.system
    yield _gauge(
        "platform_connected",
        "Whether a platform is connected.",
        {(name,): float(bool(state.get("connected"))) for name, state in observed.platforms.items()},
        "platform",
    )
    yield _of_platforms(observed, "shards", "Connections that a platform is split over.")
    yield _of_platforms(observed, "latency", "How long a platform takes to answer a heartbeat, in seconds.")
    yield _histogram("phase_seconds", "How long the parts of a turn take.", measures.phases, "phase")
    yield _histogram("model_seconds", "How long calls of a model take.", measures.model_seconds, "model")
    yield _counter("model_calls", "Calls of a model, by how they ended.", measures.model_calls, "model", "outcome")
    yield _counter("model_tokens", "Tokens, as the model's service counts them.", measures.tokens, "model", "kind")
    yield _counter("model_cost_dollars", "Estimated cost, by MODEL_PRICES.", _costs(observed), "model")
    active = {(person,): float(tokens) for person, tokens in measures.most_active(_MOST_ACTIVE)}
    yield _gauge("person_tokens", "Tokens of the most active persons, as hashes.", active, "person")
    resting = {(one.name,): float(one.is_open) for one in observed.breakers}
    yield _gauge("model_resting", "Whether a model rests after failures.", resting, "model")
    yield _gauge("model_calls_waiting", "Calls that wait for a place.", {(): float(observed.slots.waiting)})
    yield _histogram("loop_lag_seconds", "How late the event loop comes.", {"": measures.lag})
    yield _gauge("loop_lag_worst_seconds", "The worst of it in the last minute.", {(): measures.worst_lag})
    yield _histogram("retrieval_seconds", "How long a look into memory takes.", {"": system.retriever.seconds})
    yield _counter("index_builds", "Vector indexes built from the rows.", {(): system.stores.search.index_builds})
    yield _counter(
        "evicted_messages",
        "Messages that left a window, by reason.",
        {(reason,): count for reason, count in system.stores.recall.evicted.items()},
        "reason",
    )
    happened = {(name,): float(count) for name, count in system.stores.tier_days.counted.items()}
    yield _counter("tier_events", "What happened to tiers, by kind, since the start.", happened, "kind")
    sections = {(name,): count for name, count in system.prompt_sizes.totals.items()}
    yield _counter("prompt_tokens", "Estimated tokens of prompts, by section.", sections, "section")


def _of_platforms(observed: Observed, name: str, help_: str) -> Metric:
    """A number that some adapters tell, where they know it."""
    told = {(platform,): state.get(name) for platform, state in observed.platforms.items()}
    known = {platform: float(value) for platform, value in told.items() if value is not None}
    return _gauge(f"platform_{name}", help_, known, "platform")


async def _of_database(system: MemorySystem, now: datetime) -> list[Metric]:
    try:
        jobs = await system.stores.jobs.by_state()
        oldest = await system.stores.jobs.oldest_pending()
        progress = await system.stores.search.progress()
        sizes = await system.stores.consolidations.sizes()
    except StorageError:
        return [_gauge("database_up", "Whether the database answers.", {(): 0.0})]
    return [
        _gauge("database_up", "Whether the database answers.", {(): 1.0}),
        _gauge("jobs", "Background jobs, by state.", {(state,): float(n) for state, n in jobs.items()}, "state"),
        _gauge(
            "job_oldest_seconds",
            "How long the oldest job that is not done has been waiting.",
            {(): 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())},
        ),
        _gauge("texts_embedded", "Texts that have their vectors.", {(): float(progress.done)}),
        _gauge("texts_to_embed", "Texts that wait for theirs.", {(): float(progress.waiting)}),
        *_of_tiers(sizes),
    ]


def _of_tiers(sizes: TierSizes) -> Iterator[Metric]:
    """The sizes of everybody's tiers together, each as of its last consolidation."""
    shown = {
        ("hot",): float(sizes.hot_size_bytes),
        ("tree",): float(sizes.tree_size_bytes),
        ("warm",): float(sizes.warm_bytes),
    }
    yield _gauge("tier_bytes", "Sizes of everybody's tiers, as of the last consolidation.", shown, "tier")
    yield _gauge("warm_entries", "Recent entries of everybody, as of then.", {(): float(sizes.warm_entries)})
    yield _gauge("tree_nodes", "Categories of everybody, as of then.", {(): float(sizes.tree_nodes)})
    yield _gauge("scopes_consolidated", "Scopes that were ever consolidated.", {(): float(sizes.scopes)})
    last = sizes.last.timestamp() if sizes.last else 0.0
    yield _gauge("last_consolidation_timestamp_seconds", "When a scope was last consolidated.", {(): last})


async def _of_copies(observed: Observed) -> list[Metric]:
    """How old the newest copies of memory are; nothing of one that was never made."""
    ages = []
    if observed.backups is not None and (at := await observed.backups.newest()) is not None:
        ages.append(_age("backup_age_seconds", "How old the newest backup by the clock is.", observed, at))
    if observed.system.mirror is None:
        return ages
    try:
        progress = await observed.system.stores.mirror_changes.progress()
    except StorageError:
        return ages
    ages.append(_gauge("mirror_rows_waiting", "Rows the mirror does not have yet.", {(): float(progress.waiting)}))
    if progress.mirrored_at is not None:
        ages.append(_age("mirror_age_seconds", "How long ago the mirror had all.", observed, progress.mirrored_at))
    return ages


def _age(name: str, help_: str, observed: Observed, at: datetime) -> Metric:
    return _gauge(name, help_, {(): (observed.now - at).total_seconds()})


def _costs(observed: Observed) -> dict[tuple[str, ...], float]:
    costs: dict[tuple[str, ...], float] = {}
    for (model, kind), tokens in observed.measures.tokens.items():
        if model in observed.prices:
            read, written = observed.prices[model]
            price = {"input": read, "output": written, "cache_read": read * _CACHE_READ}.get(kind, read * _CACHE_WRITE)
            costs[model,] = costs.get((model,), 0.0) + tokens * price / 1e6
    return costs


def _gauge(name: str, help_: str, values: Mapping[Any, float], *labels: str) -> Metric:
    family = GaugeMetricFamily(f"keepsake_{name}", help_, labels=labels)
    for at, value in values.items():
        family.add_metric(at, value)
    return family


def _counter(name: str, help_: str, values: Mapping[Any, float], *labels: str) -> Metric:
    family = CounterMetricFamily(f"keepsake_{name}", help_, labels=labels)
    for at, value in values.items():
        family.add_metric(at, value)
    return family


def _histogram(name: str, help_: str, values: Mapping[str, Histogram], *labels: str) -> Metric:
    family = HistogramMetricFamily(f"keepsake_{name}", help_, labels=labels)
    for at, seen in values.items():
        buckets = [(str(bound), float(count)) for bound, count in zip(BOUNDS, seen.counts, strict=True)]
        family.add_metric([at] if labels else [], [*buckets, ("+Inf", float(seen.total))], seen.seconds)
    return family
