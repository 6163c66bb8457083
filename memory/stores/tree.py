"""The tree of categories of a scope: its nodes with what is filed in each, and its index.

The counts of warm and cold entries stand in the nodes; those of facts are counted when they are asked for. The index
is the compact form as the last consolidation left it, so that a prompt does not change with every entry; where entries
have gone since, it holds no words of any.

Invariant: the counts are those of the rows. Whoever files an entry, moves or lets go of one says so by ``recount`` in
the same transaction. No change breaks a limit, and a node in which something is filed is never removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select, update

from memory.database import Database, Transaction
from memory.policy.category_tree import (
    LONGEST_DESCRIPTION,
    Filing,
    TreeLimits,
    children_of,
    compact,
    filed,
    is_within,
    missing_paths,
    path_of,
    prunable,
    why_not_added,
    why_not_moved,
    with_node,
)
from memory.policy.text import clean
from memory.ports import Clock
from memory.records import ROOT, Change, Scope, Tier, Tree, TreeChange, TreeNode
from memory.schema import entries, tree_index, tree_nodes
from memory.stores.scoped import (
    as_stored,
    delete_scope,
    in_any_scope,
    in_scope,
    restore_rows,
    rows_of_scope,
    scope_values,
)
from memory.stores.tree_changes import TreeChangeStore
from memory.stores.tree_reader import INDEX, TreeReader

_CHANGING = ("description", "warm", "cold", "created_at", "last_active_at")


# Of one node of many; the rest of its values are the columns that change.
_CHANGE = update(tree_nodes).where(in_any_scope(tree_nodes), tree_nodes.c.path == bindparam("of_path"))

_NEW_CATEGORY = Change(actor="system", reason="a new category")


class TreeStore(TreeReader):
    """The tables of trees.

    Args:
        database: where the rows are.
        changes: keeps what is changed.
        clock: says which facts are true.
        limits: how large a tree may be.
    """

    name = "tree"

    def __init__(self, database: Database, changes: TreeChangeStore, clock: Clock, *, limits: TreeLimits) -> None:
        super().__init__(database, clock)
        self._changes = changes
        self.limits = limits

    async def write_index(self, scope: Scope, tx: Transaction, *, text: str, at: datetime) -> None:
        """Keep the compact form; the same text changes nothing."""
        mine = in_scope(tree_index, scope)
        known = (await tx.connection.execute(INDEX, scope_values(scope))).scalar_one_or_none()
        if known != text:
            await tx.connection.execute(delete(tree_index).where(mine))
            row = {"person": scope.person, "audience": scope.audience, "text": text, "made_at": at}
            await tx.connection.execute(insert(tree_index).values(row))

    async def without_cores(self, scope: Scope, tx: Transaction) -> None:
        """Write the compact form anew without words of entries, some of which have gone."""
        if (await tx.connection.execute(INDEX, scope_values(scope))).scalar_one_or_none() is not None:
            now = self._clock.now()
            tree = await self.within_transaction(scope, tx, at=now)
            text = compact(tree, max_bytes=self.limits.max_bytes, now=now)
            await self.write_index(scope, tx, text=text, at=now)

    async def within_transaction(self, scope: Scope, tx: Transaction, *, at: datetime) -> Tree:
        """The tree as it is in a transaction, its first categories written where there were none."""
        tree = await self._loaded(tx.connection, scope, at)
        known = select(tree_nodes.c.path).where(in_scope(tree_nodes, scope)).limit(1)
        if (await tx.connection.execute(known)).first() is None:
            await self._insert(scope, tx, tree.nodes.values())
        return tree

    async def file(
        self, scope: Scope, tx: Transaction, *, category: str, at: datetime, change: Change = _NEW_CATEGORY
    ) -> str:
        """The path at which something of a category is to be filed, made where there is room for it."""
        tree = await self.within_transaction(scope, tx, at=at)
        filing: Filing = filed(tree, category, self.limits, at)
        if filing.new:
            await self._add(scope, tx, tree, path=filing.path, description="", change=change, at=at)
        return filing.path

    async def add_node(
        self, scope: Scope, tx: Transaction, *, path: str, description: str = "", change: Change, at: datetime
    ) -> str:
        """Add a category, with the parents it lacks; why it cannot be added, or nothing where it was.

        Args:
            path: segments between slashes.
            description: cut to 100 characters.
        """
        tree = await self.within_transaction(scope, tx, at=at)
        path, told = path_of(path), " ".join(clean(description).split())[:LONGEST_DESCRIPTION]
        refused = why_not_added(tree, path, told, self.limits, at)
        if not refused:
            await self._add(scope, tx, tree, path=path, description=told, change=change, at=at)
        return refused

    async def remove_node(self, scope: Scope, tx: Transaction, *, path: str, change: Change, at: datetime) -> str:
        """Remove a category in which and below which nothing is; why it cannot be removed, or nothing."""
        tree = await self.within_transaction(scope, tx, at=at)
        path = path_of(path)
        if path not in tree.nodes or path == ROOT:
            return f"There is no category {path}." if path else "The root stays."
        if children_of(tree, path):
            return f"{path} has categories below it. Remove those first."
        if not tree.nodes[path].is_empty:
            return f"{path} holds memories, so it stays."
        await self._delete(scope, tx, path)
        await self._note(scope, tx, tree.nodes[path], change, at)
        return ""

    async def prune(
        self, scope: Scope, tx: Transaction, *, before: datetime, change: Change, at: datetime
    ) -> list[str]:
        """Remove the categories that hold nothing and were not active since a moment; their paths."""
        tree = await self.within_transaction(scope, tx, at=at)
        gone = prunable(tree, before)
        for path in gone:
            await self._delete(scope, tx, path)
            await self._note(scope, tx, tree.nodes[path], change, at)
        return gone

    async def move(
        self, scope: Scope, tx: Transaction, *, path: str, target: str, action: str, change: Change, at: datetime
    ) -> str:
        """File what is at and below a category at and below another, and remove the first; why not, or nothing.

        Args:
            path: the category that goes.
            target: where it goes: a new path for ``rename``, a known one for ``merge``.
            action: ``rename`` or ``merge``.
            change: who does it and why.
            at: when.
        """
        tree = await self.within_transaction(scope, tx, at=at)
        path, target = path_of(path), path_of(target)
        refused = why_not_moved(tree, path, target, action)
        if refused:
            return refused
        moved_nodes = sorted(other for other in tree.nodes if other != ROOT and is_within(other, path))
        without = Tree(nodes={other: node for other, node in tree.nodes.items() if other not in moved_nodes})
        after = without
        for old in moved_nodes:
            new = target + old.removeprefix(path)
            if new in after.nodes:
                continue
            if refused := why_not_added(after, new, tree.nodes[old].description, self.limits, at):
                return refused
            after = with_node(after, new, tree.nodes[old].description, at)
        await self._insert(scope, tx, [node for other, node in after.nodes.items() if other not in without.nodes])
        for old in moved_nodes:
            new = target + old.removeprefix(path)
            ids = await self._refile(scope, tx, old, new)
            await self._delete(scope, tx, old)
            told: dict[str, Any] = {
                "action": action,
                "target": new,
                "description": tree.nodes[old].description,
                "moved": ids,
            }
            await self._changes.append(scope, tx, path=old, **told, change=change, at=at)
            await self.recount(scope, tx, paths=[new])
        return ""

    async def take_back(self, scope: Scope, tx: Transaction, made: TreeChange, *, change: Change, at: datetime) -> None:
        """Take a change back as far as what is filed since allows; it is then never taken back again.

        Args:
            made: the change; the last one of several comes first.
            change: who takes it back and why.
            at: when.
        """
        tree = await self.within_transaction(scope, tx, at=at)
        match made.action:
            case "add":
                await self._remove_unused(scope, tx, tree, made.path, change=change, at=at)
            case "remove":
                await self.add_node(scope, tx, path=made.path, description=made.description, change=change, at=at)
            case _:
                await self._move_back(scope, tx, tree, made, change=change, at=at)
        await self._changes.taken_back(scope, tx, change_id=made.id, at=at)

    async def recount(
        self, scope: Scope, tx: Transaction, *, paths: Collection[str], active_at: datetime | None = None
    ) -> None:
        """Count anew what is filed in some nodes.

        Args:
            paths: of the nodes; none where nothing was filed.
            active_at: when something was filed or found there; None where they were not active.
        """
        if not paths:
            return
        query = (
            select(entries.c.category, entries.c.tier, func.count())
            .where(in_scope(entries, scope), entries.c.category.in_(set(paths)), entries.c.removed_at.is_(None))
            .group_by(entries.c.category, entries.c.tier)
        )
        counts = {(path, tier): count for path, tier, count in await tx.connection.execute(query)}
        active = {} if active_at is None else {"last_active_at": active_at}
        rows = [
            {
                **scope_values(scope),
                "of_path": path,
                **{tier.value: counts.get((path, tier.value), 0) for tier in Tier},
                **active,
            }
            for path in set(paths)
        ]
        await tx.connection.execute(_CHANGE, rows)

    async def note_use(self, scope: Scope, tx: Transaction, *, paths: Collection[str], at: datetime) -> None:
        """Note that something was found in some nodes."""
        mine = in_scope(tree_nodes, scope) & tree_nodes.c.path.in_(paths)
        await tx.connection.execute(update(tree_nodes).where(mine).values(last_active_at=at))

    async def holds_besides(self, scope: Scope, tx: Transaction, *, paths: Collection[str]) -> bool:
        """Whether anything is filed in a node at none of these paths."""
        filed_there = (tree_nodes.c.warm + tree_nodes.c.cold > 0, tree_nodes.c.path.not_in(paths))
        query = select(tree_nodes.c.path).where(in_scope(tree_nodes, scope), *filed_there).limit(1)
        return (await tx.connection.execute(query)).first() is not None

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every node of a scope."""
        return await rows_of_scope(self._database, tree_nodes, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back the nodes of an export; how many were not there. Those that are here stand."""
        new = await restore_rows(tx, tree_nodes, scope, rows, changing=_CHANGING)
        known = select(tree_nodes.c.path).where(in_scope(tree_nodes, scope))
        await self.recount(scope, tx, paths=(await tx.connection.execute(known)).scalars().all())
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete the tree of a scope and its index."""
        return {table.name: await delete_scope(tx, table, scope) for table in (tree_nodes, tree_index)}

    async def _move_back(
        self, scope: Scope, tx: Transaction, tree: Tree, made: TreeChange, *, change: Change, at: datetime
    ) -> None:
        if made.path not in tree.nodes:
            told = made.description
            if await self.add_node(scope, tx, path=made.path, description=told, change=change, at=at):
                return  # there is no room for it any more, so what was filed anew stays where it is
        moved = in_scope(entries, scope) & entries.c.id.in_(made.moved) & (entries.c.category == made.target)
        await tx.connection.execute(update(entries).where(moved).values(category=made.path))
        await self.recount(scope, tx, paths=[made.path, made.target])
        if made.action == "rename":
            now = await self.within_transaction(scope, tx, at=at)
            await self._remove_unused(scope, tx, now, made.target, change=change, at=at)

    async def _remove_unused(
        self, scope: Scope, tx: Transaction, tree: Tree, path: str, *, change: Change, at: datetime
    ) -> None:
        """Remove a category without entries and without others below it; its facts are found in the one above."""
        node = tree.nodes.get(path)
        if node is not None and not (node.warm or node.cold or children_of(tree, path)):
            await self._delete(scope, tx, path)
            await self._note(scope, tx, node, change, at)

    async def _add(
        self, scope: Scope, tx: Transaction, tree: Tree, *, path: str, description: str, change: Change, at: datetime
    ) -> None:
        after = with_node(tree, path, description, as_stored(at))
        new = missing_paths(tree, path)
        await self._insert(scope, tx, [after.nodes[one] for one in new])
        for one in new:
            await self._changes.append(scope, tx, action="add", path=one, change=change, at=at)

    async def _note(self, scope: Scope, tx: Transaction, gone: TreeNode, change: Change, at: datetime) -> None:
        told = gone.description
        await self._changes.append(scope, tx, action="remove", path=gone.path, description=told, change=change, at=at)

    async def _refile(self, scope: Scope, tx: Transaction, old: str, new: str) -> list[int]:
        here = in_scope(entries, scope) & (entries.c.category == old)
        ids = (await tx.connection.execute(select(entries.c.id).where(here))).scalars().all()
        await tx.connection.execute(update(entries).where(here).values(category=new))
        return list(ids)

    async def _insert(self, scope: Scope, tx: Transaction, nodes: Collection[TreeNode]) -> None:
        owner = {"person": scope.person, "audience": scope.audience}
        rows = [
            {
                **owner,
                "path": node.path,
                "description": node.description,
                "warm": 0,
                "cold": 0,
                "created_at": node.created_at,
                "last_active_at": node.last_active_at,
            }
            for node in nodes
        ]
        if rows:
            await tx.connection.execute(insert(tree_nodes), rows)

    async def _delete(self, scope: Scope, tx: Transaction, path: str) -> None:
        await tx.connection.execute(delete(tree_nodes).where(_at(scope, path)))


def _at(scope: Scope, path: str) -> Any:
    return in_scope(tree_nodes, scope) & (tree_nodes.c.path == path)
