"""Reminders, and the time zone of a person."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "reminders",
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("conversation", sa.String(200), nullable=False),
        sa.Column("heard_by", sa.String(80), nullable=False),
        sa.Column("community", sa.String(80)),
        sa.Column("reply_to", sa.String(200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("set_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("source_message", sa.BigInteger()),
        sa.Column("claimed_until", sa.BigInteger()),
        sa.Column("first_tried_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("person", "audience", "id"),
    )
    op.create_index("reminders_due", "reminders", ["state", "due_at"])
    op.create_table(
        "preferences",
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
        sa.Column("time_zone", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience"),
    )
