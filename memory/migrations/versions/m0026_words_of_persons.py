"""Full text with the mark of its person before each word too, beside that of its scope."""

import sqlalchemy as sa
import structlog
from alembic import op

from memory.indexes.marks import mark_of_person
from memory.records import Source

revision = "0026"
down_revision = "0025"

_log = structlog.get_logger(__name__)

_TABLES = (
    "DROP TRIGGER search_words_added",
    "DROP TRIGGER search_words_removed",
    "DROP VIEW search_marked_words",
    "ALTER TABLE search_words ADD COLUMN person_mark TEXT NOT NULL DEFAULT ''",
    "CREATE VIEW search_marked_words AS SELECT id, mark || replace(nullif(words, ''), ' ', ' ' || mark) "
    "|| ' ' || person_mark || replace(words, ' ', ' ' || person_mark) AS words FROM search_words",
)
_MADE_OF_THE_WORDS = (
    "INSERT INTO search_text (search_text) VALUES ('rebuild')",
    "INSERT INTO search_text (search_text) VALUES ('optimize')",
    "INSERT INTO search_marks (mark, entries) "
    "SELECT person_mark, count(*) FROM search_words WHERE person_mark <> '' GROUP BY person_mark",
)
_TRIGGERS = (
    "CREATE TRIGGER search_words_added AFTER INSERT ON search_words BEGIN "
    "INSERT INTO search_text (rowid, words) SELECT id, words FROM search_marked_words WHERE id = new.id; "
    "INSERT INTO search_marks (mark, entries) VALUES (new.mark, 1), (new.person_mark, 1) "
    "ON CONFLICT (mark) DO UPDATE SET entries = entries + 1; END",
    "CREATE TRIGGER search_words_removed AFTER DELETE ON search_words BEGIN "
    "UPDATE search_marks SET entries = entries - 1 WHERE mark IN (old.mark, old.person_mark); "
    "DELETE FROM search_marks WHERE mark IN (old.mark, old.person_mark) AND entries = 0; END",
)


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        for statement in _TABLES:
            connection.exec_driver_sql(statement)
        _mark(connection)
        for statement in (*_MADE_OF_THE_WORDS, *_TRIGGERS):
            connection.exec_driver_sql(statement)


def _mark(connection: sa.Connection) -> None:
    owners = connection.execute(sa.text("SELECT DISTINCT person, source FROM search_entries")).all()
    mark = sa.text(
        "UPDATE search_words SET person_mark = :mark "
        "WHERE id IN (SELECT id FROM search_entries WHERE person = :person AND source = :source)"
    )
    for person, source in owners:
        values = {"mark": mark_of_person(person, Source(source)), "person": person, "source": source}
        connection.execute(mark, values)
    if owners:
        _log.info("full_text_is_made_anew", persons=len({person for person, _ in owners}))
