"""Which notes of people were read, and what happened to the tiers on each day."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "notes_read",
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("read_at", sa.BigInteger(), nullable=False),
        sa.Column("job", sa.String(200)),
        sa.PrimaryKeyConstraint("person", "audience", "name"),
    )
    op.create_table(
        "tier_days",
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("retrievals", sa.Integer(), nullable=False),
        sa.Column("reinforcements", sa.Integer(), nullable=False),
        sa.Column("evictions", sa.Integer(), nullable=False),
        sa.Column("consolidations", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience", "day"),
    )
