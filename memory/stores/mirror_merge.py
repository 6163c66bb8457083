"""Puts rows that another device changed in the place of those that are here.

Rows of most stores are replaced one by one. Versions are put in order with those that are here by the time they were
made, and numbered anew where two devices gave out the same number: so both histories are kept, and the newest version
of either is the one in force.

Invariant: one transaction for what is handed over, and no version is dropped for another.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from sqlalchemy import and_, delete, func, insert, select, true, tuple_, update

from memory.database import Transaction
from memory.records import Scope
from memory.schema import block_versions, procedure_versions, procedures
from memory.stores.blocks import BlockStore
from memory.stores.mirror_rows import rows_by_record
from memory.stores.mirrored import Mirrored
from memory.stores.scoped import in_scope
from memory.stores.search import SearchStore


class Restorable(Protocol):
    """A store that takes back what it exported."""

    @property
    def name(self) -> str:
        """What an export calls it."""
        ...

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of ``export``; how many were not there."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """What another device says of a row.

    Attributes:
        record: its identity.
        data: as it stands in JSON; None where it was deleted.
        row: the same, checked, as ``export`` of its store gives it.
    """

    record: str
    data: Mapping[str, Any] | None
    row: Mapping[str, Any] | None


class MirrorMerge:
    """Puts rows in place.

    Args:
        stores: those that take rows back; rows of others are put in their tables as they are.
        blocks: whose blocks follow from their versions.
        search: forgets the words of rows that are replaced.
    """

    def __init__(self, stores: Sequence[Restorable], *, blocks: BlockStore, search: SearchStore) -> None:
        self._stores = {store.name: store for store in stores}
        self._blocks = blocks
        self._search = search

    async def merge(self, scope: Scope, tx: Transaction, store: Mirrored, incoming: Sequence[Incoming]) -> int:
        """Put rows in place; how many of them were not so already.

        Raises:
            InvalidInput: one cannot stand beside what is here.
        """
        here = await rows_by_record(tx.connection, scope, store, {one.record for one in incoming})
        news = [one for one in incoming if _is_news(store, here.get(one.record), one)]
        if store.versions_of is not None:
            await self._merge_versions(scope, tx, store, news)
        else:
            await self._remove(scope, tx, store, [one.record for one in news if one.record in here])
            rows = [one.row for one in news if one.row is not None]
            if rows and store.name in self._stores:
                await self._stores[store.name].restore(scope, tx, rows)
            elif rows:
                owner = _owner(scope) if store.of_people else {}
                await tx.connection.execute(insert(store.table), [{**row, **owner} for row in rows])
        if news and store.table in (procedures, procedure_versions):
            await _follow_versions(scope, tx)
        return len(news)

    async def _remove(self, scope: Scope, tx: Transaction, store: Mirrored, records: Sequence[str]) -> None:
        if not records:
            return
        mine = in_scope(store.table, scope) if store.of_people else true()
        if store.identity:
            keys = [tuple(json.loads(record)) for record in records]
            mine = and_(mine, tuple_(*(store.table.c[name] for name in store.identity)).in_(keys))
            if store.source is not None:
                await self._search.remove(scope, tx, source=store.source, record_ids=[key[0] for key in keys])
        await tx.connection.execute(delete(store.table).where(mine))

    async def _merge_versions(self, scope: Scope, tx: Transaction, store: Mirrored, news: Sequence[Incoming]) -> None:
        if not news:
            return
        replaced = {one.record for one in news}
        here = await rows_by_record(tx.connection, scope, store, None)
        merged: defaultdict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
        for record, row in here.items():
            if record not in replaced:
                merged[_group(store, row)].append(row)
        touched = {_group(store, here[record]) for record in replaced if record in here}
        for one in news:
            if one.row is not None:
                merged[_group(store, one.row)].append(one.row)
                touched.add(_group(store, one.row))
        for group in touched:
            named = [store.table.c[name] == value for name, value in zip(store.versions_of or (), group, strict=True)]
            await tx.connection.execute(delete(store.table).where(in_scope(store.table, scope), *named))
            if numbered := _numbered(merged[group]):
                await tx.connection.execute(insert(store.table), [{**row, **_owner(scope)} for row in numbered])
        if store.table is block_versions:
            await self._blocks.take_newest(scope, tx)


def _owner(scope: Scope) -> dict[str, str]:
    return {"person": scope.person, "audience": scope.audience}


def _is_news(store: Mirrored, here: Mapping[str, Any] | None, one: Incoming) -> bool:
    if here is None or one.data is None:
        return (here is None) is not (one.data is None)
    return not store.says_the_same(store.values(here), one.data)


def _group(store: Mirrored, row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in store.versions_of or ())


def _numbered(versions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The versions in the order in which they were made, under their own numbers where those tell the same order."""
    ordered = sorted(versions, key=lambda row: (row["changed_at"], row["version"], row["session_id"] or 0))
    numbers = [row["version"] for row in ordered]
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        numbers = list(range(min(numbers), min(numbers) + len(numbers)))
    return [{**row, "version": number} for row, number in zip(ordered, numbers, strict=True)]


async def _follow_versions(scope: Scope, tx: Transaction) -> None:
    """Let each procedure have the number of its newest version."""
    version = procedure_versions
    newest = (
        select(func.max(version.c.version))
        .where(in_scope(version, scope), version.c.procedure_id == procedures.c.id)
        .scalar_subquery()
    )
    mine = in_scope(procedures, scope) & (procedures.c.version != newest)
    await tx.connection.execute(update(procedures).where(mine).values(version=newest))
