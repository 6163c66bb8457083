"""Makes what looks after the tiers: pages that people read, notes that they write, and the consolidation of it all.

Invariant: whoever writes pages writes them by the same rules.
"""

from __future__ import annotations

from memory.opening.ground import Ground
from memory.ports import ChatModel
from memory.processes.consolidator import Consolidator
from memory.processes.daily_notes import DailyNotes
from memory.processes.ingest import NoteIngest
from memory.processes.tier_metrics import TierMeter
from memory.processes.tree_rebuilder import TreeRebuilder
from memory.processes.tree_search import TreeSearch
from memory.processes.written_pages import WrittenPages


def open_ingest(ground: Ground, notes_model: ChatModel | None) -> NoteIngest:
    """What takes in the notes that people write.

    Args:
        ground: what it rests on.
        notes_model: reads the notes; None to read them by rule.
    """
    stores = ground.stores
    return NoteIngest(
        database=ground.database,
        files=ground.files,
        warm=stores.warm,
        tree=stores.tree,
        read=stores.notes_read,
        consent=stores.consent,
        model=notes_model,
        in_force=ground.in_force,
        clock=ground.clock,
    )


def open_pages(ground: Ground) -> WrittenPages:
    """What writes the pages that people read."""
    stores, files, in_force = ground.stores, ground.files, ground.in_force
    return WrittenPages(
        files=files,
        notes=DailyNotes(files=files, journal=stores.journal, in_force=in_force),
        hot=stores.hot,
        reports=stores.consolidations,
        in_force=in_force,
        clock=ground.clock,
    )


def open_consolidator(ground: Ground, *, pages: WrittenPages, ingest: NoteIngest) -> Consolidator:
    """What consolidates the tiers.

    Args:
        ground: what it rests on.
        pages: are written after it.
        ingest: takes in notes before it.
    """
    stores, clock = ground.stores, ground.clock
    rebuilder = TreeRebuilder(
        tree=stores.tree, warm=stores.warm, model=ground.model, counter=ground.counter, clock=clock
    )
    return Consolidator(
        database=ground.database,
        hot=stores.hot,
        warm=stores.warm,
        cold=stores.cold,
        tree=stores.tree,
        facts=stores.facts,
        reports=stores.consolidations,
        rebuilder=rebuilder,
        pages=pages,
        days=stores.tier_days,
        in_force=ground.in_force,
        ids=ground.ids,
        clock=clock,
        ingest=ingest,
    )


def open_tree_search(ground: Ground) -> TreeSearch:
    """What finds entries by way of the tree of categories."""
    stores = ground.stores
    return TreeSearch(
        tree=stores.tree,
        warm=stores.warm,
        hot=stores.hot,
        model=ground.model,
        in_force=ground.in_force,
        clock=ground.clock,
    )


def open_tier_meter(ground: Ground) -> TierMeter:
    """What measures the tiers."""
    stores = ground.stores
    return TierMeter(
        hot=stores.hot,
        warm=stores.warm,
        cold=stores.cold,
        tree=stores.tree,
        days=stores.tier_days,
        consolidations=stores.consolidations,
        clock=ground.clock,
    )
