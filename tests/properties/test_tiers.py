"""Whatever is stored, found, consolidated and undone in whatever order: nothing is lost, and every count is right."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import InvalidInput
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_scope
from memory.policy.category_tree import ancestors, inclusive
from memory.processes.undo import origin_of
from memory.records import By, Change, Mode, NewEntry, Scope
from memory.system import MemorySystem, open_memory
from tests.fakes import FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.new_database import database_in

ANN = Scope(person="console:ann", audience="dm")
CATEGORIES = ("work", "work/oslo", "personal/home", "a/b/c/d/e", "general")
STORE = st.tuples(st.just("store"), st.sampled_from(CATEGORIES), st.floats(0, 1))
OTHER = st.sampled_from(("find", "quick", "daily", "monthly", "undo", "wait", "break"))
STEPS = st.lists(st.one_of(STORE, OTHER), min_size=1, max_size=12)
MERGE = '{"operations": [{"action": "merge", "path": "work/oslo", "target": "work"}]}'


class _Crash(Exception):
    pass


async def _store(
    system: MemorySystem, clock: FakeClock, number: int, step: tuple[str, str, float], *, dies: bool
) -> None:
    _, category, importance = step
    text = f"Entry {number} " + "x" * 150
    new = NewEntry(text=text, category=category, importance=importance, created_at=clock.now())
    async with system.transaction() as tx:
        change = Change(actor="system", reason="test")
        await system.stores.warm.add(ANN, tx, new=new, change=change, at=clock.now())
        if dies:
            raise _Crash


async def _check(system: MemorySystem, stored: set[int]) -> None:
    rows = [row for row in await system.stores.warm.export(ANN) if row["removed_at"] is None]
    assert {int(row["text"].split()[1]) for row in rows} == stored
    expected: Counter[tuple[str, str]] = Counter()
    for row in rows:
        expected.update((path, row["tier"]) for path in ancestors(row["category"]))
    tree = await system.stores.tree.load(ANN)
    for path, counts in inclusive(tree).items():
        assert (counts.warm, counts.cold) == (expected[path, "warm"], expected[path, "cold"])
    assert {row["category"] for row in rows} <= tree.nodes.keys()


async def _live(folder: Path, steps: list[str | tuple[str, str, float]]) -> None:
    clock, stored, jobs = FakeClock(), set[int](), list[str]()
    async with open_memory(
        database_url=await database_in(folder),
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=ScriptedModel(default=MERGE),
        parameters=MemoryParameters(warm_max_kb=1),
        clock=clock,
    ) as system:
        for number, step in enumerate(steps):
            if isinstance(step, tuple):
                await _store(system, clock, number, step, dies=False)
                stored.add(number)
            elif step == "break":
                with suppress(_Crash):
                    await _store(system, clock, number, ("store", "work", 0.5), dies=True)
            elif step == "wait":
                clock.advance(days=40)
            elif step == "find":
                found = await system.stores.warm.search(reach_of_scope(ANN), "entry", limit=2, now=clock.now())
                async with system.transaction() as tx:
                    await system.stores.warm.reinforce(tx, [(one.scope, one.id) for one in found], at=clock.now())
            elif step == "undo" and jobs:
                with suppress(InvalidInput):
                    await system.oversight.undo.take_back(ANN, origin_of(jobs.pop()), by=By())
            elif step in ("quick", "daily", "monthly"):
                jobs.append((await system.consolidator.run(ANN, Mode(step))).job)
            await _check(system, stored)


@settings(max_examples=15)
@given(steps=STEPS)
def test_no_sequence_of_operations_loses_an_entry_or_breaks_a_count(steps: list[str | tuple[str, str, float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live(Path(folder), steps))
