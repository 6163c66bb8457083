"""Hot state, warm and cold entries, the category tree, what moves between them, and notes that were read."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Float, Index, Integer, String, Text

from memory.schema.columns import UtcDateTime, cause, personal

entries = personal(
    "entries",
    Column("id", BigInteger, primary_key=True),
    Column("tier", String(8), nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", String(64), nullable=False),
    Column("category", String(200), nullable=False),
    Column("importance", Float, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("access_count", Integer, nullable=False, default=0),
    Column("touched_at", UtcDateTime, nullable=False),  # when it was kept or last given to somebody
    Column("frozen_at", UtcDateTime, nullable=False),  # from when on no search finds it in the archive
    Column("score", Float, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),  # what made it
    Column("archived_at", UtcDateTime),
    Column("archive_reason", String(32), nullable=False, default=""),
    Column("archived_by", String(200)),  # the job that archived it
    Column("removed_at", UtcDateTime),
    Column("removed_by", String(200)),
)
Index("entries_by_category", entries.c.person, entries.c.audience, entries.c.category, entries.c.tier)
Index("entries_by_date", entries.c.person, entries.c.audience, entries.c.tier, entries.c.created_at)
Index("entries_by_hash", entries.c.person, entries.c.audience, entries.c.text_hash)

tree_nodes = personal(
    "tree_nodes",
    Column("path", String(200), primary_key=True),
    Column("description", String(100), nullable=False),
    Column("warm", Integer, nullable=False, default=0),
    Column("cold", Integer, nullable=False, default=0),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_active_at", UtcDateTime, nullable=False),
)

tree_changes = personal(
    "tree_changes",
    Column("id", BigInteger, primary_key=True),
    Column("action", String(16), nullable=False),
    Column("path", String(200), nullable=False),
    Column("target", String(200), nullable=False, default=""),
    Column("description", String(100), nullable=False, default=""),
    Column("moved", JSON, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    *cause(),
    Column("undone_at", UtcDateTime),
)

tree_index = personal(
    "tree_index",
    Column("text", Text, nullable=False),
    Column("made_at", UtcDateTime, nullable=False),
)

hot_versions = personal(
    "hot_versions",
    Column("version", Integer, primary_key=True),
    Column("state", JSON, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    *cause(),
)

consolidations = personal(
    "consolidations",
    Column("id", BigInteger, primary_key=True),
    Column("mode", String(16), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("report", JSON, nullable=False),
)

# What the notes that a person laid down for the bot held when they were read: each is read once.
notes_read = personal(
    "notes_read",
    Column("name", String(200), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("read_at", UtcDateTime, nullable=False),
    Column("job", String(200)),
)

tier_days = personal(
    "tier_days",
    Column("day", String(10), primary_key=True),
    Column("retrievals", Integer, nullable=False, default=0),
    Column("reinforcements", Integer, nullable=False, default=0),
    Column("evictions", Integer, nullable=False, default=0),
    Column("consolidations", Integer, nullable=False, default=0),
)
