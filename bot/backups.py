"""Backups by the clock: when one is due, which are kept, how old the newest is.

Invariant: an old backup is deleted only after a newer one was read back; other files in the folder are left alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from memory.backup import back_up
from memory.errors import BackupFailed
from memory.ports import Clock
from memory.schema import PERSONAL_TABLES

_log = structlog.get_logger(__name__)

_NAME = "keepsake-%Y%m%dT%H%M%SZ.db"

TABLES = tuple(table.name for table in PERSONAL_TABLES)
"""The tables of people's data, which a backup is counted by."""


class Backups:
    """The backups of one database in one folder.

    Args:
        database: its file.
        folder: where the backups go.
        every: how long after one the next is due.
        keep: how many are kept.
        clock: where the time comes from.
    """

    def __init__(self, database: Path, folder: Path, *, every: timedelta, keep: int, clock: Clock) -> None:
        self._database = database
        self._folder = folder
        self._every = every
        self._keep = keep
        self._clock = clock

    async def run_due(self) -> None:
        """Make a backup if one is due, and let the oldest go. What goes wrong is logged, and tried again next time."""
        made = await asyncio.to_thread(backups_in, self._folder)
        now = self._clock.now()
        if made and now - made[-1][0] < self._every:
            return
        target = self._folder / now.astimezone(UTC).strftime(_NAME)
        try:
            report = await asyncio.to_thread(
                back_up, self._database, target, tables=TABLES, progress=lambda _share: None
            )
            await asyncio.to_thread(self._prune)
        except (BackupFailed, OSError) as error:
            _log.error("backup_failed", error=str(error))
        else:
            _log.info("backup_made", file=target.name, bytes=report.size, rows=sum(report.rows.values()))

    async def newest(self) -> datetime | None:
        """When the newest was made; None where there is none."""
        made = await asyncio.to_thread(backups_in, self._folder)
        return made[-1][0] if made else None

    def _prune(self) -> None:
        for _, old in backups_in(self._folder)[: -self._keep]:
            old.unlink()


def backups_in(folder: Path) -> Sequence[tuple[datetime, Path]]:
    """The backups made by the clock in a folder, oldest first, each with its time."""
    if not folder.is_dir():
        return []
    found = []
    for path in folder.iterdir():
        try:
            found.append((datetime.strptime(path.name, _NAME).replace(tzinfo=UTC), path))
        except ValueError:
            continue
    return sorted(found)
