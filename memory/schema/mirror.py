"""What the mirror has to be told of changes here, and what is known of those of other devices."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, String, Table, false

from memory.schema.columns import UtcDateTime, metadata, personal

mirror_changes = personal(
    "mirror_changes",
    Column("store", String(32), primary_key=True),
    Column("record", String(400), primary_key=True),  # the columns that identify a row, as a JSON list
    Column("stamp", BigInteger, nullable=False),  # another with every change
    Column("changed_at", UtcDateTime, nullable=False),
)
Index("mirror_changes_by_date", mirror_changes.c.changed_at)

mirror_erasures = Table(
    "mirror_erasures",
    metadata,
    Column("digest", String(64), primary_key=True),  # of a scope or person that was erased here and is not yet there
    Column("id", BigInteger, nullable=False),
    Column("erased_at", UtcDateTime, nullable=False),
    Column("follows", Boolean, nullable=False, server_default=false()),  # whether another device told of it
)

mirror_seen = Table(
    "mirror_seen",
    metadata,
    Column("table_name", String(64), primary_key=True),
    Column("device", String(64), primary_key=True),
    Column("seq", BigInteger, nullable=False),
)

mirror_state = Table(
    "mirror_state",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", String(64), nullable=False),
)
