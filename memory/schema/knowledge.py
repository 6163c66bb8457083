"""What is known of a person: core memory, archival passages, summaries, facts, episodes and procedures."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, Index, Integer, String, Text

from memory.schema.columns import UtcDateTime, cause, personal

memory_blocks = personal(
    "memory_blocks",
    Column("label", String(64), primary_key=True),
    Column("value", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

block_versions = personal(
    "block_versions",
    Column("label", String(64), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("value", Text, nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    *cause(),
)

passages = personal(
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

archival_stats = personal(
    "archival_stats",
    Column("hits", Integer, nullable=False, default=0),
    Column("misses", Integer, nullable=False, default=0),
)

summary_versions = personal(
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

facts = personal(
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

fact_revisions = personal(
    "fact_revisions",
    Column("id", BigInteger, primary_key=True),
    Column("fact_id", BigInteger, nullable=False),
    Column("action", String(16), nullable=False),
    Column("before", JSON(none_as_null=True)),  # the whole fact, so that every part of a change can be reverted
    Column("after", JSON, nullable=False),
    Column("candidate", Text),
    Column("changed_at", UtcDateTime, nullable=False),
    *cause(),
)
Index("fact_revisions_of", fact_revisions.c.person, fact_revisions.c.audience, fact_revisions.c.fact_id)

episodes = personal(
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
    *cause(),
    Column("forgotten_at", UtcDateTime),
    Column("forgotten_reason", Text, nullable=False, default=""),
)
Index("episodes_by_date", episodes.c.person, episodes.c.audience, episodes.c.started_at)
Index("episodes_of_session", episodes.c.person, episodes.c.audience, episodes.c.session_id)

procedures = personal(
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

procedure_versions = personal(
    "procedure_versions",
    Column("procedure_id", BigInteger, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("action", String(16), nullable=False),
    Column("name", String(200), nullable=False),
    Column("content", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("changed_at", UtcDateTime, nullable=False),
    *cause(),
)
