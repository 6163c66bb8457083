"""What the mirror has to be told, and what is known of what other devices told it.

Invariant: a change is noted in the transaction that makes it, and stays noted until the mirror has it; a row that is
changed again meanwhile stays noted.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Row, and_, bindparam, delete, func, insert, select, text, update

from memory.database import Transaction
from memory.mirror.replica import digest_of
from memory.records import Scope, scope_slug
from memory.schema import hot_versions, mirror_changes, mirror_erasures, mirror_seen, mirror_state, tree_nodes
from memory.stores.mirror_erasures import MirrorErasureStore, digests_of_scope
from memory.stores.mirror_rows import rows_by_record
from memory.stores.mirror_state import set_state, state_of
from memory.stores.mirrored import (
    CRITICAL,
    ERASED,
    NOW_IN_SQL,
    TRIGGERS,
    Mirrored,
    owner_in_sql,
    record_in_sql,
    triggers_of,
)
from memory.stores.scoped import delete_scope, in_any_scope, in_scope, rows_of_scope, scope_of_row, scope_values

_DEVICE, _MIRRORED_AT, _REFUSED_BY = "device", "mirrored_at", "refused_by"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FILL = (
    "INSERT INTO mirror_changes (person, audience, store, record, stamp, changed_at) "
    "SELECT DISTINCT {owner}, '{name}', {record}, random(), {at} FROM {table} AS mine WHERE true "
    "ON CONFLICT DO NOTHING"
)
_NOTE = text(
    "INSERT INTO mirror_changes (person, audience, store, record, stamp, changed_at) "
    f"VALUES (:person, :audience, :store, :record, random(), {NOW_IN_SQL}) "
    "ON CONFLICT DO UPDATE SET stamp = excluded.stamp, changed_at = excluded.changed_at"
)
_RECORDS_AT_ONCE = 1_000  # SQLite takes 32,766 variables at most
_FORGET = delete(mirror_changes).where(
    in_any_scope(mirror_changes),
    mirror_changes.c.store == bindparam("of_store"),
    mirror_changes.c.record == bindparam("of_record"),
    mirror_changes.c.stamp == bindparam("of_stamp"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorChange:
    """A row that is to be mirrored.

    Attributes:
        scope: whose.
        store: of which store.
        record: its identity; see ``Mirrored.record_of``.
        stamp: another with every change.
        changed_at: when it was changed last.
    """

    scope: Scope
    store: str
    record: str
    stamp: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorProgress:
    """How far the mirror lags behind.

    Attributes:
        waiting: rows and erasures that it does not have yet.
        mirrored_at: when it last had everything; None for never.
    """

    waiting: int
    mirrored_at: datetime | None


class MirrorChangeStore(MirrorErasureStore):
    """The tables of what is to be mirrored.

    Args:
        database: where the rows are.
        ids: numbers the erasures.
        clock: dates them.
    """

    name = "mirror"

    async def watch(self, stores: Sequence[Mirrored]) -> str:
        """Note every change of some stores from now on, and all that is in one that was not watched before.

        Returns:
            What this database is called among the devices of its mirror.
        """
        async with self._database.transaction() as tx:
            present = await tx.connection.execute(text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
            there = {name: sql for name, sql in present}
            wanted = triggers_of(tuple(stores))
            for trigger in _ours(there) - {trigger for triggers in wanted.values() for trigger in triggers}:
                await tx.connection.execute(text(f"DROP TRIGGER {trigger}"))  # once watched again, all of it is noted
            for name, triggers in wanted.items():
                if all(there.get(trigger) == sql for trigger, sql in triggers.items()):
                    continue
                for trigger, sql in triggers.items():
                    await tx.connection.execute(text(f"DROP TRIGGER IF EXISTS {trigger}"))
                    await tx.connection.exec_driver_sql(sql)
                await self._note_all(tx, name, stores)
            await self._look_again(tx)
            device = await state_of(tx.connection, _DEVICE)
            if device is None:
                device = uuid.uuid4().hex
                await set_state(tx, _DEVICE, device)
        return device

    async def begin_anew(self, tx: Transaction, stores: Sequence[Mirrored]) -> None:
        """Note that the mirror is another hosted database: all that is here is to be told, and nothing there is known.

        What is there already goes before, since other devices may have told it something later.

        Args:
            tx: the open transaction.
            stores: what is mirrored row by row.
        """
        await tx.connection.execute(delete(mirror_seen))
        for name in (CRITICAL, *(store.name for store in stores)):
            await self._note_all(tx, name, stores, at="0")

    async def pending(self, *, limit: int) -> list[MirrorChange]:
        """What is to be mirrored of everybody, the oldest first."""
        query = select(mirror_changes).order_by(mirror_changes.c.changed_at).limit(limit)
        async with self._database.read() as connection:
            return [_change(row) for row in await connection.execute(query)]

    async def pending_of(self, scope: Scope, tx: Transaction, *, store: str) -> dict[str, datetime]:
        """What of a scope's store is to be mirrored: when it changed, by record."""
        query = select(mirror_changes).where(in_scope(mirror_changes, scope), mirror_changes.c.store == store)
        return {row.record: row.changed_at for row in await tx.connection.execute(query)}

    async def present(
        self, store: Mirrored, changes: Collection[MirrorChange]
    ) -> dict[tuple[Scope, str], dict[str, Any]]:
        """What rows of a store say now, as an export has them, by scope and record; those that are gone are left out.

        Of a conversation off the record nothing is said.
        """
        records: defaultdict[Scope, set[str]] = defaultdict(set)
        for change in changes:
            records[change.scope].add(change.record)
        found: dict[tuple[Scope, str], dict[str, Any]] = {}
        async with self._database.read() as connection:
            for scope, wanted in records.items():
                for record, row in (await rows_by_record(connection, scope, store, wanted, kept_alone=True)).items():
                    found[scope, record] = store.values(row)
        return found

    async def mirrored(self, tx: Transaction, changes: Collection[MirrorChange]) -> None:
        """Note that the mirror has these changes; rows that have changed again since stay noted."""
        told = [
            {**scope_values(one.scope), "of_store": one.store, "of_record": one.record, "of_stamp": one.stamp}
            for one in changes
        ]
        if told:
            await tx.connection.execute(_FORGET, told)

    async def note(self, scope: Scope, tx: Transaction, *, store: str, record: str) -> None:
        """Note that a row is to be mirrored though nothing changed: the mirror does not have all that is here."""
        values = {"person": scope.person, "audience": scope.audience, "store": store, "record": record}
        await tx.connection.execute(_NOTE, values)

    async def settled(self, scope: Scope, tx: Transaction, *, store: str, records: Sequence[str]) -> None:
        """Note that rows are now as the mirror has them, so that they need not be mirrored."""
        mine = and_(in_scope(mirror_changes, scope), mirror_changes.c.store == store)
        for start in range(0, len(records), _RECORDS_AT_ONCE):
            some = mirror_changes.c.record.in_(records[start : start + _RECORDS_AT_ONCE])
            await tx.connection.execute(delete(mirror_changes).where(mine, some))

    async def seen(self) -> dict[str, dict[str, int]]:
        """Up to which number the rows of other devices are known, by table and device."""
        known: defaultdict[str, dict[str, int]] = defaultdict(dict)
        async with self._database.read() as connection:
            for row in await connection.execute(select(mirror_seen)):
                known[row.table_name][row.device] = row.seq
        return dict(known)

    async def note_seen(self, tx: Transaction, *, table: str, seen: Mapping[str, int]) -> None:
        """Note up to which number the rows of some devices are known."""
        for device, seq in seen.items():
            mine = and_(mirror_seen.c.table_name == table, mirror_seen.c.device == device)
            changed = await tx.connection.execute(update(mirror_seen).where(mine).values(seq=seq))
            if changed.rowcount == 0:
                row = {"table_name": table, "device": device, "seq": seq}
                await tx.connection.execute(insert(mirror_seen).values(row))

    async def note_refused(self, tx: Transaction) -> None:
        """Note that this version of the program could not take a row; a later one looks at all of them again."""
        await set_state(tx, _REFUSED_BY, await _revision(tx))

    async def note_mirrored(self, tx: Transaction, *, at: datetime) -> None:
        """Note that the mirror has everything."""
        await set_state(tx, _MIRRORED_AT, str((at - _EPOCH) // timedelta(milliseconds=1)))

    async def progress(self) -> MirrorProgress:
        """How far the mirror lags behind."""
        async with self._database.read() as connection:
            changes = (await connection.execute(select(func.count()).select_from(mirror_changes))).scalar_one()
            erasures = (await connection.execute(select(func.count()).select_from(mirror_erasures))).scalar_one()
            at = await state_of(connection, _MIRRORED_AT)
        mirrored_at = None if at is None else _EPOCH + timedelta(milliseconds=int(at))
        return MirrorProgress(waiting=changes + erasures, mirrored_at=mirrored_at)

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """What of a scope is still to be mirrored."""
        return await rows_of_scope(self._database, mirror_changes, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Forget what of a scope was to be mirrored, and note that it is to be erased there. The last of all stores."""
        count = await delete_scope(tx, mirror_changes, scope)
        if await state_of(tx.connection, _DEVICE) is not None and self._followed.isdisjoint(digests_of_scope(scope)):
            await self._erased_here(tx, digest_of(scope_slug(scope)))
        return {mirror_changes.name: count}

    async def _look_again(self, tx: Transaction) -> None:
        refused_by = await state_of(tx.connection, _REFUSED_BY)
        if refused_by is not None and refused_by != await _revision(tx):
            await tx.connection.execute(delete(mirror_seen).where(mirror_seen.c.table_name != ERASED))
            await tx.connection.execute(delete(mirror_state).where(mirror_state.c.name == _REFUSED_BY))

    async def _note_all(self, tx: Transaction, name: str, stores: Sequence[Mirrored], *, at: str = NOW_IN_SQL) -> None:
        tables = [(store.table, store.identity) for store in stores if store.name == name]
        for table, identity in tables or [(hot_versions, ()), (tree_nodes, ())]:
            values = {
                "owner": owner_in_sql(table, "mine"),
                "record": record_in_sql(identity, "mine"),
                "at": at,
            }
            await tx.connection.execute(text(_FILL.format(name=name, table=table.name, **values)))


def _ours(triggers: Iterable[str]) -> set[str]:
    return {name for name in triggers if name.startswith(TRIGGERS)}


def _change(row: Row[Any]) -> MirrorChange:
    return MirrorChange(
        scope=scope_of_row(row), store=row.store, record=row.record, stamp=row.stamp, changed_at=row.changed_at
    )


async def _revision(tx: Transaction) -> str:
    """Of the schema, which tells what rows look like."""
    return str((await tx.connection.execute(text("SELECT version_num FROM alembic_version"))).scalar_one())
