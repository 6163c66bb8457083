"""Finds the facts that a message taught."""

from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_index("facts_by_message", "facts", ["person", "audience", "source_message"])
