"""Accounts of one person that are linked, and requests to link some."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "account_links",
        sa.Column("person", sa.String(128), primary_key=True),
        sa.Column("audience", sa.String(80), primary_key=True),
        sa.Column("other", sa.String(128), primary_key=True),
        sa.Column("linked_at", sa.BigInteger(), nullable=False),
    )
    op.create_index("account_links_by_other", "account_links", ["other"])
    op.create_table(
        "link_requests",
        sa.Column("person", sa.String(128), primary_key=True),
        sa.Column("audience", sa.String(80), primary_key=True),
        sa.Column("code_hash", sa.String(64)),
        sa.Column("made_at", sa.BigInteger()),
        sa.Column("claimed_by", sa.String(128)),
        sa.Column("wrong_codes", sa.Integer(), nullable=False),
        sa.Column("wrong_since", sa.BigInteger()),
    )
    op.create_index("link_requests_by_code", "link_requests", ["code_hash"])
