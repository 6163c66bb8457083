"""The steps from the first schema to the newest, and how a database takes them.

Invariant: a step that was released is never changed. All steps that a database lacks are taken in the transaction that
is open, so it has all of them or none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from memory.errors import DatabaseTooNew

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from sqlalchemy import Connection


@cache
def schema_versions() -> frozenset[str]:
    """The versions of the tables that this program can bring to the newest one."""
    return frozenset(step.revision for step in _steps().walk_revisions())


def migrate(connection: Connection) -> None:
    """Bring a database to the newest schema, in the transaction of a connection.

    Raises:
        DatabaseTooNew: it was written by a newer version.
    """
    from alembic import command
    from alembic.runtime.migration import MigrationContext

    steps = _steps()
    current = MigrationContext.configure(connection).get_current_revision()
    if current is not None and current not in schema_versions():
        raise DatabaseTooNew(
            f"The database has schema {current}, which this version does not know. "
            "Install the version that wrote it, or a newer one."
        )
    if current != steps.get_current_head():
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@cache
def _steps() -> ScriptDirectory:
    # Alembic compiles every step each time it looks for them.
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "memory:migrations")
    return config
