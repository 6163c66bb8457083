"""Sessions and messages, the posts of the platforms they came in and went out by, and the places they belong to."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, Integer, String, Table, Text, UniqueConstraint, true

from memory.schema.columns import UtcDateTime, metadata, personal

sessions = personal(
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

messages = personal(
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
Index("messages_by_session", messages.c.person, messages.c.audience, messages.c.session_id, messages.c.id)
Index("messages_by_date", messages.c.person, messages.c.audience, messages.c.sent_at)
Index(
    "messages_unfolded",
    messages.c.person,
    messages.c.audience,
    messages.c.conversation,
    messages.c.folded,
    messages.c.evicted_at,
)

inbox = personal(
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
    Column("reactions", JSON(none_as_null=True)),  # of its person, while the answer is written
    Column("edited_text", Text),  # what the message says by now, where that changed before its turn
    Column("edited_at", UtcDateTime),
    Column("claimed_by", String(64)),  # the process that is sending the answer
    Column("claimed_until", UtcDateTime),
    UniqueConstraint("person", "conversation", "platform_id", name="inbox_once"),
)
Index("inbox_pending", inbox.c.state, inbox.c.id)
Index("inbox_by_post", inbox.c.platform_id, inbox.c.conversation)

reply_sources = personal(
    "reply_sources",
    Column("exchange_id", BigInteger, primary_key=True),
    Column("conversation", String(200), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("sources", JSON, nullable=False),
    Column("verdicts", JSON),  # what its person said or reacted, in order
)

answer_posts = personal(
    "answer_posts",
    Column("conversation", String(200), primary_key=True),
    Column("platform_id", String(200), primary_key=True),
    Column("exchange_id", BigInteger, nullable=False),
)
Index("answer_posts_by_post", answer_posts.c.platform_id, answer_posts.c.conversation)
Index("answer_posts_of_exchange", answer_posts.c.person, answer_posts.c.audience, answer_posts.c.exchange_id)

closed_scopes = personal(
    "closed_scopes",
    Column("place", String(80), nullable=False),
    Column("closed_at", UtcDateTime, nullable=False),
)
Index("closed_scopes_by_place", closed_scopes.c.place)
Index("closed_scopes_by_date", closed_scopes.c.closed_at)

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

last_seen = Table(
    "last_seen",
    metadata,
    Column("channel", String(200), primary_key=True),  # as platform:id
    Column("message", String(64), nullable=False),
    Column("at", UtcDateTime, nullable=False),
)
