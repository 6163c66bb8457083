"""Takes changes back: to an earlier version, or everything that one session or one job changed.

Invariant: taking back is itself a new version with its reason and its entry in the audit log, all in one
transaction, so that it can be taken back too. What others changed meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.policy.audience import reach_of_scope
from memory.ports import Clock
from memory.processes.indexer import Indexer
from memory.processes.tier_undo import TierUndo
from memory.processes.written_pages import WrittenPages
from memory.records import (
    BLOCK_LABELS,
    BlockVersion,
    By,
    Change,
    DigestVersion,
    Fact,
    FactRevision,
    FactState,
    HotVersion,
    JournalEntry,
    MemoryBlock,
    Origin,
    Scope,
    SummaryVersion,
)
from memory.stores.audit import AuditStore
from memory.stores.blocks import BlockStore
from memory.stores.fact_revisions import FactRevisionStore
from memory.stores.facts import FactStore
from memory.stores.hot import HotStore
from memory.stores.journal import JournalStore
from memory.stores.summaries import SummaryStore

_SUMMARY = "summary"
_FACT_CHANGES = 1_000

Version = BlockVersion | SummaryVersion | FactRevision | DigestVersion | HotVersion
"""One change of something that has versions."""


def origin_of(text: str) -> Origin:
    """A session by its number, or a job by its key, ``close_session:42``.

    Raises:
        InvalidInput: it is neither.
    """
    if text.isascii() and text.isdigit():
        return Origin(session_id=int(text))
    kind, colon, subject = text.partition(":")
    if not (kind and colon and subject):
        raise InvalidInput(f"{text[:60]!r} is neither a session's number nor a job's key, as in close_session:42.")
    return Origin(job=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What taking something back changes, or has changed.

    Attributes:
        texts: what it is about (``persona``, ``human``, ``summary``, ``fact k3x2ab``) -> text before and after; that
            of a fact is empty while it is not current.
        notes: plain sentences on what stays as it is, and what to use instead.
    """

    texts: dict[str, tuple[str, str]]
    notes: tuple[str, ...] = ()


class Undoable(Protocol):
    """A store whose work can be put out of sight as a whole."""

    async def work_of(self, scope: Scope, tx: Transaction, *, origin: Origin) -> dict[str, str]:
        """What stands of the work of a session or a job: name -> text."""
        ...

    async def undo_work(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        origin: Origin,
        change: Change,
        at: datetime,
    ) -> None:
        """Put it out of sight."""
        ...


