"""The rolling summary of a scope: its newest version is the summary, the last few can be rolled back to.

Invariant: a version is never changed. A rollback appends a version, so that it can itself be undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Row, bindparam, delete, func, insert, select

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ports import TokenCounter
from memory.records import Change, Scope, SummaryVersion
from memory.schema import summary_versions
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    in_any_scope,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_values,
)

_log = structlog.get_logger(__name__)

# Made once, since making a statement takes longer than running it.
_NEWEST = (
    select(summary_versions)
    .where(in_any_scope(summary_versions))
    .order_by(summary_versions.c.version.desc())
    .limit(bindparam("most"))
)


class SummaryStore:
    """The table of summary versions.

    Args:
        database: where the rows are.
        counter: for the log.
        versions: how many of the newest are kept.
    """

    name = "summaries"

    def __init__(self, database: Database, counter: TokenCounter, *, versions: int) -> None:
        self._database = database
        self._counter = counter
        self._kept = versions

    async def latest(self, scope: Scope) -> SummaryVersion | None:
        """The summary, or None for a new person."""
        found = await self._found(scope, limit=1)
        return found[0] if found else None

    async def versions(self, scope: Scope) -> list[SummaryVersion]:
        """Every kept version, newest first."""
        return await self._found(scope, limit=self._kept)

    async def get(self, scope: Scope, version: int) -> SummaryVersion:
        """One version.

        Raises:
            InvalidInput: there is none of that number.
        """
        kept = await self.versions(scope)
        for found in kept:
            if found.version == version:
                return found
        numbers = ", ".join(str(found.version) for found in kept) or "none"
        raise InvalidInput(f"There is no version {version} of this summary. Kept versions: {numbers}.")

    async def append(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        text: str,
        change: Change,
        at: datetime,
        first_message: int | None = None,
        last_message: int | None = None,
    ) -> SummaryVersion:
        """Make a text the summary. Versions beyond the number kept are deleted.

        Args:
            scope: whose summary.
            tx: the open transaction.
            text: the new summary.
            change: who or what writes it, and why.
            at: when.
            first_message, last_message: the messages it was made from.
        """
        newest = select(summary_versions).where(in_scope(summary_versions, scope))
        row = (await tx.connection.execute(newest.order_by(summary_versions.c.version.desc()).limit(1))).first()
        version = SummaryVersion(
            version=row.version + 1 if row else 1,
            text=text,
            words=len(text.split()),
            changed_at=as_stored(at),
            change=change,
            first_message=first_message,
            last_message=last_message,
        )
        await tx.connection.execute(insert(summary_versions).values(**_values(scope, version)))
        await tx.connection.execute(
            delete(summary_versions).where(
                in_scope(summary_versions, scope), summary_versions.c.version <= version.version - self._kept
            )
        )
        before = row.text if row else ""
        tx.after_commit(
            lambda: _log.info(
                "memory_write",
                memory="summary",
                version=version.version,
                words=version.words,
                session_id=change.session_id,
                reason=change.reason,
                tokens_before=self._counter.count(before),
                tokens_after=self._counter.count(text),
            )
        )
        return version

    async def drop_from(self, scope: Scope, tx: Transaction, *, version: int) -> bool:
        """Delete a version and every later one, so that they can be written anew from the one before.

        Returns:
            False, and nothing is deleted, where the version or the one before it is not kept any more.
        """
        mine = in_scope(summary_versions, scope)
        query = select(summary_versions.c.version).where(mine)
        kept = set((await tx.connection.execute(query)).scalars()) | {0}
        if not {version - 1, version} <= kept:
            return False
        await tx.connection.execute(delete(summary_versions).where(mine, summary_versions.c.version >= version))
        return True

    async def rollback(
        self, scope: Scope, tx: Transaction, *, version: int, change: Change, at: datetime
    ) -> SummaryVersion:
        """Make an earlier version the summary again, as a new version.

        Raises:
            InvalidInput: there is none of that number.
        """
        return await self.append(scope, tx, text=(await self.get(scope, version)).text, change=change, at=at)

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every kept version of a scope."""
        return await rows_of_scope(self._database, summary_versions, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back versions of an export; how many were not there. Those too old to be kept here stay away.

        Raises:
            InvalidInput: another version has the number of one of them.
        """
        newest = select(func.max(summary_versions.c.version)).where(in_scope(summary_versions, scope))
        too_old = ((await tx.connection.execute(newest)).scalar() or 0) - self._kept
        kept = [row for row in rows if row["version"] > too_old]
        return len(await restore_rows(tx, summary_versions, scope, kept))

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every version of a scope."""
        return {summary_versions.name: await delete_scope(tx, summary_versions, scope)}

    async def _found(self, scope: Scope, *, limit: int) -> list[SummaryVersion]:
        async with self._database.read() as connection:
            rows = await connection.execute(_NEWEST, {**scope_values(scope), "most": limit})
            return [_version(row) for row in rows]


def _values(scope: Scope, version: SummaryVersion) -> dict[str, Any]:
    return {
        "person": scope.person,
        "audience": scope.audience,
        "version": version.version,
        "text": version.text,
        "words": version.words,
        "changed_at": version.changed_at,
        "actor": version.change.actor,
        "reason": version.change.reason,
        "session_id": version.change.session_id,
        "job": version.change.job,
        "first_message": version.first_message,
        "last_message": version.last_message,
    }


def _version(row: Row[Any]) -> SummaryVersion:
    return SummaryVersion(
        version=row.version,
        text=row.text,
        words=row.words,
        changed_at=row.changed_at,
        change=Change(actor=row.actor, reason=row.reason, session_id=row.session_id, job=row.job),
        first_message=row.first_message,
        last_message=row.last_message,
    )
