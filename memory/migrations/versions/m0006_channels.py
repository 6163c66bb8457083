"""One table of what is known of a channel: silenced, when the bot answers in it, when it last took part."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "channels",
        sa.Column("conversation", sa.String(200), primary_key=True),
        sa.Column("community", sa.String(80), nullable=False),
        sa.Column("silenced_at", sa.BigInteger()),
        sa.Column("mode", sa.String(16)),
        sa.Column("engaged_at", sa.BigInteger()),
    )
    op.create_index("channels_engaged", "channels", ["engaged_at"])
    op.execute(
        "INSERT INTO channels (conversation, community, silenced_at) "
        "SELECT conversation, community, silenced_at FROM silenced_channels"
    )
    op.drop_table("silenced_channels")
