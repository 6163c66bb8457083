"""Puts back what an export wrote, into this database or another.

Texts become searchable again under the same words, and are embedded in the background. Work in flight (the inbox,
jobs) is not put back: it belongs to the installation that had it.

Invariant: one transaction for the whole file, and nothing that is here is overwritten: a file is imported as a
whole or not at all, and importing it again adds nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.processes.indexer import Indexer
from memory.records import Scope
from memory.stores.archival import ArchivalStore
from memory.stores.audit import AuditStore
from memory.stores.blocks import BlockStore
from memory.stores.consent import ConsentStore
from memory.stores.recall import RecallStore
from memory.stores.sessions import SessionStore
from memory.stores.summaries import SummaryStore

if TYPE_CHECKING:
    from pydantic import BaseModel

    from memory.policy.export_format import KeptInScope

_log = structlog.get_logger(__name__)

_ROWS_AT_ONCE = 500
_IN_FLIGHT = ("inbox", "jobs")

OnProgress = Callable[[int, int], None]
"""Called with the rows done so far and the rows in all."""

_Restore = Callable[[Scope, Transaction, Sequence[Mapping[str, Any]]], Awaitable[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReceipt:
    """What an import did.

    Attributes:
        person: whose memory it was.
        added: rows added: audience -> store -> how many.
        already_here: rows of the file that were here already.
        left_out: rows of work in flight, which are not put back.
    """

    person: str
    added: Mapping[str, Mapping[str, int]]
    already_here: int
    left_out: int


class Importer:
    """The inverse of ``Privacy.export``.

    Args:
        database: for one transaction over all stores.
        ids: tells which ids are of the future.
        indexer: embeds what was put back.
    """

    def __init__(
        self,
        *,
        database: Database,
        sessions: SessionStore,
        recall: RecallStore,
        blocks: BlockStore,
        archival: ArchivalStore,
        summaries: SummaryStore,
        audit: AuditStore,
        consent: ConsentStore,
        ids: IdSource,
        indexer: Indexer,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._recall = recall
        self._blocks = blocks
        self._archival = archival
        self._summaries = summaries
        self._audit = audit
        self._consent = consent
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
        from memory.policy.export_format import read_export  # its models take a while to make

        export = await asyncio.to_thread(read_export, data, newest_id=self._ids.next())
        if person is not None and export.person != person:
            raise InvalidInput(f"This file is of {export.person}, not of {person}. Nothing was imported.")
        rows = sum(_rows(kept) for kept in export.scopes.values())
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
            left_out=sum(_rows(kept, in_flight=True) for kept in export.scopes.values()),
        )

    async def _restore(self, scope: Scope, tx: Transaction, kept: KeptInScope, progress: _Progress) -> dict[str, int]:
        from memory.policy.export_format import as_exported

        unkept = frozenset(session.id for session in kept.sessions if not session.kept)
        steps: tuple[tuple[str, Sequence[BaseModel], _Restore], ...] = (
            ("sessions", kept.sessions, self._sessions.restore),
            ("recall", kept.recall, partial(self._recall.restore, unkept_sessions=unkept)),
            ("blocks", kept.blocks, self._blocks.restore),
            ("archival", kept.archival, self._archival.restore),
            ("summaries", kept.summaries, self._summaries.restore),
            ("audit", kept.audit, self._audit.restore),
            ("consent", kept.consent, self._consent.restore),
        )
        added: dict[str, int] = {}
        for name, rows, restore in steps:
            # Blocks all at once: only the newest versions together are sure to keep to the limit.
            at_once = _ROWS_AT_ONCE if name != self._blocks.name else max(1, len(rows))
            added[name] = 0
            for start in range(0, len(rows), at_once):
                some = rows[start : start + at_once]
                added[name] += await restore(scope, tx, as_exported(some))
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


def _rows(kept: KeptInScope, *, in_flight: bool = False) -> int:
    return sum(len(rows) for name, rows in kept if (name in _IN_FLIGHT) is in_flight)
