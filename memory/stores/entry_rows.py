"""The statements by which single search entries are looked up.

Invariant: an entry is asked for by its id first and by its reach second. Asked the other way round, as SQLite's
planner would, each statement walks all of a scope's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, Subquery, select

from memory.records import Reach, Source
from memory.schema import search_entries
from memory.stores.scoped import in_reach


def entries_of_ids(entry_ids: Sequence[int]) -> Subquery:
    """The entries of these ids, of anybody: to be narrowed to a reach."""
    # The limit keeps the planner from merging this into the statement around it.
    return select(search_entries).where(search_entries.c.id.in_(entry_ids)).limit(len(entry_ids)).subquery()


def entries_within(reach: Reach, source: Source, entry_ids: Sequence[int], *, tokens: bool = True) -> Select[Any]:
    """Those of these entries that are within reach.

    Args:
        reach: what may be read.
        source: their kind.
        entry_ids: which.
        tokens: with the token vectors, which are long.
    """
    entry = entries_of_ids(entry_ids)
    columns = [entry.c.id, entry.c.person, entry.c.audience, entry.c.record_id, entry.c.embedder, entry.c.vector]
    if tokens:
        columns.append(entry.c.tokens)
    return select(*columns).where(in_reach(entry, reach), entry.c.source == source.value)
