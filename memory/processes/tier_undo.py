"""Takes back what a session or a job did to the tiers, the tree of categories and the hot state.

Invariant: what it archived is warm again, what it let go of is kept again, and what it made is let go of; a category
in which something is filed stays, and a hot state that was written again since stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.database import Transaction
from memory.policy.hot_state import as_json
from memory.records import Change, HotState, Origin, Scope, TreeChange
from memory.stores.cold import ColdStore
from memory.stores.hot import HotStore
from memory.stores.tree import TreeStore
from memory.stores.tree_changes import TreeChangeStore

_HOT = "hot state"


@dataclass(frozen=True, slots=True, kw_only=True)
class TierWork:
    """What would be taken back: name -> text before and after, and plain sentences on what stays."""

    texts: dict[str, tuple[str, str]]
    notes: tuple[str, ...] = ()


class TierUndo:
    """Takes back work on the tiers.

    Args:
        cold: the entries.
        tree: the categories.
        changes: what was changed there.
        hot: the hot states.
    """

    def __init__(self, *, cold: ColdStore, tree: TreeStore, changes: TreeChangeStore, hot: HotStore) -> None:
        self._cold = cold
        self._tree = tree
        self._changes = changes
        self._hot = hot

    async def planned(self, scope: Scope, tx: Transaction, *, origin: Origin) -> TierWork:
        """What ``undo`` would do."""
        texts = {}
        for entry in await self._cold.made_by(scope, tx, origin=origin):
            texts[f"entry {entry.handle}"] = (entry.text, "")
        if (job := origin.job) is not None:
            for entry in await self._cold.archived_by(scope, tx, job=job):
                texts[f"archived entry {entry.handle}"] = ("", entry.text)
            for entry in await self._cold.let_go_by(scope, tx, job=job):
                texts[f"entry {entry.handle}, let go of"] = ("", entry.text)
        for change in await self._changes.of_work(scope, tx, origin=origin):
            texts[f"category {change.path}"] = _sides(change)
        before, after, note = await self._hot_before(scope, origin)
        if before != after:
            texts[_HOT] = (as_json(before), as_json(after))
        return TierWork(texts=texts, notes=(note,) if note else ())

    async def undo(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        origin: Origin,
        change: Change,
        at: datetime,
    ) -> None:
        """Take it back."""
        await self._cold.remove_work(scope, tx, origin=origin, by=change.reason, at=at)
        for made in await self._changes.of_work(scope, tx, origin=origin):
            await self._tree.take_back(scope, tx, made, change=change, at=at)
        if (job := origin.job) is not None:
            await self._cold.bring_back(scope, tx, job=job)
        before, after, _ = await self._hot_before(scope, origin)
        if before != after:
            await self._hot.write(scope, tx, state=after, change=change, at=at)

    async def _hot_before(self, scope: Scope, origin: Origin) -> tuple[HotState, HotState, str]:
        """The hot state now and before the work, and a sentence where it stays although the work had changed it."""
        versions = await self._hot.versions(scope)
        now = versions[0].state if versions else HotState()
        mine = [one for one in versions if origin.made(one.change)]
        if not mine:
            return now, now, ""
        if mine[0] is not versions[0]:
            return now, now, "The hot state was written again since, so it stays. Choose a version of it instead."
        older = next((one for one in versions if one.version == mine[-1].version - 1), None)
        return now, older.state if older else HotState(), ""


def _sides(change: TreeChange) -> tuple[str, str]:
    match change.action:
        case "add":
            return change.path, ""
        case "remove":
            return "", change.path
    return change.target, change.path
