"""What the mirror still has to be told, and what is known of what other devices told it."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.create_table(
        "mirror_changes",
        sa.Column("person", sa.String(128), primary_key=True),
        sa.Column("audience", sa.String(80), primary_key=True),
        sa.Column("store", sa.String(32), primary_key=True),
        sa.Column("record", sa.String(400), primary_key=True),
        sa.Column("stamp", sa.BigInteger, nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
    )
    op.create_index("mirror_changes_by_date", "mirror_changes", ["changed_at"])
    op.create_table(
        "mirror_erasures",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("id", sa.BigInteger, nullable=False),
        sa.Column("erased_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "mirror_seen",
        sa.Column("table_name", sa.String(64), primary_key=True),
        sa.Column("device", sa.String(64), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "mirror_state",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.String(64), nullable=False),
    )
