"""Tells the mirror what changed here, and who was erased.

Invariant: what the mirror was told is noted once it has it. Whatever is told after an erasure has a higher number.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import structlog

from memory.database import Database
from memory.ids import IdSource
from memory.mirror.process import MirrorProcess
from memory.mirror.replica import Row
from memory.policy.export.json_rows import json_ready
from memory.ports import Clock
from memory.records import Tier, scope_slug
from memory.stores.hot import HotStore
from memory.stores.mirror_changes import MirrorChange, MirrorChangeStore
from memory.stores.mirror_erasures import MirrorErasure
from memory.stores.mirrored import COLD, CRITICAL, ERASED, Mirrored
from memory.stores.tree import TreeStore

_log = structlog.get_logger(__name__)

_ROWS_AT_ONCE = 500  # to be told in one push


class MirrorTelling:
    """Tells a mirror.

    Args:
        process: talks to the mirror's worker.
        database: for transactions over all stores.
        changes: what the mirror has to be told.
        hot, tree: what is mirrored as it is.
        ids: numbers what is sent.
        clock: dates the hot state.
        stores: what is mirrored row by row.
    """

    def __init__(
        self,
        process: MirrorProcess,
        *,
        database: Database,
        changes: MirrorChangeStore,
        hot: HotStore,
        tree: TreeStore,
        ids: IdSource,
        clock: Clock,
        stores: Sequence[Mirrored],
    ) -> None:
        self._process = process
        self._database = database
        self._changes = changes
        self._hot = hot
        self._tree = tree
        self._ids = ids
        self._clock = clock
        self._stores = {store.name: store for store in stores}
        self._device = ""

    def as_device(self, device: str) -> None:
        """Say what this database is called among the devices of its mirror."""
        self._device = device

    async def tell_of_erasures(self) -> int:
        """Tell the mirror who is erased here; of how many it was told. Raises MirrorUnavailable."""
        if not await self._changes.erasures():
            return 0
        async with self._database.transaction() as tx:
            erasures = await self._changes.numbered_erasures(tx)
        rows = [self._erasure_row(erasure) for erasure in erasures]
        await self._process.erase(rows)
        await self._process.exchange(pull=False)
        async with self._database.transaction() as tx:
            await self._changes.erased_there(tx, erasures)
            await self._changes.note_seen(tx, table=ERASED, seen={self._device: erasures[-1].id})
        _log.info("mirror_erased", scopes=len(erasures))
        return len(erasures)

    async def tell_some(self) -> bool:
        """Tell the mirror of the oldest changes; whether there were any. Raises MirrorUnavailable."""
        changes = await self._changes.pending(limit=_ROWS_AT_ONCE)
        if not changes:
            return False
        if await self._changes.erasures():
            return True  # to be told first: what follows them has higher numbers
        rows = [row for store in {change.store for change in changes} for row in await self._rows_of(store, changes)]
        await self._process.append(rows)
        await self._process.exchange(pull=False)
        async with self._database.transaction() as tx:
            await self._changes.mirrored(tx, changes)
            for table in {row["table"] for row in rows}:
                newest = max(row["seq"] for row in rows if row["table"] == table)
                await self._changes.note_seen(tx, table=table, seen={self._device: newest})
        _log.info("mirrored", rows=len(rows))
        return True

    async def _rows_of(self, store: str, changes: Sequence[MirrorChange]) -> list[Row]:
        """What the mirror is told of a store's changes."""
        mine = [change for change in changes if change.store == store]
        if store == CRITICAL:
            return [await self._critical(change) for change in mine]
        if store not in self._stores:
            return []  # it was mirrored once, and is no more
        mirrored = self._stores[store]
        present = await self._database.read_in_one_trip(lambda: self._changes.present(mirrored, mine))
        rows = []
        for change in mine:
            data = present.get((change.scope, change.record))
            told = self._row(mirrored.remote, scope_slug(change.scope), change.record, change.changed_at, data)
            rows.append(_in_its_table(told) if store == "entries" else told)
        return rows

    async def _critical(self, change: MirrorChange) -> Row:
        state = await self._hot.newest_row(change.scope)
        nodes = await self._tree.export(change.scope)
        data = {
            "hot_state": None if state is None else json_ready(state),
            "tree_nodes": [json_ready(node) for node in nodes],
            "timestamp": self._clock.now().isoformat(),
        }
        told = data if state or nodes else None
        return self._row(CRITICAL, scope_slug(change.scope), change.record, change.changed_at, told)

    def _erasure_row(self, erasure: MirrorErasure) -> Row:
        record = f"{self._device} {'follows' if erasure.follows else 'erases'}"  # each device tells for itself
        data = {"follows": erasure.follows, "number": erasure.id}
        return self._row(ERASED, erasure.digest, record, erasure.erased_at, data) | {"seq": erasure.id}

    def _row(self, table: str, agent: str, record: str, changed_at: datetime, data: Row | None) -> Row:
        return {
            "table": table,
            "agent_id": agent,
            "record": record,
            "device": self._device,
            "seq": self._ids.next(),
            "updated_at": round(changed_at.timestamp() * 1000),
            "data": data,
        }


def _in_its_table(told: Row) -> Row:
    """An entry stands either among those of the archive or among the others, and moves from one to the other."""
    archived = told["data"] is not None and told["data"]["tier"] == Tier.COLD.value
    here, beside = (COLD, told["table"]) if archived else (told["table"], COLD)
    return told | {"table": here, "beside": beside}
