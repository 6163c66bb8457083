"""Writes the journal of each day into the note of that day, for people to read.

Invariant: a note that is written follows the journal, and what a person wrote in it is never changed.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime

from memory.note_files import NoteFiles
from memory.parameters import ParametersInForce
from memory.policy.daily_notes import day_of, note_name, with_journal
from memory.records import JournalEntry, Scope
from memory.stores.journal import JournalStore


class DailyNotes:
    """Writes notes.

    Args:
        files: where they are.
        journal: what they tell.
        in_force: the time zone.
    """

    def __init__(self, *, files: NoteFiles, journal: JournalStore, in_force: ParametersInForce) -> None:
        self._files = files
        self._journal = journal
        self._in_force = in_force

    async def write(self, scope: Scope, *, since: datetime | None = None) -> int:
        """Write the notes of a scope; how many have changed.

        Args:
            scope: whose.
            since: those of its day and of all later ones; None for those of all days.

        Raises:
            NotesUnavailable: a note cannot be written; those before it were.
            StorageError: the journal cannot be read.
        """
        if self._files.folder_of(scope) is None:
            return 0
        zone = self._in_force.current.zone
        first = None if since is None else since.astimezone(zone).date()
        start = None if first is None else datetime(first.year, first.month, first.day, tzinfo=zone)
        days: defaultdict[date, list[JournalEntry]] = defaultdict(list)
        for entry in await self._journal.noted_since(scope, start):
            days[entry.noted_at.astimezone(zone).date()].append(entry)
        there = [day for name in (await self._files.listed(scope)).names if (day := day_of(name)) is not None]
        wanted = sorted({*days, *(day for day in there if first is None or day >= first)})

        def changed(name: str, note: str) -> str:
            day = day_of(name) or date.min
            return with_journal(note, days.get(day, ()), day=day, zone=zone)

        return await self._files.rewrite(scope, [note_name(day) for day in wanted], changed)
