"""Episodes, procedures with their versions, and why a document was forgotten."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


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
    op.add_column("passages", sa.Column("forgotten_reason", sa.Text()))
    _personal(
        "episodes",
        1,
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("conversation", sa.String(200), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("participants", sa.JSON(), nullable=False),
        sa.Column("message_count", sa.Integer(), nullable=False),
        sa.Column("first_message", sa.BigInteger(), nullable=False),
        sa.Column("last_message", sa.BigInteger(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("goal", sa.Text(), nullable=False),
        sa.Column("journey", sa.JSON(), nullable=False),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("key_moments", sa.JSON(), nullable=False),
        sa.Column("lessons", sa.JSON(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        *_change(),
        sa.Column("forgotten_at", sa.BigInteger()),
        sa.Column("forgotten_reason", sa.Text(), nullable=False),
    )
    op.create_index("episodes_by_date", "episodes", ["person", "audience", "started_at"])
    op.create_index("episodes_of_session", "episodes", ["person", "audience", "session_id"])
    _personal(
        "procedures",
        1,
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("usage_count", sa.Integer(), nullable=False),
        sa.Column("success_rate", sa.Float()),
    )
    _personal(
        "procedure_versions",
        2,
        sa.Column("procedure_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(16), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        *_change(),
    )
