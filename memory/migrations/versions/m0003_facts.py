"""Facts with their revisions, the journal of events, and what each reply was given."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def _personal(name: str, *columns: sa.Column[Any]) -> None:
    """A table of people's data; its key is the scope and the first column."""
    scope = (
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
    )
    key = [column.name for column in (*scope, columns[0])]
    op.create_table(name, *scope, *columns, sa.PrimaryKeyConstraint(*key))


def upgrade() -> None:
    _personal(
        "facts",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.String(64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("predicate", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("category", sa.String(200), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("source_message", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("valid_from", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("superseded_by", sa.BigInteger()),
        sa.Column("pinned", sa.Boolean(), nullable=False),
    )
    op.create_index("facts_by_hash", "facts", ["person", "audience", "text_hash"])
    op.create_index("facts_by_triple", "facts", ["person", "audience", "subject", "predicate"])
    _personal(
        "fact_revisions",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("fact_id", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("before", sa.JSON()),
        sa.Column("after", sa.JSON(), nullable=False),
        sa.Column("candidate", sa.Text()),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source_message", sa.BigInteger()),
        sa.Column("session_id", sa.BigInteger()),
        sa.Column("job", sa.String(200)),
    )
    op.create_index("fact_revisions_of", "fact_revisions", ["person", "audience", "fact_id"])
    _personal(
        "journal_entries",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.String(64), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("noted_at", sa.BigInteger(), nullable=False),
        sa.Column("source_message", sa.BigInteger()),
        sa.Column("session_id", sa.BigInteger()),
        sa.Column("job", sa.String(200)),
    )
    op.create_index("journal_by_date", "journal_entries", ["person", "audience", "at"])
    _personal(
        "reply_sources",
        sa.Column("exchange_id", sa.BigInteger(), nullable=False),
        sa.Column("conversation", sa.String(200), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
    )
