"""Which notes were read, and what stood in them, so that each is read once and again when it was changed.

Invariant: that a note was read is written in the transaction that keeps what it said.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select

from memory.database import Database, Transaction
from memory.records import Scope
from memory.schema import notes_read as table
from memory.stores.scoped import delete_scope, in_scope, rows_of_scope


class NotesReadStore:
    """The table of notes that were read.

    Args:
        database: where the rows are.
    """

    name = "notes_read"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def digests(self, scope: Scope) -> dict[str, str]:
        """What stood in each note when it was last read, as a digest, by the note's name."""
        query = select(table.c.name, table.c.digest).where(in_scope(table, scope))
        async with self._database.read() as connection:
            return {name: digest for name, digest in await connection.execute(query)}

    async def put(self, scope: Scope, tx: Transaction, *, name: str, digest: str, job: str, at: datetime) -> None:
        """Note that a note was read.

        Args:
            name: of the file.
            digest: of what stood there.
            job: what read it.
            at: when.
        """
        await tx.connection.execute(delete(table).where(in_scope(table, scope), table.c.name == name))
        owner = {"person": scope.person, "audience": scope.audience}
        row = {**owner, "name": name, "digest": digest, "read_at": at, "job": job}
        await tx.connection.execute(insert(table).values(row))

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every note of a scope that was read."""
        return await rows_of_scope(self._database, table, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Forget that notes of a scope were read."""
        return {table.name: await delete_scope(tx, table, scope)}
