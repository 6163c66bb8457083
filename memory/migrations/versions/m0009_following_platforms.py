"""When messages were edited on their platform, where to find them by the platform's ids, and closed scopes."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("messages", sa.Column("edited_at", sa.BigInteger()))
    op.create_index("messages_by_post", "messages", ["platform_id", "conversation"])
    op.add_column("inbox", sa.Column("edited_text", sa.Text()))
    op.add_column("inbox", sa.Column("edited_at", sa.BigInteger()))
    op.create_index("inbox_by_post", "inbox", ["platform_id", "conversation"])
    op.create_table(
        "closed_scopes",
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
        sa.Column("place", sa.String(80), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience"),
    )
    op.create_index("closed_scopes_by_place", "closed_scopes", ["place"])
    op.create_index("closed_scopes_by_date", "closed_scopes", ["closed_at"])
