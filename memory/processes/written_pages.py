"""What is written of a scope for people to read: the page of what is at hand, and the note of each day.

Invariant: nothing is written of a scope before its first consolidation, and nothing of it stays where its person is
erased meanwhile. What is taken back or forgotten leaves the files at once; what cannot be written is logged, and
written by the next consolidation.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import structlog

from memory.errors import NotesUnavailable, StorageError
from memory.note_files import NoteFiles
from memory.parameters import ParametersInForce
from memory.policy.hot_state import memory_page
from memory.ports import Clock
from memory.processes.daily_notes import DailyNotes
from memory.records import Mode, Scope
from memory.stores.consolidations import ConsolidationStore
from memory.stores.hot import HotStore

_log = structlog.get_logger(__name__)

MEMORY_PAGE = "MEMORY.md"

_WRITTEN_ANEW = timedelta(days=31)
_ASIDE = timedelta(days=1)  # by which the clock of a platform and that of the journal may differ, and more


class WrittenPages:
    """Writes the files of a scope.

    Args:
        files: where they are.
        notes: writes the journal of each day.
        hot: what is at hand.
        reports: of consolidations, by which it is known whether a scope has files.
        in_force: the time zone.
        clock: dates the page.
    """

    def __init__(
        self,
        *,
        files: NoteFiles,
        notes: DailyNotes,
        hot: HotStore,
        reports: ConsolidationStore,
        in_force: ParametersInForce,
        clock: Clock,
    ) -> None:
        self._files = files
        self._notes = notes
        self._hot = hot
        self._reports = reports
        self._in_force = in_force
        self._clock = clock
        self._writing = asyncio.Lock()  # what was read first must not be written last

    async def write_page(self, scope: Scope) -> None:
        """Write what is at hand. Raises NotesUnavailable."""
        state = await self._hot.shown(scope)
        if state.version == 0:
            return
        told = self._clock.now().astimezone(self._in_force.current.zone).isoformat(timespec="minutes")
        page = memory_page(state, max_bytes=self._hot.limits.max_bytes, generated_at=told)
        await self._files.write(scope, MEMORY_PAGE, page)

    async def consolidated(self, scope: Scope, mode: Mode) -> None:
        """Write the page; by night the notes of the last month too, and once a month those of all days."""
        if not mode.includes(Mode.DAILY):
            await self._write(scope, notes=False)
        elif mode.includes(Mode.MONTHLY):
            await self._write(scope, notes=True)
        else:
            await self._write(scope, notes=True, since=self._clock.now() - _WRITTEN_ANEW)

    async def forgotten(self, scope: Scope) -> None:
        """Something is at hand no more: write the page anew."""
        await self._write(scope, notes=False)

    async def taken_back(self, scope: Scope, *, said_at: datetime) -> None:
        """Words of the author are gone from memory: write the page anew, and the notes from their day on."""
        await self._write(scope, notes=True, since=said_at - _ASIDE)

    async def undone(self, scope: Scope) -> None:
        """What a session or job changed is taken back: write the page anew, and the notes of the last month."""
        await self._write(scope, notes=True, since=self._clock.now() - _WRITTEN_ANEW)

    async def _is_written(self, scope: Scope) -> bool:
        return self._files.folder_of(scope) is not None and bool(await self._reports.reports(scope, limit=1))

    async def _write(self, scope: Scope, *, notes: bool, since: datetime | None = None) -> None:
        """Write the page, and the notes of the days from that moment on, of all without one."""
        try:
            async with self._writing:
                if not await self._is_written(scope):
                    return
                await self.write_page(scope)
                if notes:
                    await self._notes.write(scope, since=since)
                if not await self._is_written(scope):
                    await self._files.erase_scope(scope)
        except (NotesUnavailable, StorageError) as error:
            _log.warning("notes_not_written", error=str(error))
