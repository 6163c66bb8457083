"""What the journal holds besides events: tool results, notes and digests, in sight or archived."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    for column in (
        sa.Column("category", sa.String(16), nullable=False, server_default="event"),
        sa.Column("result_message", sa.BigInteger()),
        sa.Column("call_id", sa.String(200)),
        sa.Column("archived_at", sa.BigInteger()),
        sa.Column("archive_reason", sa.String(16)),
        sa.Column("archived_in", sa.BigInteger()),
        sa.Column("archived_by", sa.String(200)),
        sa.Column("replaced_by", sa.BigInteger()),
    ):
        op.add_column("journal_entries", column)
    op.create_index("journal_in_sight", "journal_entries", ["person", "audience", "archived_at", "id"])
