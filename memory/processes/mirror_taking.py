"""Takes in what other devices changed, step by step.

Invariant: the rows of a step and the note that they are known are one transaction. Of a row that changed on both
sides the later change counts.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import structlog

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.mirror.replica import Row, follows
from memory.policy.hot_state import from_value
from memory.processes.indexer import Indexer
from memory.records import Change, Scope, scope_from_slug
from memory.schema import entries
from memory.stores.hot import HotStore
from memory.stores.mirror_changes import MirrorChangeStore
from memory.stores.mirror_merge import Incoming, MirrorMerge
from memory.stores.mirrored import COLD, CRITICAL, ERASED, Mirrored
from memory.stores.tree import TreeStore

_log = structlog.get_logger(__name__)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ELSEWHERE = Change(actor="mirror", reason="changed on another device")

EraseDue = Callable[[Callable[[Transaction], Awaitable[Sequence[Scope]]]], Awaitable[int]]


class MirrorTaking:
    """Takes rows of the mirror into this database.

    Args:
        database: for transactions over all stores.
        changes: what changed here, and how far the other devices' rows are known.
        merge: puts rows in place.
        hot, tree: what is mirrored as it is.
        indexer: embeds what came.
    """

    def __init__(
        self,
        *,
        database: Database,
        changes: MirrorChangeStore,
        merge: MirrorMerge,
        hot: HotStore,
        tree: TreeStore,
        indexer: Indexer,
    ) -> None:
        self._database = database
        self._changes = changes
        self._merge = merge
        self._hot = hot
        self._tree = tree
        self._indexer = indexer
        self._erase_due: EraseDue | None = None
        self._to_count: set[Scope] = set()

    def erase_by(self, erase_due: EraseDue) -> None:
        """Say what erases scopes for good, as many as it is given."""
        self._erase_due = erase_due

    async def take(
        self, table: str, rows: Sequence[Row], seen: Mapping[str, int], stores: Mapping[str, Mirrored]
    ) -> None:
        """Take in some rows of one table, all or none of them.

        Args:
            table: of the mirror.
            rows: the newest of their records.
            seen: up to which number each device's rows are known with these.
            stores: what is mirrored, by name.

        Raises:
            InvalidInput: a row cannot stand beside what is here.
        """
        erased = await self._erased_elsewhere(rows) if table == ERASED else set()
        await self._erase(erased)
        store = None if table in (ERASED, CRITICAL) else stores[_store_of(table)]
        by_scope = _by_scope(rows) if table != ERASED else {}
        incoming = {} if store is None else await asyncio.to_thread(_checked, store, by_scope)
        refused = sum(len(by_scope[scope]) - len(mine) for scope, mine in incoming.items())

        async def take_all(tx: Transaction) -> int:
            count = refused
            for scope, mine in by_scope.items():
                if store is None:
                    count += await self._take_critical(scope, tx, mine)
                else:
                    await self._take_rows(scope, tx, store, mine, incoming[scope])
            await self._changes.follow(tx, erased)
            await self._changes.note_seen(tx, table=table, seen=seen)
            if count:
                await self._changes.note_refused(tx)
            return count

        if count := await self._database.write(take_all):
            _log.error("mirror_rows_refused", table=table, rows=count)

    async def finish(self) -> None:
        """Once all of it is here: count what is filed where, and embed what came."""
        for scope in sorted(self._to_count, key=str):
            await self._database.write(partial(self._count, scope))
        self._to_count.clear()
        self._indexer.kick()

    async def _count(self, scope: Scope, tx: Transaction) -> None:
        await self._tree.restore(scope, tx, ())

    async def _take_rows(
        self, scope: Scope, tx: Transaction, store: Mirrored, rows: Sequence[Row], incoming: Mapping[str, Incoming]
    ) -> None:
        pending = await self._changes.pending_of(scope, tx, store=store.name)
        wanted = [incoming[row["record"]] for row in rows if row["record"] in incoming and not _is_older(row, pending)]
        if await self._merge.merge(scope, tx, store, wanted) and store.table is entries:
            self._to_count.add(scope)
        await self._changes.settled(scope, tx, store=store.name, records=[one.record for one in wanted])

    async def _take_critical(self, scope: Scope, tx: Transaction, rows: Sequence[Row]) -> int:
        """Take in the categories that are missing here, and the hot state if it is the later one.

        Where this side has more, the mirror is told of both together: it reads the newest row of a scope alone. It
        is not where some of it was refused, which would be lost.

        Returns:
            how many rows of it were refused.
        """
        from memory.policy.mirror_rows import checked

        said = rows[-1]["data"]
        data = said if isinstance(said, dict) else {}
        told, state = data.get("tree_nodes"), data.get("hot_state")
        told_nodes = checked("tree", told if isinstance(told, list) else [])
        nodes = [node for node in told_nodes if node is not None]
        if nodes:
            await self._tree.restore(scope, tx, nodes)
        has_more = await self._tree.holds_besides(scope, tx, paths={node["path"] for node in nodes})
        [hot] = checked("hot", [state]) if state else [None]
        if hot is not None:
            has_more |= await self._take_hot(scope, tx, hot)
        refused = told_nodes.count(None) + bool(state and hot is None)
        if has_more and not refused:
            await self._changes.note(scope, tx, store=CRITICAL, record=rows[-1]["record"])
        return refused

    async def _take_hot(self, scope: Scope, tx: Transaction, state: Mapping[str, Any]) -> bool:
        """Take in a hot state if it is the later one; whether that which is here is."""
        newest = await self._hot.changed_at(scope, tx)
        if newest is None:
            await self._hot.restore(scope, tx, [state])
        elif state["changed_at"] > newest:
            written = from_value(state["state"])
            await self._hot.write(scope, tx, state=written, change=_ELSEWHERE, at=state["changed_at"])
        return newest is not None and state["changed_at"] < newest

    async def _erased_elsewhere(self, rows: Sequence[Row]) -> set[str]:
        """The digests of the scopes that are to be erased here too."""
        ours = {erasure.id for erasure in await self._changes.erasures()}  # told of, and not yet noted as told
        return {row["agent_id"] for row in rows if row["seq"] not in ours and not follows(row)}

    async def _erase(self, digests: set[str]) -> None:
        if not digests:
            return

        async def due(tx: Transaction) -> Sequence[Scope]:
            return await self._changes.scopes_known_by(tx, digests)

        assert self._erase_due is not None
        with self._changes.following(digests):
            erased = await self._erase_due(due)
        if erased:
            _log.info("erased_as_elsewhere", scopes=erased)


def _store_of(table: str) -> str:
    return "entries" if table == COLD else table.removeprefix("mirrored_")


def _by_scope(rows: Sequence[Row]) -> dict[Scope, list[Row]]:
    found: defaultdict[Scope, list[Row]] = defaultdict(list)
    for row in rows:
        try:
            found[scope_from_slug(row["agent_id"])].append(row)
        except InvalidInput:  # not written by us
            _log.error("mirror_rows_refused", table=row["table"], rows=1)
    return dict(found)


def _checked(store: Mirrored, by_scope: Mapping[Scope, Sequence[Row]]) -> dict[Scope, dict[str, Incoming]]:
    from memory.policy.mirror_rows import checked

    found: dict[Scope, dict[str, Incoming]] = {}
    for scope, rows in by_scope.items():
        said = [row for row in rows if row["data"] is not None]
        sound = dict(
            zip((row["record"] for row in said), checked(store.name, [row["data"] for row in said]), strict=True)
        )
        found[scope] = {
            row["record"]: Incoming(record=row["record"], data=row["data"], row=sound.get(row["record"]))
            for row in rows
            if (row["data"] is None or sound[row["record"]] is not None)
            and store.knows(row["record"], sound.get(row["record"]))
        }
    return found


def _is_older(row: Row, pending: Mapping[str, datetime]) -> bool:
    """Whether a row was changed here after it was changed there."""
    changed_at = pending.get(row["record"])
    return changed_at is not None and (changed_at - _EPOCH) // timedelta(milliseconds=1) > row["updated_at"]
