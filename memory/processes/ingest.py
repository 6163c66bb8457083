"""Takes in what a person wrote in their notes: each note once, and once more when it was changed.

Invariant: what the bot wrote there itself is not read. What a note says and that it was read are one transaction, and
no model is asked within it. A note that cannot be read is told of, and the others are read.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from memory.database import Database
from memory.errors import InvalidInput, ModelError
from memory.note_files import NoteFiles
from memory.parameters import ParametersInForce
from memory.policy.completeness import completeness_of
from memory.policy.daily_notes import NotedFact, day_of, facts_from, facts_in, noted_at, own_part
from memory.policy.distillation import details_of, distilled
from memory.policy.fact_text import text_hash
from memory.ports import ChatModel, Clock
from memory.processes.consolidator import Ingested
from memory.processes.written_pages import MEMORY_PAGE
from memory.prompt.distilling import MOST_OF_NOTE, note_request
from memory.records import Change, NewEntry, Scope
from memory.stores.consent import ConsentStore
from memory.stores.notes_read import NotesReadStore
from memory.stores.tree import TreeStore
from memory.stores.warm import WarmStore

_log = structlog.get_logger(__name__)

_DEADLINE_SECONDS = 30.0  # for a note
_LOOKED_THROUGH_DAYS = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What came of it.

    Attributes:
        files_scanned: notes that were looked at, those known already included.
        mode: ``llm`` where a model was asked, else ``rule``.
        facts_found, facts_stored, facts_skipped: in the notes that are new; skipped are those that were known.
        llm_fallbacks: notes of which the rule was asked because the model failed.
        facts: what was stored, or would be.
        refused: what was not read and why, a sentence each.
        warnings: what the new notes lack to be of use later, each with the name of its note.
    """

    files_scanned: int = 0
    mode: str = "rule"
    facts_found: int = 0
    facts_stored: int = 0
    facts_skipped: int = 0
    llm_fallbacks: int = 0
    facts: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """What a person wrote in a note."""

    name: str
    own: str

    @property
    def digest(self) -> str:
        return hashlib.blake2b(self.own.encode(errors="replace"), digest_size=16).hexdigest()


