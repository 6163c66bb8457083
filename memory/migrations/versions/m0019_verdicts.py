"""What people say of an answer and how they react to it, so that each answer counts once."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("reply_sources", sa.Column("verdicts", sa.JSON()))
