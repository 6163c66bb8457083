"""What the operator changed at run time."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "parameter_changes",
        sa.Column("id", sa.BigInteger(), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
    )
    op.create_index("parameter_changes_of", "parameter_changes", ["name"])
