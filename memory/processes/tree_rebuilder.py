"""Has the model go over a tree of categories, and does what is safe of what it proposes.

Invariant: a category in which something is filed is never removed, and what is filed is filed anew with its category.
An operation that cannot be done is skipped, and said so; the others are done.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import structlog

from memory.database import Transaction
from memory.policy.budget import cut_to_tokens
from memory.policy.category_tree import inclusive
from memory.policy.tree_operations import TreeOperation, tree_operations_from
from memory.ports import ChatModel, Clock, TokenCounter
from memory.prompt.tree import rebuild_request
from memory.records import Change, Scope, Tree
from memory.stores.tree import TreeStore
from memory.stores.warm import WarmStore

_log = structlog.get_logger(__name__)

_DEADLINE_SECONDS = 60.0
_ROOM = 4_000  # estimated tokens of the entries that the model is shown
_DAY = timedelta(days=1)


class TreeRebuilder:
    """Asks about trees, and changes them.

    Args:
        tree: the trees.
        warm: what was filed lately.
        model: the memory model.
        counter: bounds what it is shown.
        clock: says how long a category was idle.
    """

    def __init__(
        self, *, tree: TreeStore, warm: WarmStore, model: ChatModel, counter: TokenCounter, clock: Clock
    ) -> None:
        self._tree = tree
        self._warm = warm
        self._model = model
        self._counter = counter
        self._clock = clock

    async def proposed(self, scope: Scope) -> tuple[TreeOperation, ...] | None:
        """What the model would do; None where nothing was filed lately, or there is no answer that can be read.

        Raises:
            ModelError: the model could not be asked.
        """
        tree, recent = await self._tree.load(scope), await self._warm.all(scope)
        if not recent:
            return None
        lines = "\n".join(f"{entry.category or '.'}: {' '.join(entry.text.split())}" for entry in recent)
        shown = await asyncio.to_thread(cut_to_tokens, lines, _ROOM, self._counter.count)
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                response = await self._model.complete(rebuild_request(self._told(tree), shown))
        except TimeoutError:
            _log.warning("tree_rebuild_timed_out", model=self._model.name)
            return None
        operations = tree_operations_from(response.message.text)
        if operations is None:
            _log.warning("tree_rebuild_unreadable", model=self._model.name)
        return operations

    async def apply(
        self, scope: Scope, tx: Transaction, operations: tuple[TreeOperation, ...], *, change: Change, at: datetime
    ) -> list[str]:
        """Do what can be done; each operation in a few words, with why where it was skipped."""
        told = []
        for operation in operations:
            refused = await self._applied(scope, tx, operation, change, at)
            told.append(f"{operation}: skipped, {refused}" if refused else str(operation))
        _log.info("tree_rebuilt", operations=len(told))
        return told

    async def _applied(
        self, scope: Scope, tx: Transaction, operation: TreeOperation, change: Change, at: datetime
    ) -> str:
        path = operation.path
        match operation.action:
            case "add":
                return await self._tree.add_node(
                    scope, tx, path=path, description=operation.description, change=change, at=at
                )
            case "remove":
                return await self._tree.remove_node(scope, tx, path=path, change=change, at=at)
            case action:
                return await self._tree.move(
                    scope, tx, path=path, target=operation.target, action=action, change=change, at=at
                )

    def _told(self, tree: Tree) -> str:
        totals, now = inclusive(tree), self._clock.now()
        lines = []
        for path, node in sorted(tree.nodes.items()):
            counts, idle = totals[path], max(0, (now - node.last_active_at) // _DAY)
            counted = f"{counts.facts} facts, {counts.warm} recent, {counts.cold} archived"
            lines.append(f"{path or '.'}: {counted}; idle {idle} days; {node.description}")
        return "\n".join(lines)
