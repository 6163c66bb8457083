"""Statements that are written once, and whose rows come as SQLite's driver gives them.

A search runs a dozen statements, each of which SQLite answers in a fraction of a millisecond. For a statement of its
own SQLAlchemy takes about as long again: it looks the text up, makes a result, and a row of each row. Here it writes
the text, and the driver does the rest.

Invariant: who listens to an engine for what it executes hears of these statements as of any other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import TextClause
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Connection
from sqlalchemy.sql import Select

_DIALECT = sqlite.dialect(paramstyle="named")

Row = tuple[Any, ...]


class Prepared:
    """A statement that reads.

    Args:
        statement: its parameters are texts, numbers, and lists as ``schema.listed`` takes them.
    """

    def __init__(self, statement: Select[Any] | TextClause) -> None:
        compiled = statement.compile(dialect=_DIALECT)
        self._text = str(compiled)
        self._always = {name: value for name, value in compiled.params.items() if value is not None}

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[Row]:
        """All of its rows, as plain tuples: a time is the number of milliseconds that the table holds.

        Args:
            connection: where to read, in this thread.
            values: its parameters, by their names.

        Raises:
            sqlite3.Error: the database cannot be used; ``Database`` says it plainly.
        """
        given = {name: json.dumps(value) if isinstance(value, list) else value for name, value in values.items()}
        parameters = {**self._always, **given}
        cursor = connection.connection.cursor()
        try:
            for heard in connection.dispatch.before_cursor_execute:
                heard(connection, cursor, self._text, parameters, None, False)
            cursor.execute(self._text, parameters)
            found: list[Row] = list(cursor.fetchall())
            return found
        finally:
            cursor.close()
