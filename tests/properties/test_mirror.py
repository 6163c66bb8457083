"""Whatever two devices write, and whenever they exchange it: in the end both hold everything, and the same."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.database import Database, Transaction, open_database
from memory.errors import MirrorUnavailable
from memory.ids import IdSource
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.opening.stores import open_stores
from memory.parameters import MemoryParameters
from memory.privacy import Due
from memory.processes.indexer import Indexer
from memory.processes.mirror_taking import MirrorTaking
from memory.processes.mirror_telling import MirrorTelling
from memory.processes.mirroring import Mirroring
from memory.records import Candidate, Change, NewEntry, Scope
from memory.services import Stores
from memory.stores.mirror_merge import MirrorMerge
from memory.stores.mirrored import STORES, tables_of
from tests.doubles.shared_mirror import SharedMirror
from tests.fakes import FakeClock, HashEmbedder, WordTokenCounter
from tests.new_database import database_in

ANN = Scope(person="console:ann", audience="dm")
WRITES = ("fact", "forget", "entry", "archive", "block", "summary", "document")
STEPS = st.lists(
    st.tuples(st.sampled_from((0, 1)), st.sampled_from((*WRITES, "exchange", "exchange", "break"))),
    min_size=8,
    max_size=16,
)
# Both write, one of them again once it knows of the other, and what was told changes.
APART = [(0, "entry"), (0, "fact"), (0, "exchange"), (1, "exchange"), (0, "block"), (1, "block"), (0, "summary")]
APART += [(1, "summary"), (0, "archive"), (1, "forget"), (0, "exchange"), (1, "break"), (1, "block")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One of the two."""

    name: int
    database: Database
    stores: Stores
    process: SharedMirror
    mirror: Mirroring


async def opened(folder: Path, name: int, clock: FakeClock, stack: AsyncExitStack) -> Device:
    database = await open_database(await database_in(folder / str(name)))
    stack.push_async_callback(database.close)
    ids = IdSource(clock)
    counter, parameters = WordTokenCounter(), MemoryParameters()
    stores = open_stores(
        database,
        SqliteTextIndex(),
        embedder=HashEmbedder(),
        counter=counter,
        ids=ids,
        parameters=parameters,
        clock=clock,
    )
    process = SharedMirror(folder / "shared.db", tables_of(STORES))
    stack.push_async_callback(process.close)
    indexer = Indexer(stores.search)
    stack.push_async_callback(indexer.close)
    shared: dict[str, Any] = {"database": database, "changes": stores.mirror_changes}
    as_they_are: dict[str, Any] = {"hot": stores.hot, "tree": stores.tree}
    merge = MirrorMerge((*stores.imported, stores.recall), blocks=stores.blocks, search=stores.search)
    telling = MirrorTelling(process, **shared, **as_they_are, ids=ids, clock=clock, stores=STORES)
    taking = MirrorTaking(**shared, **as_they_are, merge=merge, indexer=indexer)
    mirror = Mirroring(process, **shared, telling=telling, taking=taking, jobs=stores.jobs, clock=clock, stores=STORES)

    async def erase_due(due: Due) -> int:
        return await erase(database, stores, due)

    await mirror.watch(erase_due=erase_due)
    return Device(name=name, database=database, stores=stores, process=process, mirror=mirror)


async def erase(database: Database, stores: Stores, due: Due) -> int:
    async with database.transaction() as tx:
        scopes = await due(tx)
        for scope in scopes:
            for store in stores.personal:
                await store.erase(scope, tx)
    return len(scopes)


async def ann_is_due(_: Transaction) -> Sequence[Scope]:
    return [ANN]


async def write(device: Device, what: str, number: int, clock: FakeClock) -> str | None:
    """Write something that no other step writes; its words, where it is to be found in the end."""
    stores, at, text = device.stores, clock.now(), f"thing{number} of {device.name}"
    change = Change(actor="system", reason="test", session_id=1_000 + number)
    async with device.database.transaction() as tx:
        match what:
            case "fact":
                await stores.facts.add(ANN, tx, candidate=Candidate(text=text), change=change, at=at)
            case "entry":
                new = NewEntry(text=text, category=f"place{number % 3}", created_at=at, importance=0.5)
                await stores.warm.add(ANN, tx, new=new, change=change, at=at)
            case "block":
                await stores.blocks.append(ANN, tx, label="human", text=text, change=change, at=at)
            case "summary":
                await stores.summaries.append(ANN, tx, text=text, change=change, at=at)
                return None  # only the last few versions are kept
            case "document":
                await stores.archival.insert(ANN, tx, content=text)
            case "forget":
                for fact in (await stores.facts.current(ANN))[:1]:
                    await stores.facts.forget(ANN, tx, fact_id=fact.id, change=change, at=at)
                return None
            case "archive":
                await stores.warm.evict(ANN, tx, change=change, at=at)
                return None
    return text


