"""The first schema: conversations, core memory, archival memory, the inbox and the search entries."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "archival_stats",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.Column("misses", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience"),
        info={"personal": True},
    )
    op.create_table(
        "block_versions",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("label", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("source_message", sa.BigInteger(), nullable=True),
        sa.Column("session_id", sa.BigInteger(), nullable=True),
        sa.Column("job", sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint("person", "audience", "label", "version"),
        info={"personal": True},
    )
    op.create_table(
        "inbox",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("conversation", sa.String(length=200), nullable=False),
        sa.Column("platform_id", sa.String(length=200), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("accepted_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("message_id", sa.BigInteger(), nullable=True),
        sa.Column("reply", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("person", "audience", "conversation", "platform_id"),
        sa.UniqueConstraint("person", "conversation", "platform_id", name="inbox_once"),
        info={"personal": True},
    )
    op.create_index("inbox_pending", "inbox", ["state", "id"], unique=False)
    op.create_table(
        "index_generations",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("source", sa.String(length=32), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience", "source"),
        info={"personal": True},
    )
    op.create_table(
        "memory_blocks",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("label", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience", "label"),
        info={"personal": True},
    )
    op.create_table(
        "messages",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("conversation", sa.String(length=200), nullable=False),
        sa.Column("session_id", sa.BigInteger(), nullable=False),
        sa.Column("exchange_id", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("parts", sa.Text(), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("platform_id", sa.String(length=200), nullable=True),
        sa.Column("evicted_at", sa.BigInteger(), nullable=True),
        sa.Column("eviction_reason", sa.String(length=32), nullable=True),
        sa.Column("folded", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience", "id"),
        info={"personal": True},
    )
    op.create_index("messages_by_date", "messages", ["person", "audience", "sent_at"], unique=False)
    op.create_index(
        "messages_unfolded",
        "messages",
        ["person", "audience", "conversation", "folded", "evicted_at"],
        unique=False,
    )
    op.create_index(
        "messages_window",
        "messages",
        ["person", "audience", "conversation", "evicted_at", "id"],
        unique=False,
    )
    op.create_table(
        "passages",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("memory_type", sa.String(length=64), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("last_accessed_at", sa.BigInteger(), nullable=False),
        sa.Column("access_count", sa.Integer(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("source_message", sa.BigInteger(), nullable=True),
        sa.Column("forgotten_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("person", "audience", "id"),
        info={"personal": True},
    )
    op.create_index("passages_by_hash", "passages", ["person", "audience", "content_hash"], unique=False)
    op.create_table(
        "search_entries",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("source", sa.String(length=32), nullable=False),
        sa.Column("record_id", sa.BigInteger(), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("embedder", sa.String(length=120), nullable=True),
        sa.Column("vector", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("person", "audience", "source", "record_id", "chunk"),
        sa.UniqueConstraint("id"),
        info={"personal": True},
    )
    op.create_index("search_entries_by_embedder", "search_entries", ["embedder"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("person", sa.String(length=128), nullable=False),
        sa.Column("audience", sa.String(length=80), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("conversation", sa.String(length=200), nullable=False),
        sa.Column("community", sa.String(length=80), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("last_activity_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("window_summary", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("person", "audience", "id"),
        info={"personal": True},
    )
    op.create_index("sessions_idle", "sessions", ["ended_at", "last_activity_at"], unique=False)
    op.create_index("sessions_open", "sessions", ["person", "audience", "conversation", "ended_at"], unique=False)
    op.create_table(
        "token_calibration",
        sa.Column("model", sa.String(length=120), nullable=False),
        sa.Column("ratio", sa.Float(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("model"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE search_text USING fts5("
            "owner, body, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
