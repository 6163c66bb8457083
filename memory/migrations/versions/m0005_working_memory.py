"""Working memory, one for each conversation."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "working_memory",
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("audience", sa.String(80), nullable=False),
        sa.Column("conversation", sa.String(200), nullable=False),
        sa.Column("session_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience", "conversation"),
    )
