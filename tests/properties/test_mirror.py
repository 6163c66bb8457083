"""Whatever two devices write, and whenever they exchange it: in the end both hold everything, and the same."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.database import Transaction
from memory.errors import MirrorUnavailable
from memory.records import Candidate, Change, NewEntry, Scope
from memory.stores.mirrored import STORES
from tests.doubles.mirror_device import Device, erase, opened
from tests.fakes import FakeClock

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
