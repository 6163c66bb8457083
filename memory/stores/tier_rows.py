"""An entry of the tiers as a row.

Invariant: which tier an entry is in is one column of its one row, so that it cannot be in both or in neither.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, or_, true

from memory.policy.chunking import pieces
from memory.policy.fact_text import text_hash
from memory.policy.text import spoken_date
from memory.records import ROOT, Tier, TierEntry
from memory.schema import entries
from memory.stores.scoped import scope_of_row

_ID_BITS = 48


def entry_id(text: str, created_at: datetime, taken: int = 0) -> int:
    """The id of an entry: 48 bits of a hash of its words and its time.

    Args:
        text: its words; how they are cased and spaced counts for nothing.
        created_at: when it happened, to the millisecond.
        taken: how many of its ids belong to others already.
    """
    named = f"{created_at.timestamp():.3f} {taken} {text_hash(text)}"
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[: _ID_BITS // 8], "big") or 1


def kept() -> ColumnElement[bool]:
    """The entries that were not let go of."""
    return entries.c.removed_at.is_(None)


def filed_within(path: str) -> ColumnElement[bool]:
    """The entries that are filed at a path or below it."""
    if path == ROOT:
        return true()
    return or_(entries.c.category == path, entries.c.category.startswith(f"{path}/", autoescape=True))


def entry_of_row(row: Row[Any]) -> TierEntry:
    """The entry that a row holds."""
    return TierEntry(
        id=row.id,
        scope=scope_of_row(row),
        tier=Tier(row.tier),
        text=row.text,
        category=row.category,
        importance=row.importance,
        created_at=row.created_at,
        access_count=row.access_count,
        score=row.score,
        metadata=row.metadata,
        source_message=row.source_message,
        archived_at=row.archived_at,
        archive_reason=row.archive_reason,
    )


def searchable_entry(text: str, created_at: datetime) -> list[str]:
    """What search holds of an entry."""
    return pieces(text, heading=f"({spoken_date(created_at)})")
