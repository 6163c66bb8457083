"""Puts back what an export wrote, into this database or another.

Texts become searchable again under the same words, and are embedded in the background. Work in flight (the inbox,
jobs), the notes on the last replies and on places that the bot has left, and links to other accounts are not put
back: they belong to the installation that had them.

Invariant: one transaction for the whole file, and nothing that is here is overwritten: a file is imported as a
whole or not at all, and importing it again adds nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.processes.indexer import Indexer
from memory.records import Scope
from memory.stores.audit import AuditStore
from memory.stores.recall import RecallStore

if TYPE_CHECKING:
    from memory.policy.export.file import KeptInScope

_log = structlog.get_logger(__name__)

_ROWS_AT_ONCE = 500
_WHOLE = "blocks"  # a store that takes all rows at once: only the newest versions together are sure to be allowed

OnProgress = Callable[[int, int], None]
"""Called with the rows done so far and the rows in all."""

_Restore = Callable[[Scope, Transaction, Sequence[Mapping[str, Any]]], Awaitable[int]]


class RestorableStore(Protocol):
    """A store that takes back what it exported."""

    @property
    def name(self) -> str:
        """What an export calls it."""
        ...

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of ``export``; how many were not there. Raises InvalidInput."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReceipt:
    """What an import did.

    Attributes:
        person: whose memory it was.
        added: rows added: audience -> store -> how many.
        already_here: rows of the file that were here already.
        left_out: rows of the file that are never put back.
    """

    person: str
    added: Mapping[str, Mapping[str, int]]
    already_here: int
    left_out: int


class Importer:
    """The inverse of ``Privacy.export``.

    Args:
        database: for one transaction over all stores.
        stores: every store that takes rows back, but for the recall log.
        recall: the recall log, which must know which sessions are not to be kept.
        audit: where an import is noted.
        ids: tells which ids are of the future.
        indexer: embeds what was put back.
    """

    def __init__(
        self,
        *,
        database: Database,
        stores: Sequence[RestorableStore],
        recall: RecallStore,
        audit: AuditStore,
        ids: IdSource,
        indexer: Indexer,
    ) -> None:
        self._database = database
        self._stores = stores
        self._recall = recall
        self._taken = frozenset((recall.name, *(store.name for store in stores)))
        self._audit = audit
        self._ids = ids
        self._indexer = indexer

    async def run(
        self, data: bytes, *, actor: str, person: str | None = None, on_progress: OnProgress | None = None
    ) -> ImportReceipt:
        """Put back what a file holds. Everybody's writes wait meanwhile.

        Args:
            data: the bytes of the file.
            actor: who does it, for the audit log of every audience that rows are added to.
            person: whose memory it must be; None for anybody's.
            on_progress: hears how far it is.

        Raises:
            InvalidInput: the file is damaged, of another format or of another person, or a key of it stands for
                something else here. Nothing was imported.
        """
        from memory.policy.export.file import read_export  # its models take a while to make

        export = await asyncio.to_thread(read_export, data, newest_id=self._ids.next())
        if person is not None and export.person != person:
            raise InvalidInput(f"This file is of {export.person}, not of {person}. Nothing was imported.")
        rows = sum(len(some) for kept in export.scopes.values() for name, some in kept if name in self._taken)
        progress = _Progress(rows, on_progress)
        added: dict[str, dict[str, int]] = {}
        async with self._database.transaction() as tx:
            for audience, kept in export.scopes.items():
                scope = Scope(person=export.person, audience=audience)
                added[audience] = await self._restore(scope, tx, kept, progress)
                if count := sum(added[audience].values()):
                    await self._audit.note(scope, tx, actor=actor, action="memory import", detail=f"{count} rows")
        self._indexer.kick()
        rows_added = sum(sum(stores.values()) for stores in added.values())
        _log.info("memory_imported", scopes=len(added), rows=rows_added, already_here=rows - rows_added)
        return ImportReceipt(
            person=export.person,
            added=added,
            already_here=rows - rows_added,
            left_out=sum(len(some) for kept in export.scopes.values() for name, some in kept) - rows,
        )

    async def _restore(self, scope: Scope, tx: Transaction, kept: KeptInScope, progress: _Progress) -> dict[str, int]:
        from memory.policy.export.file import as_exported

        unkept = frozenset(session.id for session in kept.sessions if not session.kept)
        restore: dict[str, _Restore] = {store.name: store.restore for store in self._stores}
        restore[self._recall.name] = partial(self._recall.restore, unkept_sessions=unkept)
        added = dict.fromkeys(restore, 0)
        for name, rows in kept:
            if name not in self._taken:
                continue
            at_once = max(1, len(rows)) if name == _WHOLE else _ROWS_AT_ONCE
            for start in range(0, len(rows), at_once):
                some = rows[start : start + at_once]
                added[name] += await restore[name](scope, tx, as_exported(some))
                progress.advance(len(some))
        return {name: count for name, count in added.items() if count}


class _Progress:
    def __init__(self, total: int, hear: OnProgress | None) -> None:
        self._done = 0
        self._total = total
        self._hear = hear

    def advance(self, rows: int) -> None:
        self._done += rows
        if self._hear is not None:
            self._hear(self._done, self._total)
