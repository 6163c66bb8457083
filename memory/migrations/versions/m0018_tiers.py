"""Distilled entries in tiers, the tree of categories, the hot state, and reports of consolidations."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def _personal(name: str, keys: int, *columns: sa.Column[Any]) -> None:
    """A table of people's data; its key is the scope and the first columns."""
    scope = (
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
    )
    key = [column.name for column in (*scope, *columns[:keys])]
    op.create_table(name, *scope, *columns, sa.PrimaryKeyConstraint(*key))


def _change() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source_message", sa.BigInteger()),
        sa.Column("session_id", sa.BigInteger()),
        sa.Column("job", sa.String(200)),
    )


def upgrade() -> None:
    _personal(
        "entries",
        1,
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("tier", sa.String(8), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.String(64), nullable=False),
        sa.Column("category", sa.String(200), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("access_count", sa.Integer(), nullable=False),
        sa.Column("touched_at", sa.BigInteger(), nullable=False),
        sa.Column("frozen_at", sa.BigInteger(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("source_message", sa.BigInteger()),
        sa.Column("session_id", sa.BigInteger()),
        sa.Column("job", sa.String(200)),
        sa.Column("archived_at", sa.BigInteger()),
        sa.Column("archive_reason", sa.String(32), nullable=False),
        sa.Column("archived_by", sa.String(200)),
        sa.Column("removed_at", sa.BigInteger()),
        sa.Column("removed_by", sa.String(200)),
    )
    op.create_index("entries_by_category", "entries", ["person", "audience", "category", "tier"])
    op.create_index("entries_by_date", "entries", ["person", "audience", "tier", "created_at"])
    op.create_index("entries_by_hash", "entries", ["person", "audience", "text_hash"])
    _personal(
        "tree_nodes",
        1,
        sa.Column("path", sa.String(200), nullable=False),
        sa.Column("description", sa.String(100), nullable=False),
        sa.Column("warm", sa.Integer(), nullable=False),
        sa.Column("cold", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_active_at", sa.BigInteger(), nullable=False),
    )
    _personal(
        "tree_changes",
        1,
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("path", sa.String(200), nullable=False),
        sa.Column("target", sa.String(200), nullable=False),
        sa.Column("description", sa.String(100), nullable=False),
        sa.Column("moved", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        *_change(),
        sa.Column("undone_at", sa.BigInteger()),
    )
    _personal(
        "tree_index",
        0,
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
    )
    _personal(
        "hot_versions",
        1,
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        *_change(),
    )
    _personal(
        "consolidations",
        1,
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("mode", sa.String(16), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
    )
