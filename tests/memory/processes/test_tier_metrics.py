"""The numbers of the tiers: sizes as they are, counts of today that begin anew with each day of the place."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from memory.parameters import MemoryParameters
from memory.records import Change, Mode, NewEntry, Scope
from memory.system import open_memory
from tests.desk import OPERATOR, Desk
from tests.fakes import FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.world import running

ANN = Scope(person="console:ann", audience="dm")
BOB = Scope(person="console:bob", audience="dm")
CHANGE = Change(actor="system", reason="test")


async def test_numbers_are_of_the_scope_and_of_the_day(tmp_path: Path) -> None:
    clock = FakeClock()
    async with open_memory(
        database_url=f"sqlite:///{tmp_path}/keepsake.db",
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=ScriptedModel(default="no JSON"),
        parameters=MemoryParameters(time_zone="Europe/Oslo"),
        clock=clock,
    ) as system:
        warm, measure = system.stores.warm, system.tier_meter.measure

        async def keep(text: str, age: timedelta = timedelta()) -> int:
            new = NewEntry(text=text, importance=0.5, created_at=clock.now() - age)
            async with system.transaction() as tx:
                entry = await warm.add(ANN, tx, new=new, change=CHANGE, at=clock.now())
            assert entry is not None
            return entry.id

        await keep("x" * 400, timedelta(days=60))
        entry_id = await keep("Tea.")
        async with system.transaction() as tx:
            await warm.reinforce(tx, [(ANN, entry_id)], at=clock.now())
        fresh = await measure(ANN)
        assert (fresh.warm_memory_count, fresh.cold_memory_count, fresh.consolidation_count) == (2, 0, 0)
        assert (fresh.last_consolidation, fresh.context_tokens_saved) == (None, 404 // 4)
        await system.consolidator.run(ANN, Mode.DAILY)
        found = await measure(ANN)
        assert (found.warm_memory_count, found.cold_memory_count, found.evictions_today) == (1, 1, 1)
        assert (found.retrieval_count, found.reinforcements_today) == (1, 1)
        assert (found.consolidation_count, found.last_consolidation) == (1, clock.now())
        assert found.tree_index_size_bytes == len((await system.stores.tree.index(ANN)).encode()) > 0
        assert found.tree_node_count == 5
        assert (found.warm_memory_size_kb, found.timestamp) == (round(4 / 1_024, 2), clock.now())
        clock.time = datetime.fromisoformat("2026-03-02T22:59:00+00:00")
        assert (await measure(ANN)).evictions_today == 1
        clock.advance(minutes=1)  # midnight in Oslo
        found = await measure(ANN)
        assert (found.evictions_today, found.reinforcements_today) == (0, 0)
        assert (found.retrieval_count, found.consolidation_count) == (1, 1)
        others = await measure(BOB)
        assert (others.warm_memory_count, others.retrieval_count, others.context_tokens_saved) == (0, 0, 0)


async def test_they_stand_among_the_statistics(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.say("I like tea")
        told = (await Desk.of(world).call("/memory stats console:ann", by=OPERATOR)).text
        assert "- tiers: 0 bytes at hand; 0 recent entries (0 KB), 0 archived; 5 categories (0 bytes)" in told
        assert "consolidated 0 times, last never" in told