class Undo:
    """Takes changes back.

    Args:
        database: for the transaction over all stores.
        blocks, summaries, facts, journal, hot: what has versions, or goes out of sight.
        experience: what is made of sessions.
        fact_revisions: the versions of facts.
        tiers: takes back work on the tiers.
        audit: says who did it.
        indexer: makes facts that come back found by their meaning.
        pages: what people read of it in files.
        clock: dates it.
    """

    def __init__(
        self,
        *,
        database: Database,
        blocks: BlockStore,
        summaries: SummaryStore,
        facts: FactStore,
        fact_revisions: FactRevisionStore,
        journal: JournalStore,
        experience: Sequence[Undoable],
        tiers: TierUndo,
        hot: HotStore,
        audit: AuditStore,
        indexer: Indexer,
        pages: WrittenPages,
        clock: Clock,
    ) -> None:
        self._database = database
        self._blocks = blocks
        self._summaries = summaries
        self._facts = facts
        self._fact_revisions = fact_revisions
        self._journal = journal
        self._experience = experience
        self._tiers = tiers
        self._hot = hot
        self._audit = audit
        self._indexer = indexer
        self._pages = pages
        self._clock = clock

    async def summary_to(self, scope: Scope, version: int, *, by: By) -> SummaryVersion:
        """Make an earlier summary the summary again, as a new version.

        Raises:
            InvalidInput: there is none of that number.
        """
        async with self._database.transaction() as tx:
            change = Change(actor=by.actor, reason=f"rollback to version {version}")
            written = await self._summaries.rollback(scope, tx, version=version, change=change, at=self._clock.now())
            await self._note(scope, tx, by, "memory rollback", f"summary to version {version}")
        return written

    async def block_to(self, scope: Scope, label: str, version: int, *, by: By) -> MemoryBlock:
        """Bring an earlier value of a core memory block back, as a new version.

        Raises:
            UnknownBlock, TextNotFound: there is no such block or version.
            CoreMemoryFull: it does not fit beside what the other blocks hold now.
        """
        async with self._database.transaction() as tx:
            change = Change(actor=by.actor, reason=f"rollback to version {version}")
            written = await self._blocks.rollback(
                scope, tx, label=label, version=version, change=change, at=self._clock.now()
            )
            await self._note(scope, tx, by, "memory rollback", f"{label} to version {version}")
        return written

    async def texts(self, scope: Scope, label: str | None, version: int) -> tuple[str, str]:
        """The text now, and that of a version: of a core memory block, or of the summary where ``label`` is None.

        Raises:
            InvalidInput: there is no such version.
            UnknownBlock: there is no such block.
        """
        if label is None:
            latest = await self._summaries.latest(scope)
            return latest.text if latest else "", (await self._summaries.get(scope, version)).text
        values = {0: ""} | {found.version: found.value for found in await self._blocks.versions(scope, label)}
        if version not in values:
            raise InvalidInput(f"The {label} block has no version {version}. Its versions are 0 to {max(values)}.")
        return values[max(values)], values[version]

    async def preview(self, scope: Scope, origin: Origin) -> Undone:
        """What ``take_back`` would change.

        Raises:
            InvalidInput: nothing that is kept was changed by it.
        """
        async with self._database.transaction() as tx:
            return await self._planned(scope, tx, origin)

    async def take_back(self, scope: Scope, origin: Origin, *, by: By) -> Undone:
        """Take back everything that one session or job changed and that still stands.

        Raises:
            InvalidInput: nothing that is kept was changed by it.
            CoreMemoryFull: what it had removed no longer fits.
        """
        change = Change(actor=by.actor, reason=f"undo of {origin}")
        async with self._database.transaction() as tx:
            undone = await self._planned(scope, tx, origin)
            now = self._clock.now()
            for label in BLOCK_LABELS:
                if label in undone.texts:
                    _, value = undone.texts[label]
                    await self._blocks.rewrite(scope, tx, label=label, value=value, change=change, at=now)
            if _SUMMARY in undone.texts:
                await self._summaries.append(scope, tx, text=undone.texts[_SUMMARY][1], change=change, at=now)
            await self._facts.undo(scope, tx, origin=origin, change=change, at=now)
            await self._journal.undo(scope, tx, origin=origin, change=change, at=now)
            for store in self._experience:
                await store.undo_work(scope, tx, origin=origin, change=change, at=now)
            await self._tiers.undo(scope, tx, origin=origin, change=change, at=now)
            if undone.texts:
                await self._note(scope, tx, by, "memory undo", str(origin))
        self._indexer.kick()
        await self._pages.undone(scope)
        return undone

    async def origins(self, scope: Scope) -> list[tuple[Origin, Version]]:
        """The sessions and jobs whose changes are kept, the latest change first, each with that change.

        Of facts the last thousand changes are looked at.
        """
        versions: list[Version] = list(await self._summaries.versions(scope))
        for label in BLOCK_LABELS:
            versions += await self._blocks.versions(scope, label)
        versions += await self._facts.history(reach_of_scope(scope), limit=_FACT_CHANGES)
        versions += await self._journal.digests(scope)
        versions += await self._hot.versions(scope)
        found: dict[Origin, Version] = {}
        for version in sorted(versions, key=lambda version: version.changed_at, reverse=True):
            if version.change.job is not None:
                found.setdefault(Origin(job=version.change.job), version)
            if version.change.session_id is not None:
                found.setdefault(Origin(session_id=version.change.session_id), version)
        return list(found.items())

    async def _planned(self, scope: Scope, tx: Transaction, origin: Origin) -> Undone:
        """What taking back changes. Within a transaction, while which nobody else writes."""
        texts = {}
        for label in BLOCK_LABELS:
            before, after = await self._blocks.without(scope, label=label, made=origin.made)
            if before != after:
                texts[label] = (before, after)
        restored, note = await self._summary_before(scope, origin)
        if restored is not None:
            texts[_SUMMARY] = restored
        notes = [note] if note else []
        changes, left = await self._facts.without_work(scope, tx, origin=origin)
        texts |= {_name(before): (_current(before), _current(after)) for before, after in changes}
        added, archived = await self._journal.of_work(scope, origin=origin)
        texts |= {_line(entry): (entry.text, "") for entry in added}
        texts |= {_line(entry): ("", entry.text) for entry in archived}
        for store in self._experience:
            work = await store.work_of(scope, tx, origin=origin)
            texts |= {name: (text, "") for name, text in work.items()}
        tiers = await self._tiers.planned(scope, tx, origin=origin)
        texts |= tiers.texts
        notes += tiers.notes
        if left:
            names = ", ".join(_name(fact) for fact in left)
            notes.append(f"Changed again since, or replaced by something that was, so as it is: {names}.")
        if not texts and not notes:
            notes.append(await self._nothing(scope, tx, origin))
        return Undone(texts=texts, notes=tuple(notes))

    async def _summary_before(self, scope: Scope, origin: Origin) -> tuple[tuple[str, str] | None, str]:
        """The summary now and before the origin's change, or why it stays."""
        versions = await self._summaries.versions(scope)
        made = next((version for version in versions if origin.made(version.change)), None)
        if made is None:
            return None, ""
        if made is not versions[0]:
            return None, (
                f"The summary was written anew since (version {versions[0].version} after {made.version}), "
                "so it stays. Choose an earlier one with rollback."
            )
        if made.version > 1 and len(versions) == 1:
            return None, "The summary before that one is not kept any more, so the summary stays."
        return (made.text, versions[1].text if len(versions) > 1 else ""), ""

    async def _nothing(self, scope: Scope, tx: Transaction, origin: Origin) -> str:
        facts = await self._fact_revisions.of_work(scope, tx, origin=origin)
        if facts or any(known == origin for known, _ in await self.origins(scope)):
            return f"Nothing that {origin} changed stands there any more."
        raise InvalidInput(f"Nothing that is kept here was changed by {origin}.")

    async def _note(self, scope: Scope, tx: Transaction, by: By, action: str, detail: str) -> None:
        await self._audit.note(scope, tx, actor=by.audited, action=action, detail=detail)


def _name(fact: Fact) -> str:
    return f"fact {handle_of(fact.id)}"


def _line(entry: JournalEntry) -> str:
    return f"journal entry {handle_of(entry.id)}"


def _current(fact: Fact) -> str:
    return fact.text if fact.state is FactState.CURRENT else ""
