"""The read side of the tree of categories: its nodes, its index, and the facts at home in it.

Invariant: the facts of a category that has no node are counted in the nearest one above.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.database import Database
from memory.policy.category_tree import first_tree, home_of, is_within, nearest
from memory.ports import Clock
from memory.records import Fact, FactState, Reach, Scope, Tree, TreeNode
from memory.schema import facts, tree_index, tree_nodes
from memory.stores.fact_table import fact_of_row, true_at
from memory.stores.scoped import as_stored, in_any_scope, in_reach, in_scope, scope_values

INDEX = select(tree_index.c.text).where(in_any_scope(tree_index))  # made once: a turn asks for it twice


class TreeReader:
    """Reads the tables of trees. ``TreeStore`` adds the writes.

    Args:
        database: where the rows are.
        clock: says which facts are true.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def load(self, scope: Scope) -> Tree:
        """The tree with what is filed in each node; the first categories where nothing was filed yet."""
        async with self._database.read() as connection:
            return await self._loaded(connection, scope, self._clock.now())

    async def index(self, scope: Scope) -> str:
        """The compact form as of the last consolidation; empty before the first."""
        async with self._database.read() as connection:
            return (await connection.execute(INDEX, scope_values(scope))).scalar_one_or_none() or ""

    async def within(self, reach: Reach) -> list[TreeNode]:
        """The nodes of every tree within reach, without their facts."""
        query = select(tree_nodes).where(in_reach(tree_nodes, reach))
        async with self._database.read() as connection:
            return [_node(row) for row in await connection.execute(query)]

    async def facts_within(self, reach: Reach, *paths: str, limit: int) -> list[Fact]:
        """The facts true now that are at home at one of the paths or below it, the most important first."""
        mine = (in_reach(facts, reach), true_at(self._clock.now()))
        async with self._database.read() as connection:
            known = (await connection.execute(select(facts.c.category).where(*mine).distinct())).scalars()
            wanted = [category for category in known if any(is_within(home_of(category), path) for path in paths)]
            if not wanted:
                return []
            query = select(facts).where(*mine, facts.c.category.in_(wanted))
            query = query.order_by(facts.c.importance.desc(), facts.c.id.desc()).limit(limit)
            return [fact_of_row(row) for row in await connection.execute(query)]

    async def _loaded(self, connection: AsyncConnection, scope: Scope, at: datetime) -> Tree:
        rows = (await connection.execute(select(tree_nodes).where(in_scope(tree_nodes, scope)))).all()
        tree = first_tree(as_stored(at))
        if rows:
            tree = Tree(nodes={row.path: _node(row) for row in rows})
        counted = await self._facts_by_path(connection, scope, tree)
        return Tree(nodes={path: replace(node, facts=counted[path]) for path, node in tree.nodes.items()})

    async def _facts_by_path(self, connection: AsyncConnection, scope: Scope, tree: Tree) -> Counter[str]:
        query = (
            select(facts.c.category, func.count())
            .where(in_scope(facts, scope), facts.c.state == FactState.CURRENT.value)
            .group_by(facts.c.category)
        )
        counted: Counter[str] = Counter()
        for category, count in await connection.execute(query):
            counted[nearest(tree.nodes, home_of(category))] += count
        return counted


def _node(row: Row[Any]) -> TreeNode:
    return TreeNode(
        path=row.path,
        description=row.description,
        created_at=row.created_at,
        last_active_at=row.last_active_at,
        warm=row.warm,
        cold=row.cold,
    )