async def live(steps: list[tuple[int, str]], folder: Path) -> None:
    clock, written = FakeClock(), []
    async with AsyncExitStack() as stack:
        devices = [await opened(folder, name, clock, stack) for name in (0, 1)]
        for number, (name, what) in enumerate(steps):
            clock.advance(hours=1 if what != "archive" else 24 * 60)
            device = devices[name]
            if what in ("exchange", "break"):
                device.process.breaks = what == "break"
                with suppress(MirrorUnavailable):
                    await device.mirror.exchange()
            elif (text := await write(device, what, number, clock)) is not None:
                written.append(text)
        for device in (*devices, *devices):
            device.process.breaks = False
            await device.mirror.exchange()
        here, there = [await kept(device) for device in devices]
        assert here == there
        everything = json.dumps(here, default=str)
        assert [text for text in written if text not in everything] == []
        for device in devices:
            assert (await device.stores.mirror_changes.progress()).waiting == 0


async def kept(device: Device) -> dict[str, Any]:
    stores = {store.name: store for store in device.stores.imported}
    found = {}
    for store in STORES:
        if store.name not in stores:
            continue
        unimportant = {*store.ignored, "audit"}
        rows = [
            {name: value for name, value in row.items() if name not in unimportant}
            for row in await stores[store.name].export(ANN)
        ]
        found[store.name] = sorted(rows, key=lambda row: json.dumps(row, default=str))
    found["core"] = [block.value for block in await device.stores.blocks.load(ANN)]
    found["tree"] = [(row["path"], row["warm"], row["cold"]) for row in await device.stores.tree.export(ANN)]
    return found


@settings(max_examples=10, deadline=None)
@given(STEPS)
@example(APART)
def test_both_devices_end_with_everything_and_the_same(steps: list[tuple[int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live(steps, Path(folder)))


@pytest.mark.parametrize("hours_ahead", [5, -5])
async def test_who_is_erased_stays_so_though_the_clock_of_another_device_differs(
    tmp_path: Path, hours_ahead: int
) -> None:
    clock, other_clock = FakeClock(), FakeClock()
    (clock if hours_ahead < 0 else other_clock).advance(hours=5)
    async with AsyncExitStack() as stack:
        one, other = await opened(tmp_path, 0, clock, stack), await opened(tmp_path, 1, other_clock, stack)
        await write(other, "entry", 1, other_clock)
        for device in (other, one):
            await device.mirror.exchange()
        await erase(one.database, one.stores, ann_is_due)
        await write(other, "entry", 2, other_clock)  # it does not know yet
        for device in (other, one, other, one):
            await device.mirror.exchange()
        assert [await device.stores.warm.all(ANN) for device in (one, other)] == [[], []]
        await write(one, "entry", 3, clock)
        await write(other, "entry", 4, other_clock)
        for device in (one, other, one, other):
            await device.mirror.exchange()
        for device in (one, other):
            assert {entry.text for entry in await device.stores.warm.all(ANN)} == {"thing3 of 0", "thing4 of 1"}
        await erase(other.database, other.stores, ann_is_due)  # once more, and from the other side
        for device in (other, one, other):
            await device.mirror.exchange()
        assert [await device.stores.warm.all(ANN) for device in (one, other)] == [[], []]
        assert [(await device.stores.mirror_changes.progress()).waiting for device in (one, other)] == [0, 0]


async def test_who_is_erased_on_a_device_to_which_nothing_came_yet_is_erased_everywhere(tmp_path: Path) -> None:
    clock = FakeClock()
    async with AsyncExitStack() as stack:
        old, new = [await opened(tmp_path, name, clock, stack) for name in (0, 1)]
        await write(old, "entry", 1, clock)
        await old.mirror.exchange()
        async with new.database.transaction() as tx:
            await new.mirror.note_erased(ANN.person, tx)  # no row tells which scopes Ann has
        new.process.breaks = True
        with suppress(MirrorUnavailable):
            await new.mirror.restore()
        await new.mirror.restore()
        await old.mirror.exchange()
        assert [await device.stores.warm.all(ANN) for device in (old, new)] == [[], []]
        await write(old, "entry", 2, clock)
        for device in (old, new):
            await device.mirror.exchange()
            assert {entry.text for entry in await device.stores.warm.all(ANN)} == {"thing2 of 0"}