class NoteIngest:
    """Reads notes.

    Args:
        database: for the transaction over all stores.
        files: the notes.
        warm: where their facts are kept.
        tree: the categories that a model is told.
        read: which notes were read.
        consent: whether anything new is to be remembered.
        model: asked first; None for the rule alone.
        in_force: the time zone.
        clock: dates what is kept.
    """

    def __init__(
        self,
        *,
        database: Database,
        files: NoteFiles,
        warm: WarmStore,
        tree: TreeStore,
        read: NotesReadStore,
        consent: ConsentStore,
        model: ChatModel | None,
        in_force: ParametersInForce,
        clock: Clock,
    ) -> None:
        self._database = database
        self._files = files
        self._warm = warm
        self._tree = tree
        self._read = read
        self._consent = consent
        self._model = model
        self._in_force = in_force
        self._clock = clock

    async def ingest(self, scope: Scope, *, job: str, whole: bool) -> Ingested:
        """Take in the notes of a scope that are new, as the work of a job. Raises NotesUnavailable, StorageError."""
        report = await self.read(scope, job=job, days=None if whole else _LOOKED_THROUGH_DAYS)
        return Ingested(
            stored=report.facts_stored,
            skipped=report.facts_skipped,
            refused=" ".join(report.refused),
            warnings=len(report.warnings),
        )

    async def note(self, scope: Scope, name: str) -> str | None:
        """The whole text of a note; None where there is none.

        Raises:
            InvalidInput: it is no plain note, or cannot be read.
            NotesUnavailable: the folder cannot be used.
        """
        return await self._files.read(scope, name)

    async def read(
        self, scope: Scope, *, job: str, days: int | None = None, dry_run: bool = False, model: ChatModel | None = None
    ) -> IngestReport:
        """Take in notes that are new or were changed.

        Args:
            scope: whose.
            job: by which it can be taken back.
            days: of the notes whose name is a day only those of so many days up to today; None for all.
            dry_run: whether nothing is stored.
            model: asked in place of the usual one.

        Raises:
            NotesUnavailable: the folder cannot be read.
            StorageError: the database cannot be used.
        """
        listed = await self._files.listed(scope)
        wanted = [name for name in listed.names if self._is_wanted(name, days)]
        report = IngestReport(mode="llm" if model or self._model else "rule", refused=listed.refused)
        if not wanted:
            return report
        if (await self._consent.load(scope)).paused_at is not None:
            return replace(report, refused=(*report.refused, "Memory is paused for this person, so no note was read."))
        known = await self._read.digests(scope)
        for name in wanted:
            try:
                note = _Note(name=name, own=own_part(await self._files.read(scope, name) or ""))
            except InvalidInput as error:
                report = replace(report, refused=(*report.refused, str(error)))
                continue
            report = replace(report, files_scanned=report.files_scanned + 1)
            if note.own and known.get(name) != note.digest:
                report = await self._taken_in(scope, note, report, model or self._model, job=job, dry_run=dry_run)
        _log.info("notes_read", files=report.files_scanned, stored=report.facts_stored, skipped=report.facts_skipped)
        return report

    def _is_wanted(self, name: str, days: int | None) -> bool:
        day = day_of(name)
        today = self._clock.now().astimezone(self._in_force.current.zone).date()
        in_time = days is None or day is None or day > today - timedelta(days=days)
        return name != MEMORY_PAGE and in_time

    async def _taken_in(
        self, scope: Scope, note: _Note, report: IngestReport, model: ChatModel | None, *, job: str, dry_run: bool
    ) -> IngestReport:
        said = None if model is None else await self._asked(scope, note, model)
        # What a model is not shown of a long note is read by rule.
        by_rule = await asyncio.to_thread(facts_in, note.own if said is None else note.own[MOST_OF_NOTE:])
        found = [*(said or ()), *by_rule]
        lacking = await asyncio.to_thread(completeness_of, note.own)
        new = await self._unknown(scope, found) if dry_run else await self._stored(scope, note, found, job=job)
        return replace(
            report,
            facts_found=report.facts_found + len(found),
            facts_stored=report.facts_stored + (0 if dry_run else len(new)),
            facts_skipped=report.facts_skipped + len(found) - len(new),
            llm_fallbacks=report.llm_fallbacks + (model is not None and said is None),
            facts=(*report.facts, *new),
            warnings=(*report.warnings, *(f"{note.name}: {told}" for told in lacking.warnings)),
        )

    async def _asked(self, scope: Scope, note: _Note, model: ChatModel) -> list[NotedFact] | None:
        """What a model finds in a note; None where it fails, is too slow or cannot be read."""
        request = note_request(note.own, (path for path in (await self._tree.load(scope)).nodes if path))
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                found = facts_from((await model.complete(request)).message.text)
        except (ModelError, TimeoutError) as error:
            _log.warning("note_read_by_rule", error=type(error).__name__, model=model.name)
            return None
        if found is None:
            _log.warning("note_read_by_rule", error="unreadable", model=model.name)
        return found

    async def _unknown(self, scope: Scope, found: Sequence[NotedFact]) -> list[str]:
        known = await self._warm.known(scope, [fact.text for fact in found])
        return [fact.text for fact in found if text_hash(fact.text) not in known]

    async def _stored(self, scope: Scope, note: _Note, found: Sequence[NotedFact], *, job: str) -> list[str]:
        """Keep what is new of a note; nothing where it was changed or deleted since it was read."""
        now = self._clock.now()
        change = Change(actor="system", reason=f"read in the note {note.name}", job=job)
        created_at = noted_at(note.name, zone=self._in_force.current.zone, now=now)
        entries = [await asyncio.to_thread(_as_entry, fact, created_at) for fact in found]
        async with self._database.transaction() as tx:
            if not await self._stands(scope, note):
                return []
            stored = [await self._warm.add(scope, tx, new=new, change=change, at=now) for new in entries]
            await self._read.put(scope, tx, name=note.name, digest=note.digest, job=job, at=now)
        return [entry.text for entry in stored if entry is not None]

    async def _stands(self, scope: Scope, note: _Note) -> bool:
        """Whether a note still says what was read; what took its place is told of when it is read."""
        try:
            return own_part(await self._files.read(scope, note.name) or "") == note.own
        except InvalidInput:
            return False


def _as_entry(fact: NotedFact, created_at: datetime) -> NewEntry:
    return NewEntry(
        text=fact.text,
        category=fact.category,
        importance=fact.importance,
        created_at=created_at,
        metadata={**details_of(distilled(fact.text)), **fact.metadata},
    )
