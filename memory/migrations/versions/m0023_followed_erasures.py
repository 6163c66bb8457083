"""Whether a scope was erased here because another device told of it."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("mirror_erasures", sa.Column("follows", sa.Boolean, nullable=False, server_default=sa.false()))
