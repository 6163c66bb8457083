"""Rolling summaries with versions, durable jobs, the audit log, and what people consented to."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _personal(name: str, *columns: sa.Column[Any], leading: int = 1) -> None:
    """A table of people's data; its key is the scope and the first ``leading`` columns."""
    scope = (
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
    )
    key = [column.name for column in (*scope, *columns[:leading])]
    op.create_table(name, *scope, *columns, sa.PrimaryKeyConstraint(*key))


def upgrade() -> None:
    op.add_column("sessions", sa.Column("kept", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.add_column("sessions", sa.Column("summary_version", sa.Integer()))
    _personal(
        "summary_versions",
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("session_id", sa.BigInteger()),
        sa.Column("job", sa.String(200)),
        sa.Column("first_message", sa.BigInteger()),
        sa.Column("last_message", sa.BigInteger()),
    )
    _personal(
        "jobs",
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("claimed_until", sa.BigInteger()),
        sa.Column("last_error", sa.Text()),
    )
    op.create_index("jobs_due", "jobs", ["state", "due_at"])
    _personal(
        "audit_log",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
    )
    _personal(
        "consent",
        sa.Column("greeted_at", sa.BigInteger()),
        sa.Column("paused_at", sa.BigInteger()),
        leading=0,
    )
    op.create_table(
        "silenced_channels",
        sa.Column("conversation", sa.String(200), primary_key=True),
        sa.Column("community", sa.String(80), nullable=False),
        sa.Column("silenced_at", sa.BigInteger(), nullable=False),
    )
