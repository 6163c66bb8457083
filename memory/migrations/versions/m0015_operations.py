"""Claims on answers that are being sent, what was used on each day and its limits, and the last message seen."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("inbox", sa.Column("claimed_by", sa.String(64)))
    op.add_column("inbox", sa.Column("claimed_until", sa.BigInteger()))
    op.create_table(
        "usage",
        sa.Column("person", sa.String(128), primary_key=True),
        sa.Column("audience", sa.String(80), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
    )
    op.create_index("usage_by_day", "usage", ["day"])
    op.create_table(
        "community_usage",
        sa.Column("community", sa.String(80), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "community_limits",
        sa.Column("community", sa.String(80), primary_key=True),
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
    )
    op.create_table(
        "last_seen",
        sa.Column("channel", sa.String(200), primary_key=True),
        sa.Column("message", sa.String(64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
