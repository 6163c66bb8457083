"""What a turn takes does not grow with all that was ever said: no statement of it walks a person's whole history."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from tests.world import running

GROWING = r"(?:messages|inbox|search_entries|answer_posts|entries)"
WALKS = re.compile(rf"SCAN {GROWING}\b(?! USING)|SEARCH {GROWING}\b.*\((?:person=\?(?: AND audience=\?)?)\)$")


@contextmanager
def heard() -> Iterator[dict[str, Any]]:
    """The statements that are executed meanwhile, each with the parameters of its first run."""
    statements: dict[str, Any] = {}

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, _: object, many: bool) -> None:
        statements.setdefault(statement, parameters[0] if many else parameters)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def plans(database: Path, statements: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How SQLite goes about each statement, step by step."""
    with closing(sqlite3.connect(database)) as connection:
        for statement, parameters in statements.items():
            if statement.lstrip().startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
                for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters):
                    yield statement, row[3]


async def test_no_statement_of_a_turn_walks_all_that_a_person_ever_said(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        for number in range(12):
            await world.say(f"I saw heron {number} at the lake.")
        with heard() as statements:
            await world.say("Which heron did I see at the lake today?")
            for number in range(12):  # until some leave the window
                await world.say(f"I saw gull {number} at the pier.")
        walking = {
            statement: step for statement, step in plans(tmp_path / "keepsake.db", statements) if WALKS.search(step)
        }
    assert statements
    assert walking == {}
