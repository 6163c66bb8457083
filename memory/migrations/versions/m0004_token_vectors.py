"""The vectors of single tokens, beside that of their text."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("search_entries", sa.Column("tokens", sa.LargeBinary()))
