"""What is remembered in tiers: distilled entries, and the tree of categories that they are filed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memory.records.scopes import Scope
from memory.records.versions import Change

ROOT = ""
"""The path of the node above all others."""


class Tier(StrEnum):
    """Where an entry is kept."""

    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """What is about to be kept.

    Attributes:
        text: one distilled sentence.
        category: a path such as ``work/projects``; it is filed as near to it as the tree has room.
        importance: 0 to 1.
        created_at: when it happened or was said.
        metadata: ``urls``, ``commands`` and ``paths``, and whatever a distiller found besides.
    """

    text: str
    category: str = "general"
    importance: float = 0.5
    created_at: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierEntry:
    """A distilled entry.

    Attributes:
        id: 48 bits.
        category: the path of the node that it is filed in.
        score: its decayed worth when it was last written or consolidated; see ``policy.decay``.
        access_count: how often a search gave it to somebody.
        archived_at, archive_reason: when and why it left the warm tier.
    """

    id: int
    scope: Scope
    tier: Tier
    text: str
    category: str
    importance: float
    created_at: datetime
    access_count: int = 0
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_message: int | None = None
    archived_at: datetime | None = None
    archive_reason: str = ""

    @property
    def handle(self) -> str:
        """The id as twelve hexadecimal digits."""
        return f"{self.id:012x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A category.

    Attributes:
        path: its segments with ``/`` between them; ``ROOT`` for the node above all others.
        description: at most 100 characters.
        warm, cold, facts: what is filed in this very node.
        last_active_at: when something was last filed in it or found there.
    """

    path: str
    description: str
    created_at: datetime
    last_active_at: datetime
    warm: int = 0
    cold: int = 0
    facts: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is filed in it."""
        return not (self.warm or self.cold or self.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The categories of a scope by their paths, the root among them."""

    nodes: Mapping[str, TreeNode]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """One change of a tree.

    Attributes:
        action: ``add``, ``remove``, ``rename`` or ``merge``.
        path: the node.
        target: where a rename or merge led to.
        description: of the node that was removed or moved.
        moved: the ids of the entries that a rename or merge filed anew.
    """

    id: int
    action: str
    path: str
    target: str = ""
    description: str = ""
    moved: tuple[int, ...] = ()
    changed_at: datetime
    change: Change


class Mode(StrEnum):
    """How thoroughly a consolidation goes, each including those before it."""

    QUICK = "quick"
    DAILY = "daily"
    MONTHLY = "monthly"
    FULL = "full"

    def includes(self, other: Mode) -> bool:
        """Whether it does all that another does."""
        order = list(Mode)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """What a consolidation of a scope did.

    Attributes:
        id: its job is ``consolidate:<id>``.
        at: when.
        ingested_facts, ingest_skipped: entries that daily notes gave, and those known already.
        ingest_error: why notes could not be read; empty where all could.
        ingest_warnings: what the notes that were read lack to be of use later; see ``policy.completeness``.
        evicted_warm, archived_cold: entries that left the warm tier, and those that came into the cold one.
        promoted: what was copied into the hot state.
        pruned_nodes: categories let go of.
        tree_rebuilt: whether the model went over the tree.
        tree_operations: what it did there, and what was skipped, each in a few words.
        tree_findings: what a close look at the tree found that could be better.
        removed_cold: frozen entries past the time for which they are kept.
        hot_size_bytes, tree_size_bytes, tree_nodes, warm_entries, warm_bytes: sizes afterwards.
    """

    id: int
    mode: Mode
    scope: Scope
    at: datetime
    ingested_facts: int = 0
    ingest_skipped: int = 0
    ingest_error: str = ""
    ingest_warnings: int = 0
    evicted_warm: int = 0
    archived_cold: int = 0
    promoted: int = 0
    pruned_nodes: int = 0
    tree_rebuilt: bool = False
    tree_operations: tuple[str, ...] = ()
    tree_findings: tuple[str, ...] = ()
    removed_cold: int = 0
    hot_size_bytes: int = 0
    tree_size_bytes: int = 0
    tree_nodes: int = 0
    warm_entries: int = 0
    warm_bytes: int = 0

    @property
    def job(self) -> str:
        """The key by which it is undone."""
        return f"consolidate:{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TierCounts:
    """How often something happened.

    Attributes:
        retrievals: searches that gave somebody entries.
        reinforcements: entries that they gave.
        evictions: entries that left the warm tier.
        consolidations: of a scope.
    """

    retrievals: int = 0
    reinforcements: int = 0
    evictions: int = 0
    consolidations: int = 0
