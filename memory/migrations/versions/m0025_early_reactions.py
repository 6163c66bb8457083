"""What a person reacts to an answer that is still being written."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("inbox", sa.Column("reactions", sa.JSON()))
