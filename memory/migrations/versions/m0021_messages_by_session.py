"""Finds the messages of a session without walking all the others of a person."""

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.create_index("messages_by_session", "messages", ["person", "audience", "session_id", "id"])
