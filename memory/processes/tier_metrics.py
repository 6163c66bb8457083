"""How large the tiers of a scope are, and what happened to them: the numbers for whoever runs an installation.

Invariant: counts and sizes alone, read as they are; those of today begin anew with each day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.policy.hot_state import size_of
from memory.ports import Clock
from memory.records import Mode, Scope
from memory.stores.cold import ColdStore
from memory.stores.consolidations import ConsolidationStore
from memory.stores.hot import HotStore
from memory.stores.tier_days import TierDayStore
from memory.stores.tree import TreeStore
from memory.stores.warm import WarmStore

_CHARACTERS_OF_A_TOKEN = 4  # of English text, by the rule of thumb of models' services


@dataclass(frozen=True, slots=True, kw_only=True)
class TierMetrics:
    """The numbers of a scope.

    Attributes:
        tree_index_size_bytes, tree_node_count: of the tree of categories, the root included.
        hot_memory_size_bytes: of the hot state as it stands in a prompt.
        warm_memory_count, warm_memory_size_kb: of the warm entries, in KB of 1,024 bytes.
        cold_memory_count: archived entries.
        retrieval_count: searches that gave somebody entries, ever.
        evictions_today, reinforcements_today: entries that left the warm tier, and that a search gave to somebody.
        consolidation_count, last_consolidation: how often it was consolidated, and when last.
        context_tokens_saved: by how many tokens all entries together are longer than the hot state and the tree, which
            stand in a prompt in their place; an estimate at four characters a token, never below 0.
        timestamp: when this was counted.
    """

    tree_index_size_bytes: int
    tree_node_count: int
    hot_memory_size_bytes: int
    warm_memory_count: int
    warm_memory_size_kb: float
    cold_memory_count: int
    retrieval_count: int
    evictions_today: int
    reinforcements_today: int
    consolidation_count: int
    last_consolidation: datetime | None
    context_tokens_saved: int
    timestamp: datetime


class TierMeter:
    """Counts.

    Args:
        hot, warm, cold, tree: what is measured.
        days: what happened when.
        consolidations: when the last one was.
        clock: says what day it is.
    """

    def __init__(
        self,
        *,
        hot: HotStore,
        warm: WarmStore,
        cold: ColdStore,
        tree: TreeStore,
        days: TierDayStore,
        consolidations: ConsolidationStore,
        clock: Clock,
    ) -> None:
        self._hot = hot
        self._warm = warm
        self._cold = cold
        self._tree = tree
        self._days = days
        self._consolidations = consolidations
        self._clock = clock

    async def measure(self, scope: Scope) -> TierMetrics:
        """The numbers of a scope now. Raises StorageError."""
        now = self._clock.now()
        ever, today = await self._days.total(scope), await self._days.of_day(scope, now)
        warm_count, warm_bytes = await self._warm.size(scope)
        index, hot = await self._tree.index(scope), await self._hot.shown(scope)
        hot_size = size_of(hot) if hot.version else 0
        shown = hot_size + len(index)
        return TierMetrics(
            tree_index_size_bytes=len(index.encode()),
            tree_node_count=len((await self._tree.load(scope)).nodes),
            hot_memory_size_bytes=hot_size,
            warm_memory_count=warm_count,
            warm_memory_size_kb=round(warm_bytes / 1_024, 2),
            cold_memory_count=await self._cold.count(scope),
            retrieval_count=ever.retrievals,
            evictions_today=today.evictions,
            reinforcements_today=today.reinforcements,
            consolidation_count=ever.consolidations,
            last_consolidation=(await self._consolidations.standing(scope)).last.get(Mode.QUICK),
            context_tokens_saved=max(0, await self._warm.characters(scope) - shown) // _CHARACTERS_OF_A_TOKEN,
            timestamp=now,
        )
