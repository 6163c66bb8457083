"""The limits of the tiers, out of all the numbers."""

from __future__ import annotations

from datetime import timedelta

from memory.parameters import MemoryParameters
from memory.policy.category_tree import TreeLimits
from memory.policy.hot_state import HotLimits
from memory.policy.tiers import WarmLimits

_YEAR = timedelta(days=365.25)


def hot_limits(parameters: MemoryParameters) -> HotLimits:
    """How much the hot state holds."""
    return HotLimits(
        max_bytes=parameters.hot_max_bytes,
        lessons=parameters.hot_lessons,
        events=parameters.hot_events,
        tasks=parameters.hot_tasks,
        projects=parameters.hot_projects,
    )


def warm_limits(parameters: MemoryParameters) -> WarmLimits:
    """How much is warm, and until when."""
    return WarmLimits(
        max_bytes=parameters.warm_max_kb * 1_024,
        retention=parameters.warm_retention,
        threshold=parameters.warm_eviction_threshold,
    )


def tree_limits(parameters: MemoryParameters) -> TreeLimits:
    """How large the tree of categories may be."""
    return TreeLimits(
        nodes=parameters.tree_max_nodes,
        depth=parameters.tree_max_depth,
        children=parameters.tree_max_children,
        max_bytes=parameters.tree_max_bytes,
    )


def cold_retention(parameters: MemoryParameters) -> timedelta:
    """How long a frozen entry is kept."""
    return parameters.cold_retention_years * _YEAR
