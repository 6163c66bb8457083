"""What people and administrators decided, what they used, and what was done in whose name."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, String, Table, Text

from memory.schema.columns import UtcDateTime, metadata, personal

audit_log = personal(
    "audit_log",
    Column("id", BigInteger, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("action", String(64), nullable=False),
    Column("detail", Text, nullable=False, default=""),
)

consent = personal(
    "consent",
    Column("greeted_at", UtcDateTime),
    Column("paused_at", UtcDateTime),
)

preferences = personal("preferences", Column("time_zone", String(64), nullable=False))

account_links = personal(
    "account_links",
    Column("other", String(128), primary_key=True),
    Column("linked_at", UtcDateTime, nullable=False),
)
Index("account_links_by_other", account_links.c.other)

link_requests = personal(
    "link_requests",
    Column("code_hash", String(64)),
    Column("made_at", UtcDateTime),
    Column("claimed_by", String(128)),
    Column("wrong_codes", Integer, nullable=False, default=0),
    Column("wrong_since", UtcDateTime),
)
Index("link_requests_by_code", link_requests.c.code_hash)

usage = personal(
    "usage",
    Column("day", String(10), primary_key=True),  # 2026-03-02, in the installation's time zone
    Column("turns", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)
Index("usage_by_day", usage.c.day)

community_usage = Table(
    "community_usage",
    metadata,
    Column("community", String(80), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("turns", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

community_limits = Table(
    "community_limits",
    metadata,
    Column("community", String(80), primary_key=True),
    Column("name", String(32), primary_key=True),
    Column("value", BigInteger, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(128), nullable=False),
)

parameter_changes = Table(
    "parameter_changes",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("name", String(64), nullable=False),
    Column("value", Text),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(128), nullable=False),
)
Index("parameter_changes_of", parameter_changes.c.name)

token_calibration = Table(
    "token_calibration",
    metadata,
    Column("model", String(120), primary_key=True),
    Column("ratio", Float, nullable=False),
    Column("samples", Integer, nullable=False),
)
