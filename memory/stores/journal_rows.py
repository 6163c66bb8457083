"""Rows of the journal's table and entries, one to the other, and the texts under which an entry is found.

Invariant: what a tool answered is found by its own words, and stands in the recall log alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row

from memory.policy.chunking import pieces
from memory.policy.fact_text import text_hash
from memory.policy.text import cut_middle, spoken_date
from memory.records import ArchiveReason, Change, JournalCategory, JournalEntry, ResultPlace
from memory.stores.scoped import scope_of_row

_MOST_INDEXED = 8_000  # characters of a tool's result: its beginning and its end

OF_OLDER_EXPORTS = {
    "category": JournalCategory.EVENT.value,
    "result_message": None,
    "call_id": None,
    "archived_at": None,
    "archive_reason": None,
    "archived_in": None,
    "archived_by": None,
    "replaced_by": None,
}
"""What a row of an export lacks that was written when the journal held events alone."""


def row_of_entry(entry: JournalEntry, change: Change) -> dict[str, Any]:
    """The values of a new entry's row."""
    return {
        **OF_OLDER_EXPORTS,
        "person": entry.scope.person,
        "audience": entry.scope.audience,
        "id": entry.id,
        "at": entry.at,
        "text": entry.text,
        "text_hash": text_hash(entry.text),
        "importance": entry.importance,
        "noted_at": entry.noted_at,
        "source_message": change.source_message,
        "session_id": change.session_id,
        "job": change.job,
        "category": entry.category.value,
        "result_message": entry.result.message_id if entry.result else None,
        "call_id": entry.result.call_id if entry.result else None,
    }


def entry_of_row(row: Row[Any]) -> JournalEntry:
    """The entry of a row of the table."""
    has_result = row.result_message is not None
    return JournalEntry(
        id=row.id,
        scope=scope_of_row(row),
        at=row.at,
        text=row.text,
        importance=row.importance,
        noted_at=row.noted_at,
        source_message=row.source_message,
        category=JournalCategory(row.category),
        result=ResultPlace(message_id=row.result_message, call_id=row.call_id) if has_result else None,
        archived_at=row.archived_at,
        archive_reason=None if row.archive_reason is None else ArchiveReason(row.archive_reason),
        replaced_by=row.replaced_by,
    )


def searchable_pieces(text: str, at: datetime, content: str = "") -> list[str]:
    """The texts under which an entry is found, with their date."""
    whole = f"{text}\n{cut_middle(content, _MOST_INDEXED)}" if content.strip() else text
    return pieces(whole, heading=f"({spoken_date(at)})")
