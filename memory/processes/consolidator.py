"""Consolidates a scope: what fades is archived, what matters most comes into the hot state, dead categories go.

Invariant: what is decided here is one transaction with its report, so that it happened whole or not at all, and is
taken back whole by the key of its job. What it writes it has read within that transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import structlog

from memory.database import Database, Transaction
from memory.errors import MemorySystemError, ModelError
from memory.ids import IdSource
from memory.parameters import ParametersInForce
from memory.policy.category_tree import index_of
from memory.policy.consolidation import mode_due
from memory.policy.hot_state import size_of
from memory.policy.promotion import promoted
from memory.policy.tree_analysis import findings
from memory.policy.tree_operations import TreeOperation
from memory.ports import Clock
from memory.processes.tree_rebuilder import TreeRebuilder
from memory.processes.written_pages import WrittenPages
from memory.records import Change, ConsolidationReport, Mode, Scope, TierCounts, TierEntry, Tree
from memory.stores.cold import ColdStore
from memory.stores.consolidations import ConsolidationStore
from memory.stores.facts import FactStore
from memory.stores.hot import HotStore
from memory.stores.tier_days import TierDayStore
from memory.stores.tree import TreeStore
from memory.stores.warm import WarmStore

_log = structlog.get_logger(__name__)

_SCOPES_AT_ONCE = 200

Progress = Callable[[int, int], None]
"""Is told how many scopes were looked at, and how many there were at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What came of reading daily notes.

    Attributes:
        stored, skipped: entries that they gave, and that were known.
        refused: what was not read and why, in sentences; empty where all was.
        warnings: what they lack to be of use later.
    """

    stored: int = 0
    skipped: int = 0
    refused: str = ""
    warnings: int = 0


class Ingest(Protocol):
    """Takes what daily notes say into the warm tier."""

    async def ingest(self, scope: Scope, *, job: str, whole: bool) -> Ingested:
        """Do so for a scope, each note once, as the work of a job; of old days only where all is to be looked through.

        Raises:
            MemorySystemError: the notes cannot be read.
        """
        ...


class Consolidator:
    """Does consolidations.

    Args:
        database: for the transaction over all stores.
        hot, warm, cold, tree, facts: what is consolidated.
        reports: what was done.
        rebuilder: asks the model about the tree.
        days: counts consolidations.
        in_force: the numbers.
        ids: draws the ids of reports.
        clock: dates it.
        ingest: reads daily notes; None where there are none.

    Attributes:
        pages: writes what people can read.
    """

    def __init__(
        self,
        *,
        database: Database,
        hot: HotStore,
        warm: WarmStore,
        cold: ColdStore,
        tree: TreeStore,
        facts: FactStore,
        reports: ConsolidationStore,
        rebuilder: TreeRebuilder,
        pages: WrittenPages,
        days: TierDayStore,
        in_force: ParametersInForce,
        ids: IdSource,
        clock: Clock,
        ingest: Ingest | None = None,
    ) -> None:
        self._database = database
        self._hot = hot
        self._warm = warm
        self._cold = cold
        self._tree = tree
        self._facts = facts
        self._reports = reports
        self._rebuilder = rebuilder
        self.pages = pages
        self._days = days
        self._in_force = in_force
        self._ids = ids
        self._clock = clock
        self._ingest = ingest

    async def run(self, scope: Scope, mode: Mode = Mode.QUICK) -> ConsolidationReport:
        """Consolidate a scope now.

        Daily notes are read first, in their own transactions. A failure there, or of the model that goes over the
        tree, is noted in the report, and the rest is done.

        Raises:
            StorageError: the database cannot be used; nothing was consolidated.
        """
        done = await self._done(scope, mode, only_if_due=False)
        assert done is not None  # what is asked for is always done
        return done

    async def run_all(self, mode: Mode | None = None, *, progress: Progress | None = None) -> int:
        """Consolidate the scopes of everybody, some read at a time; how many were consolidated.

        Args:
            mode: how thoroughly; None for what is due for each, which for most is nothing.
            progress: is told how far it is.
        """
        done = seen = 0
        whole = await self._reports.count_scopes() if progress is not None else 0
        last: Scope | None = None
        while scopes := await self._reports.scopes(after=last, limit=_SCOPES_AT_ONCE):
            for scope in scopes:
                wanted = mode or await self._due(scope)
                if wanted is not None:
                    done += await self._done(scope, wanted, only_if_due=mode is None) is not None
                seen += 1
                if progress is not None:
                    progress(seen, whole)
            last = scopes[-1]
        return done

    async def _done(self, scope: Scope, mode: Mode, *, only_if_due: bool) -> ConsolidationReport | None:
        """Consolidate; None where another process has done so meanwhile, and only what is due was to be done."""
        report = ConsolidationReport(id=self._ids.next(), mode=mode, scope=scope, at=self._clock.now())
        if mode.includes(Mode.DAILY):
            report = await self._with_notes(report)
        operations = await self._proposed(scope) if mode.includes(Mode.MONTHLY) else None

        async def consolidate(tx: Transaction) -> ConsolidationReport | None:
            if only_if_due and await self._due(scope) is not mode:
                return None
            done = await self._consolidated(tx, report, operations)
            await self._reports.add(scope, tx, report=done)
            await self._days.add(scope, tx, counts=TierCounts(consolidations=1), at=done.at)
            return done

        done = await self._database.write(consolidate)
        if done is None:
            return None
        await self.pages.consolidated(scope, mode)
        _log.info("consolidated", mode=mode.value, evicted=done.evicted_warm, pruned=done.pruned_nodes)
        return done

    async def _due(self, scope: Scope) -> Mode | None:
        parameters, standing = self._in_force.current, await self._reports.standing(scope)
        return mode_due(
            standing.last,
            oldest=standing.oldest,
            newest=standing.newest,
            now=self._clock.now(),
            zone=parameters.zone,
            interval=parameters.consolidation_interval,
        )

    async def _with_notes(self, report: ConsolidationReport) -> ConsolidationReport:
        if self._ingest is None:
            return report
        try:
            found = await self._ingest.ingest(report.scope, job=report.job, whole=report.mode.includes(Mode.MONTHLY))
        except MemorySystemError as error:
            _log.warning("ingest_failed", error=type(error).__name__)
            return replace(report, ingest_error=str(error))
        return replace(
            report,
            ingested_facts=found.stored,
            ingest_skipped=found.skipped,
            ingest_error=found.refused,
            ingest_warnings=found.warnings,
        )

    async def _proposed(self, scope: Scope) -> tuple[TreeOperation, ...] | None:
        try:
            return await self._rebuilder.proposed(scope)
        except ModelError as error:
            _log.warning("tree_rebuild_failed", error=type(error).__name__)
            return None

    async def _consolidated(
        self, tx: Transaction, report: ConsolidationReport, operations: tuple[TreeOperation, ...] | None
    ) -> ConsolidationReport:
        scope, now, mode = report.scope, report.at, report.mode
        change = Change(actor="system", reason=f"{mode.value} consolidation", job=report.job)
        gone = await self._warm.evict(scope, tx, change=change, at=now)
        warm = await self._warm.rescore(scope, tx, at=now)
        report = replace(report, evicted_warm=len(gone), archived_cold=len(gone), warm_entries=len(warm))
        if operations is not None:
            done = await self._rebuilder.apply(scope, tx, operations, change=change, at=now)
            report = replace(report, tree_rebuilt=True, tree_operations=tuple(done))
        if mode.includes(Mode.DAILY):
            before = now - self._in_force.current.tree_prune
            pruned = await self._tree.prune(scope, tx, before=before, change=change, at=now)
            report = replace(report, pruned_nodes=len(pruned))
        if mode.includes(Mode.MONTHLY):
            report = replace(report, removed_cold=await self._cold.let_go(scope, tx, job=report.job, at=now))
        promotions, hot_size = await self._promoted(scope, tx, warm, change, now)
        tree, tree_size = await self._indexed(scope, tx, warm, change, now)
        report = replace(report, tree_size_bytes=tree_size, tree_nodes=len(tree.nodes))
        if mode.includes(Mode.FULL):
            report = replace(report, tree_findings=findings(tree, limits=self._tree.limits, size=tree_size))
        _, size = await self._warm.size_within(scope, tx)
        return replace(report, promoted=promotions, hot_size_bytes=hot_size, warm_bytes=size)

    async def _promoted(
        self, scope: Scope, tx: Transaction, warm: Sequence[TierEntry], change: Change, now: datetime
    ) -> tuple[int, int]:
        """Copy what matters most into the hot state; how many lines, and its size."""
        facts = await self._facts.current(scope)
        state, count = promoted(await self._hot.standing(scope, tx), facts, warm, now=now)
        parameters = self._in_force.current
        if state.agent_name == "" and (facts or warm):
            first = min([fact.created_at for fact in facts] + [entry.created_at for entry in warm])
            state = replace(state, agent_name=parameters.agent_name, relationship_start=first.date().isoformat())
        written = await self._hot.write(scope, tx, state=state, change=change, at=now)
        return count, size_of(written)

    async def _indexed(
        self, scope: Scope, tx: Transaction, warm: Sequence[TierEntry], change: Change, now: datetime
    ) -> tuple[Tree, int]:
        """Make categories for the facts that have none, and write the index anew; the tree, and the size of it."""
        for category in sorted({fact.category for fact in await self._facts.current(scope)}):
            await self._tree.file(scope, tx, category=category, at=now, change=change)
        tree = await self._tree.within_transaction(scope, tx, at=now)
        text = index_of(tree, warm, max_bytes=self._tree.limits.max_bytes, now=now)
        await self._tree.write_index(scope, tx, text=text, at=now)
        return tree, len(text.encode())
