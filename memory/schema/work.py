"""What is being done: the journal of tool results, working memory, reminders, and the jobs that wait."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Float, Index, Integer, String, Text

from memory.schema.columns import UtcDateTime, personal

journal_entries = personal(
    "journal_entries",
    Column("id", BigInteger, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", String(64), nullable=False),
    Column("importance", Float, nullable=False),
    Column("noted_at", UtcDateTime, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),
    Column("category", String(16), nullable=False, default="event", server_default="event"),
    Column("result_message", BigInteger),  # the message that holds the whole result of a tool, and
    Column("call_id", String(200)),  # the call there that it answers
    Column("archived_at", UtcDateTime),
    Column("archive_reason", String(16)),
    Column("archived_in", BigInteger),  # the session in which it was archived
    Column("archived_by", String(200)),  # the job that archived it
    Column("replaced_by", BigInteger),
)
Index("journal_by_date", journal_entries.c.person, journal_entries.c.audience, journal_entries.c.at)
Index(
    "journal_in_sight",
    journal_entries.c.person,
    journal_entries.c.audience,
    journal_entries.c.archived_at,
    journal_entries.c.id,
)

working_memory = personal(
    "working_memory",
    Column("conversation", String(200), primary_key=True),
    Column("session_id", BigInteger, nullable=False),
    Column("state", JSON, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

reminders = personal(
    "reminders",
    Column("id", BigInteger, primary_key=True),
    Column("conversation", String(200), nullable=False),
    Column("heard_by", String(80), nullable=False),
    Column("community", String(80)),
    Column("reply_to", String(200), nullable=False),
    Column("text", Text, nullable=False),
    Column("due_at", UtcDateTime, nullable=False),
    Column("set_at", UtcDateTime, nullable=False),
    Column("state", String(16), nullable=False),
    Column("source_message", BigInteger),
    Column("claimed_until", UtcDateTime),
    Column("first_tried_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
)
Index("reminders_due", reminders.c.state, reminders.c.due_at)

jobs = personal(
    "jobs",
    Column("key", String(200), primary_key=True),
    Column("id", BigInteger, nullable=False),
    Column("kind", String(64), nullable=False),
    Column("payload", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("due_at", UtcDateTime, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("claimed_until", UtcDateTime),
    Column("last_error", Text),
)
Index("jobs_due", jobs.c.state, jobs.c.due_at)
