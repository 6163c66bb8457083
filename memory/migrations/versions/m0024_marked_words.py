"""Full text with the mark of its scope before each word, made anew from the texts of the entries."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
import structlog
from alembic import op

from memory.indexes.marks import mark_of
from memory.indexes.words import indexed_words
from memory.records import Scope, Source

revision = "0024"
down_revision = "0023"

_ENTRIES_AT_ONCE = 1_000
_ENTRIES_OF_A_LOG_LINE = 100_000

_log = structlog.get_logger(__name__)

# No position of a word is kept, and no number of an entry's words: nothing asks for them, and they take much room.
_TABLES = (
    "DROP TABLE search_text",
    "CREATE TABLE search_words (id INTEGER PRIMARY KEY, mark TEXT NOT NULL, words TEXT NOT NULL)",
    "CREATE TABLE search_marks (mark TEXT PRIMARY KEY, entries INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE VIEW search_marked_words AS "
    "SELECT id, mark || replace(nullif(words, ''), ' ', ' ' || mark) AS words FROM search_words",
    "CREATE VIRTUAL TABLE search_text USING fts5(words, content = 'search_marked_words', content_rowid = 'id', "
    "detail = none, columnsize = 0, tokenize = 'porter ascii')",
)
# FTS5 looks into each of its segments for each word of a query. With these numbers it has half as many of them, for a
# fifth more work with each entry that is added; what is made anew here becomes one. The triggers come last, since by
# them it would take twice as long.
_FEWER_SEGMENTS = (
    "INSERT INTO search_text (search_text, rank) VALUES ('automerge', 2)",
    "INSERT INTO search_text (search_text, rank) VALUES ('crisismerge', 4)",
)
_MADE_OF_THE_WORDS = (
    "INSERT INTO search_text (search_text) VALUES ('rebuild')",
    "INSERT INTO search_text (search_text) VALUES ('optimize')",
    "INSERT INTO search_marks (mark, entries) SELECT mark, count(*) FROM search_words GROUP BY mark",
)
_TRIGGERS = (
    "CREATE TRIGGER search_words_replaced BEFORE INSERT ON search_words "
    "WHEN EXISTS (SELECT 1 FROM search_words WHERE id = new.id) BEGIN "
    "DELETE FROM search_text WHERE rowid = new.id; "
    "DELETE FROM search_words WHERE id = new.id; END",
    "CREATE TRIGGER search_words_added AFTER INSERT ON search_words BEGIN "
    "INSERT INTO search_text (rowid, words) SELECT id, words FROM search_marked_words WHERE id = new.id; "
    "INSERT INTO search_marks (mark, entries) VALUES (new.mark, 1) "
    "ON CONFLICT (mark) DO UPDATE SET entries = entries + 1; END",
    "CREATE TRIGGER search_words_removed AFTER DELETE ON search_words BEGIN "
    "UPDATE search_marks SET entries = entries - 1 WHERE mark = old.mark; "
    "DELETE FROM search_marks WHERE mark = old.mark AND entries = 0; END",
)


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        for statement in (*_TABLES, *_FEWER_SEGMENTS):
            connection.exec_driver_sql(statement)
        _fill(connection)
        for statement in (*_MADE_OF_THE_WORDS, *_TRIGGERS):
            connection.exec_driver_sql(statement)


def _fill(connection: sa.Connection) -> None:
    put = sa.text("INSERT INTO search_words (id, mark, words) VALUES (:id, :mark, :words)")
    done = 0
    for entries in _entries(connection):
        connection.execute(put, [_row(entry) for entry in entries])
        done += len(entries)
        if done % _ENTRIES_OF_A_LOG_LINE == 0:
            _log.info("full_text_is_made_anew", entries=done)


def _entries(connection: sa.Connection) -> Iterator[Sequence[sa.Row[Any]]]:
    some = sa.text(
        "SELECT id, person, audience, source, text FROM search_entries WHERE id > :last ORDER BY id LIMIT :most"
    )
    last = 0
    while rows := connection.execute(some, {"last": last, "most": _ENTRIES_AT_ONCE}).all():
        yield rows
        last = rows[-1].id


def _row(entry: sa.Row[Any]) -> dict[str, object]:
    return {
        "id": entry.id,
        "mark": mark_of(Scope(person=entry.person, audience=entry.audience), Source(entry.source)),
        "words": " ".join(indexed_words(entry.text)),
    }
