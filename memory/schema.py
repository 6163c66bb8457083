"""The tables, once, as SQLAlchemy Core, for SQLite now and Postgres later.

Invariant: every table that holds people's data has a primary key that leads with the scope (person, audience),
and stands in ``PERSONAL_TABLES``. Times are UTC milliseconds since 1970 in a BIGINT.

The full-text table is not here: it belongs to its index (``memory/indexes``), created by the same migrations.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    true,
)

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware datetime, kept as UTC milliseconds since 1970. Naive datetimes are refused."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Datetime to milliseconds."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime cannot be stored")
        return (value - _UNIX_EPOCH) // _MILLISECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Milliseconds to datetime."""
        return None if value is None else _UNIX_EPOCH + value * _MILLISECOND


metadata = MetaData()


def _scope() -> tuple[Column[Any], Column[Any]]:
    return (
        Column("person", String(128), primary_key=True),
        Column("audience", String(80), primary_key=True),
    )


def _personal(name: str, *columns: Any) -> Table:
    return Table(name, metadata, *_scope(), *columns, info={"personal": True})


sessions = _personal(
    "sessions",
    Column("id", BigInteger, primary_key=True),
    Column("conversation", String(200), nullable=False),
    Column("community", String(80)),
    Column("started_at", UtcDateTime, nullable=False),
    Column("last_activity_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Column("window_summary", Text, nullable=False, default=""),
    Column("kept", Boolean, nullable=False, default=True, server_default=true()),
    Column("summary_version", Integer),  # the version of the rolling summary that covers it
)
Index("sessions_open", sessions.c.person, sessions.c.audience, sessions.c.conversation, sessions.c.ended_at)
Index("sessions_idle", sessions.c.ended_at, sessions.c.last_activity_at)

messages = _personal(
    "messages",
    Column("id", BigInteger, primary_key=True),
    Column("conversation", String(200), nullable=False),
    Column("session_id", BigInteger, nullable=False),
    Column("exchange_id", BigInteger, nullable=False),
    Column("role", String(16), nullable=False),
    Column("author", String(200), nullable=False),
    Column("parts", Text, nullable=False),
    Column("sent_at", UtcDateTime, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("platform_id", String(200)),
    Column("evicted_at", UtcDateTime),
    Column("eviction_reason", String(32)),
    Column("folded", Boolean, nullable=False, default=False),
    Column("edited_at", UtcDateTime),  # when its author last changed it on the platform
)
Index("messages_by_post", messages.c.platform_id, messages.c.conversation)
Index(
    "messages_window",
    messages.c.person,
    messages.c.audience,
    messages.c.conversation,
    messages.c.evicted_at,
    messages.c.id,
)
Index("messages_by_date", messages.c.person, messages.c.audience, messages.c.sent_at)
Index(
    "messages_unfolded",
    messages.c.person,
    messages.c.audience,
    messages.c.conversation,
    messages.c.folded,
    messages.c.evicted_at,
)

memory_blocks = _personal(
    "memory_blocks",
    Column("label", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

block_versions = _personal(
    "block_versions",
    Column("label", String(64), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("value", Text, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),
)

passages = _personal(
    "passages",
    Column("id", BigInteger, primary_key=True),
    Column("content", Text, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("memory_type", String(64), nullable=False),
    Column("importance", Float, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_accessed_at", UtcDateTime, nullable=False),
    Column("access_count", Integer, nullable=False, default=0),
    Column("metadata", JSON, nullable=False),
    Column("source_message", BigInteger),
    Column("forgotten_at", UtcDateTime),
    Column("forgotten_reason", Text),
)
Index("passages_by_hash", passages.c.person, passages.c.audience, passages.c.content_hash)

archival_stats = _personal(
    "archival_stats",
    Column("hits", Integer, nullable=False, default=0),
    Column("misses", Integer, nullable=False, default=0),
)

search_entries = _personal(
    "search_entries",
    Column("source", String(32), primary_key=True),
    Column("record_id", BigInteger, primary_key=True),
    Column("chunk", Integer, primary_key=True, default=0),
    Column("id", BigInteger, nullable=False, unique=True),
    Column("text", Text, nullable=False),
    Column("embedder", String(120)),  # null until the vector is there
    Column("vector", LargeBinary),  # float16, little endian, unit length
    Column("tokens", LargeBinary),  # of each token, int8, length 127; null where the embedder gives none
)
Index("search_entries_by_embedder", search_entries.c.embedder)

index_generations = _personal(
    "index_generations",
    Column("source", String(32), primary_key=True),
    Column("generation", BigInteger, nullable=False),
)

inbox = _personal(
    "inbox",
    Column("conversation", String(200), primary_key=True),
    Column("platform_id", String(200), primary_key=True),
    Column("id", BigInteger, nullable=False),
    Column("payload", Text, nullable=False),
    Column("accepted_at", UtcDateTime, nullable=False),
    Column("state", String(16), nullable=False),
    Column("message_id", BigInteger),
    Column("reply", Text),
    Column("draft", JSON(none_as_null=True)),
    Column("edited_text", Text),  # what the message says by now, where that changed before its turn
    Column("edited_at", UtcDateTime),
    Column("claimed_by", String(64)),  # the process that is sending the answer
    Column("claimed_until", UtcDateTime),
    UniqueConstraint("person", "conversation", "platform_id", name="inbox_once"),
)
Index("inbox_pending", inbox.c.state, inbox.c.id)
Index("inbox_by_post", inbox.c.platform_id, inbox.c.conversation)

summary_versions = _personal(
    "summary_versions",
    Column("version", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("words", Integer, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("session_id", BigInteger),
    Column("job", String(200)),
    Column("first_message", BigInteger),
    Column("last_message", BigInteger),
)

jobs = _personal(
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

audit_log = _personal(
    "audit_log",
    Column("id", BigInteger, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("action", String(64), nullable=False),
    Column("detail", Text, nullable=False, default=""),
)

consent = _personal(
    "consent",
    Column("greeted_at", UtcDateTime),
    Column("paused_at", UtcDateTime),
)

facts = _personal(
    "facts",
    Column("id", BigInteger, primary_key=True),
    Column("text", Text, nullable=False),
    Column("text_hash", String(64), nullable=False),  # of the normalised text: says the same in the same words
    Column("subject", Text, nullable=False),
    Column("predicate", Text, nullable=False),
    Column("object", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("category", String(200), nullable=False),
    Column("importance", Float, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("source_message", BigInteger),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("valid_from", UtcDateTime),
    Column("expires_at", UtcDateTime),
    Column("state", String(16), nullable=False),
    Column("superseded_by", BigInteger),
    Column("pinned", Boolean, nullable=False),
)
Index("facts_by_hash", facts.c.person, facts.c.audience, facts.c.text_hash)
Index("facts_by_triple", facts.c.person, facts.c.audience, facts.c.subject, facts.c.predicate)
Index("facts_by_message", facts.c.person, facts.c.audience, facts.c.source_message)

fact_revisions = _personal(
    "fact_revisions",
    Column("id", BigInteger, primary_key=True),
    Column("fact_id", BigInteger, nullable=False),
    Column("action", String(16), nullable=False),
    Column("before", JSON(none_as_null=True)),  # the whole fact, so that every part of a change can be reverted
    Column("after", JSON, nullable=False),
    Column("candidate", Text),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),
)
Index("fact_revisions_of", fact_revisions.c.person, fact_revisions.c.audience, fact_revisions.c.fact_id)

journal_entries = _personal(
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

working_memory = _personal(
    "working_memory",
    Column("conversation", String(200), primary_key=True),
    Column("session_id", BigInteger, nullable=False),
    Column("state", JSON, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

reminders = _personal(
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

preferences = _personal("preferences", Column("time_zone", String(64), nullable=False))

reply_sources = _personal(
    "reply_sources",
    Column("exchange_id", BigInteger, primary_key=True),
    Column("conversation", String(200), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("sources", JSON, nullable=False),
    Column("verdicts", JSON),  # what its person said or reacted, in order
)

answer_posts = _personal(
    "answer_posts",
    Column("conversation", String(200), primary_key=True),
    Column("platform_id", String(200), primary_key=True),
    Column("exchange_id", BigInteger, nullable=False),
)
Index("answer_posts_by_post", answer_posts.c.platform_id, answer_posts.c.conversation)
Index("answer_posts_of_exchange", answer_posts.c.person, answer_posts.c.audience, answer_posts.c.exchange_id)

episodes = _personal(
    "episodes",
    Column("id", BigInteger, primary_key=True),
    Column("conversation", String(200), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime, nullable=False),
    Column("participants", JSON, nullable=False),
    Column("message_count", Integer, nullable=False),
    Column("first_message", BigInteger, nullable=False),
    Column("last_message", BigInteger, nullable=False),
    Column("summary", Text, nullable=False),
    Column("goal", Text, nullable=False),
    Column("journey", JSON, nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("key_moments", JSON, nullable=False),
    Column("lessons", JSON, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("importance", Float, nullable=False),
    Column("made_at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),
    Column("forgotten_at", UtcDateTime),
    Column("forgotten_reason", Text, nullable=False, default=""),
)
Index("episodes_by_date", episodes.c.person, episodes.c.audience, episodes.c.started_at)
Index("episodes_of_session", episodes.c.person, episodes.c.audience, episodes.c.session_id)

procedures = _personal(
    "procedures",
    Column("id", BigInteger, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("content", JSON, nullable=False),  # description, steps, examples, triggers, difficulty
    Column("state", String(16), nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("usage_count", Integer, nullable=False, default=0),
    Column("success_rate", Float),
)

procedure_versions = _personal(
    "procedure_versions",
    Column("procedure_id", BigInteger, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("action", String(16), nullable=False),
    Column("name", String(200), nullable=False),
    Column("content", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),
)

account_links = _personal(
    "account_links",
    Column("other", String(128), primary_key=True),
    Column("linked_at", UtcDateTime, nullable=False),
)
Index("account_links_by_other", account_links.c.other)

link_requests = _personal(
    "link_requests",
    Column("code_hash", String(64)),
    Column("made_at", UtcDateTime),
    Column("claimed_by", String(128)),
    Column("wrong_codes", Integer, nullable=False, default=0),
    Column("wrong_since", UtcDateTime),
)
Index("link_requests_by_code", link_requests.c.code_hash)

entries = _personal(
    "entries",
    Column("id", BigInteger, primary_key=True),
    Column("tier", String(8), nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", String(64), nullable=False),
    Column("category", String(200), nullable=False),
    Column("importance", Float, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("access_count", Integer, nullable=False, default=0),
    Column("touched_at", UtcDateTime, nullable=False),  # when it was kept or last given to somebody
    Column("frozen_at", UtcDateTime, nullable=False),  # from when on no search finds it in the archive
    Column("score", Float, nullable=False),
    Column("bytes", Integer, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),  # what made it
    Column("archived_at", UtcDateTime),
    Column("archive_reason", String(32), nullable=False, default=""),
    Column("archived_by", String(200)),  # the job that archived it
    Column("removed_at", UtcDateTime),
    Column("removed_by", String(200)),
)
Index("entries_by_category", entries.c.person, entries.c.audience, entries.c.category, entries.c.tier)
Index("entries_by_date", entries.c.person, entries.c.audience, entries.c.tier, entries.c.created_at)
Index("entries_by_hash", entries.c.person, entries.c.audience, entries.c.text_hash)

tree_nodes = _personal(
    "tree_nodes",
    Column("path", String(200), primary_key=True),
    Column("description", String(100), nullable=False),
    Column("warm", Integer, nullable=False, default=0),
    Column("cold", Integer, nullable=False, default=0),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_active_at", UtcDateTime, nullable=False),
)

tree_changes = _personal(
    "tree_changes",
    Column("id", BigInteger, primary_key=True),
    Column("action", String(16), nullable=False),
    Column("path", String(200), nullable=False),
    Column("target", String(200), nullable=False, default=""),
    Column("description", String(100), nullable=False, default=""),
    Column("moved", JSON, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),
    Column("undone_at", UtcDateTime),
)

tree_index = _personal(
    "tree_index",
    Column("text", Text, nullable=False),
    Column("made_at", UtcDateTime, nullable=False),
)

hot_versions = _personal(
    "hot_versions",
    Column("version", Integer, primary_key=True),
    Column("state", JSON, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text, nullable=False),
    Column("source_message", BigInteger),
    Column("session_id", BigInteger),
    Column("job", String(200)),
)

consolidations = _personal(
    "consolidations",
    Column("id", BigInteger, primary_key=True),
    Column("mode", String(16), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("report", JSON, nullable=False),
)

closed_scopes = _personal(
    "closed_scopes",
    Column("place", String(80), nullable=False),
    Column("closed_at", UtcDateTime, nullable=False),
)
Index("closed_scopes_by_place", closed_scopes.c.place)
Index("closed_scopes_by_date", closed_scopes.c.closed_at)

usage = _personal(
    "usage",
    Column("day", String(10), primary_key=True),  # 2026-03-02, in the installation's time zone
    Column("turns", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)
Index("usage_by_day", usage.c.day)

channels = Table(
    "channels",
    metadata,
    Column("conversation", String(200), primary_key=True),
    Column("community", String(80), nullable=False),
    Column("silenced_at", UtcDateTime),
    Column("mode", String(16)),
    Column("engaged_at", UtcDateTime),
)
Index("channels_engaged", channels.c.engaged_at)

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

last_seen = Table(
    "last_seen",
    metadata,
    Column("channel", String(200), primary_key=True),  # as platform:id
    Column("message", String(64), nullable=False),
    Column("at", UtcDateTime, nullable=False),
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

PERSONAL_TABLES: tuple[Table, ...] = tuple(table for table in metadata.sorted_tables if table.info.get("personal"))
