"""Which posts on a platform show which answer."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "answer_posts",
        sa.Column("person", sa.String(128), primary_key=True),
        sa.Column("audience", sa.String(80), primary_key=True),
        sa.Column("conversation", sa.String(200), primary_key=True),
        sa.Column("platform_id", sa.String(200), primary_key=True),
        sa.Column("exchange_id", sa.BigInteger(), nullable=False),
    )
    op.create_index("answer_posts_by_post", "answer_posts", ["platform_id", "conversation"])
    op.create_index("answer_posts_of_exchange", "answer_posts", ["person", "audience", "exchange_id"])
