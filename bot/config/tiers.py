"""Settings: how much of what is at hand, what is archived when, and how large the tree of categories may be."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from bot.config.fields import CENTURY_DAYS, DEFAULTS, setting
from memory.parameters import TreeMode


class TierSettings(BaseModel):
    """Hot, warm and cold memory, the tree of categories, and consolidation."""

    hot_max_bytes: int = setting(
        DEFAULTS.hot_max_bytes, "Size of the hot state in a prompt, in bytes.", "5120", ge=1_000, le=100_000
    )
    hot_lessons: int = setting(DEFAULTS.hot_lessons, "Lessons in the hot state.", "20", ge=1, le=200)
    hot_events: int = setting(DEFAULTS.hot_events, "Events in the hot state.", "10", ge=1, le=200)
    hot_tasks: int = setting(DEFAULTS.hot_tasks, "Pending tasks in the hot state.", "10", ge=1, le=200)
    hot_projects: int = setting(DEFAULTS.hot_projects, "Projects in the hot state.", "5", ge=1, le=100)
    warm_max_kb: int = setting(
        DEFAULTS.warm_max_kb,
        "Size of the recent entries of a scope together, in KB of 1,024 bytes.",
        "50",
        ge=1,
        le=100_000,
    )
    warm_retention_days: float = setting(
        30.0,
        "Age after which a recent entry that is worth too little is archived, in days.",
        "30",
        gt=0,
        le=CENTURY_DAYS,
    )
    warm_eviction_threshold: float = setting(
        DEFAULTS.warm_eviction_threshold, "Worth below which such an entry is archived.", "0.3", ge=0, le=1
    )
    cold_retention_years: float = setting(
        DEFAULTS.cold_retention_years,
        "Years for which an archived entry is kept once nobody asks for it.",
        "10",
        gt=0,
        le=100,
    )
    tree_max_nodes: int = setting(
        DEFAULTS.tree_max_nodes, "Categories of a scope, the root included.", "50", ge=5, le=1_000
    )
    tree_max_depth: int = setting(DEFAULTS.tree_max_depth, "Levels of categories.", "4", ge=1, le=10)
    tree_max_children: int = setting(DEFAULTS.tree_max_children, "Categories right below one.", "10", ge=4, le=100)
    tree_max_bytes: int = setting(
        DEFAULTS.tree_max_bytes, "Size of the tree of categories in a prompt, in bytes.", "2048", ge=256, le=100_000
    )
    tree_search_mode: TreeMode = setting(
        DEFAULTS.tree_search_mode,
        "What chooses the categories in which a message's answer is looked for. keyword: its words. llm: the memory "
        "model, which is asked before each answer.",
        "llm",
    )
    retrieved_entries: int = setting(
        DEFAULTS.retrieved_entries, "Recent and archived events shown with a message, at most.", "5", ge=0, le=50
    )
    tree_prune_days: float = setting(
        60.0, "Days after which a category that holds nothing and was not used goes.", "60", gt=0, le=CENTURY_DAYS
    )
    consolidation_hours: float = setting(
        2.0, "Hours between two quick consolidations; a daily one begins with each day.", "2", ge=0.1, le=24
    )

    @property
    def tier_parameters(self) -> dict[str, Any]:
        """The numbers of ``MemoryParameters`` that these settings give."""
        plain = {name: getattr(self, name) for name in TierSettings.model_fields if hasattr(DEFAULTS, name)}
        return {
            **plain,
            "warm_retention": timedelta(days=self.warm_retention_days),
            "tree_prune": timedelta(days=self.tree_prune_days),
            "consolidation_interval": timedelta(hours=self.consolidation_hours),
        }
