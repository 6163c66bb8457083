"""Where an answer can be seen while it is written."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("inbox", sa.Column("draft", sa.JSON()))
