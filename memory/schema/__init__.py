"""The tables, once, as SQLAlchemy Core, for SQLite now and Postgres later.

Invariant: every table that holds people's data has a primary key that leads with the scope (person, audience),
and stands in ``PERSONAL_TABLES``. Times are UTC milliseconds since 1970 in a BIGINT.

The full-text table is not here: it belongs to its index (``memory/indexes``), created by the same migrations.
"""

from __future__ import annotations

from sqlalchemy import Table

from memory.schema.columns import UtcDateTime, listed, metadata, moment
from memory.schema.conversations import (
    answer_posts,
    channels,
    closed_scopes,
    inbox,
    last_seen,
    messages,
    reply_sources,
    sessions,
)
from memory.schema.knowledge import (
    archival_stats,
    block_versions,
    episodes,
    fact_revisions,
    facts,
    memory_blocks,
    passages,
    procedure_versions,
    procedures,
    summary_versions,
)
from memory.schema.mirror import mirror_changes, mirror_erasures, mirror_seen, mirror_state
from memory.schema.searching import index_generations, search_entries
from memory.schema.settings import (
    account_links,
    audit_log,
    community_limits,
    community_usage,
    consent,
    link_requests,
    parameter_changes,
    preferences,
    token_calibration,
    usage,
)
from memory.schema.tiers import (
    consolidations,
    entries,
    hot_versions,
    notes_read,
    tier_days,
    tree_changes,
    tree_index,
    tree_nodes,
)
from memory.schema.work import jobs, journal_entries, reminders, working_memory

PERSONAL_TABLES: tuple[Table, ...] = tuple(table for table in metadata.sorted_tables if table.info.get("personal"))

__all__ = [
    "PERSONAL_TABLES",
    "UtcDateTime",
    "account_links",
    "answer_posts",
    "archival_stats",
    "audit_log",
    "block_versions",
    "channels",
    "closed_scopes",
    "community_limits",
    "community_usage",
    "consent",
    "consolidations",
    "entries",
    "episodes",
    "fact_revisions",
    "facts",
    "hot_versions",
    "inbox",
    "index_generations",
    "jobs",
    "journal_entries",
    "last_seen",
    "link_requests",
    "listed",
    "memory_blocks",
    "messages",
    "metadata",
    "mirror_changes",
    "mirror_erasures",
    "mirror_seen",
    "mirror_state",
    "moment",
    "notes_read",
    "parameter_changes",
    "passages",
    "preferences",
    "procedure_versions",
    "procedures",
    "reminders",
    "reply_sources",
    "search_entries",
    "sessions",
    "summary_versions",
    "tier_days",
    "token_calibration",
    "tree_changes",
    "tree_index",
    "tree_nodes",
    "usage",
    "working_memory",
]
