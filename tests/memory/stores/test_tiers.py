"""Entries go warm, cold and frozen, and stand where the tree says; nothing is lost on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_scope
from memory.policy.category_tree import inclusive
from memory.records import ROOT, Change, NewEntry, Scope, Tier, TierEntry
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.new_database import database_in

ANN = Scope(person="console:ann", audience="dm")
BOB = Scope(person="console:bob", audience="dm")
REACH = reach_of_scope(ANN)
CHANGE = Change(actor="system", reason="test", job="consolidate:1")


@pytest.fixture
async def system(tmp_path: Path) -> AsyncIterator[MemorySystem]:
    async with open_memory(
        database_url=await database_in(tmp_path),
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=ScriptedModel(default="A digest."),
        parameters=MemoryParameters(warm_max_kb=1),
        clock=FakeClock(),
    ) as opened:
        yield opened


async def keep(
    system: MemorySystem,
    text: str,
    *,
    category: str = "work",
    importance: float = 0.5,
    at: datetime = START,
    scope: Scope = ANN,
    message: int | None = None,
    **metadata: object,
) -> TierEntry | None:
    change = Change(actor="system", reason="test", source_message=message)
    new = NewEntry(text=text, category=category, importance=importance, created_at=at, metadata=metadata)
    async with system.transaction() as tx:
        return await system.stores.warm.add(scope, tx, new=new, change=change, at=at)


async def test_an_entry_is_filed_and_counted_in_its_category_and_all_above(system: MemorySystem) -> None:
    entry = await keep(system, "Moved the server to Oslo", category="Work/Servers")
    assert entry is not None
    assert (entry.category, len(entry.handle)) == ("work/servers", 12)
    totals = inclusive(await system.stores.tree.load(ANN))
    assert [totals[path].warm for path in ("work/servers", "work", ROOT)] == [1, 1, 1]


async def test_the_same_words_are_kept_once_in_whatever_case(system: MemorySystem) -> None:
    assert await keep(system, "Moved to Oslo") is not None
    assert await keep(system, "moved to OSLO") is None


async def test_what_makes_room_is_archived_whole_in_the_same_step(system: MemorySystem) -> None:
    kept = [
        await keep(system, f"{number} " + "x" * 200, importance=number / 10, urls=["https://example.com/a"])
        for number in range(1, 8)
    ]
    _, size = await system.stores.warm.size(ANN)
    assert size <= 1_024
    archived = await system.stores.cold.query(REACH, "x", now=START, limit=50)
    warm = await system.stores.warm.all(ANN)
    assert len(archived) + len(warm) == len(kept)
    assert max(entry.importance for entry in archived) < min(entry.importance for entry in warm)
    one = archived[0]
    assert (one.created_at, one.metadata, one.archive_reason) == (
        START,
        {"urls": ["https://example.com/a"]},
        "made room",
    )
    totals = inclusive(await system.stores.tree.load(ANN))
    assert (totals["work"].warm, totals["work"].cold) == (len(warm), len(archived))


async def test_what_is_old_and_worth_little_is_archived_and_what_is_used_stays(system: MemorySystem) -> None:
    await keep(system, "A passing remark")
    used = await keep(system, "The password policy", importance=1.0)
    assert used is not None
    async with system.transaction() as tx:
        for _ in range(5):
            await system.stores.warm.reinforce(tx, [(ANN, used.id)], at=START)
        later = START + timedelta(days=31)
        gone = await system.stores.warm.evict(ANN, tx, change=CHANGE, at=later)
    assert [eviction.entry.text for eviction in gone] == ["A passing remark"]
    assert [entry.text for entry in await system.stores.warm.all(ANN)] == ["The password policy"]


async def test_a_search_changes_nothing_and_only_what_was_given_is_reinforced(system: MemorySystem) -> None:
    await keep(system, "Tea in Oslo")
    await keep(system, "Coffee in Oslo")
    [best] = await system.stores.warm.search(REACH, "tea in oslo", limit=1, now=START)
    async with system.transaction() as tx:
        await system.stores.warm.reinforce(tx, [(ANN, best.id)], at=START)
    counts = {entry.text: entry.access_count for entry in await system.stores.warm.all(ANN)}
    assert counts == {"Tea in Oslo": 1, "Coffee in Oslo": 0}


async def test_a_frozen_entry_is_kept_and_left_out_of_searches(system: MemorySystem) -> None:
    await keep(system, "Sold the old boat", importance=1.0)
    async with system.transaction() as tx:
        await system.stores.warm.evict(ANN, tx, change=CHANGE, at=START + timedelta(days=60))
    cold = system.stores.cold
    for days, found in ((89.8, 1), (90, 0)):
        now = START + timedelta(days=days)
        assert len(await cold.query(REACH, "old boat", now=now)) == found
        assert len(await cold.search(REACH, "old boat", limit=5, now=now)) == found
    assert len(await cold.query(REACH, "old boat", now=START + timedelta(days=90), frozen=True)) == 1
    assert await cold.count(ANN) == 1


async def test_frozen_entries_are_let_go_of_after_ten_years_and_can_be_brought_back(system: MemorySystem) -> None:
    await keep(system, "Sold the old boat")
    async with system.transaction() as tx:
        await system.stores.warm.evict(ANN, tx, change=CHANGE, at=START + timedelta(days=60))
    for years, gone in ((9.99, 0), (10.01, 1)):
        async with system.transaction() as tx:
            at = START + timedelta(days=365.25 * years)
            assert await system.stores.cold.let_go(ANN, tx, job="consolidate:2", at=at) == gone
    assert inclusive(await system.stores.tree.load(ANN))[ROOT].cold == 0
    async with system.transaction() as tx:
        assert await system.stores.cold.bring_back(ANN, tx, job="consolidate:2") == 1
    assert inclusive(await system.stores.tree.load(ANN))[ROOT].cold == 1


async def test_a_query_of_the_archive_takes_its_words_as_words(system: MemorySystem) -> None:
    await keep(system, "Saved 50% on the old boat", importance=1.0)
    async with system.transaction() as tx:
        await system.stores.warm.evict(ANN, tx, change=CHANGE, at=START + timedelta(days=60))
    now = START + timedelta(days=61)
    assert len(await system.stores.cold.query(REACH, "50% OLD boat and more words", now=now)) == 1
    assert await system.stores.cold.query(REACH, "5_% ' OR 1=1", now=now) == []
    assert await system.stores.cold.query(REACH, "  ", now=now) == []


async def test_urls_are_listed_and_found_by_a_part_of_them_in_both_tiers(system: MemorySystem) -> None:
    await keep(system, "The guide", urls=["https://Example.com/Guide"])
    await keep(system, "No link")
    assert await system.stores.warm.urls(REACH) == ["https://Example.com/Guide"]
    [entry] = await system.stores.warm.with_url(REACH, "example.COM/guide", limit=5)
    assert entry.text == "The guide"


async def test_entries_of_a_category_are_found_below_it_and_nowhere_else(system: MemorySystem) -> None:
    await keep(system, "One", category="work/oslo")
    await keep(system, "Two", category="workshop")
    await keep(system, "Three", category="work/oslo", scope=BOB)
    found = await system.stores.warm.within(REACH, "work", limit=5, now=START, tier=None)
    assert [(entry.text, entry.tier) for entry in found] == [("One", Tier.WARM)]


async def test_what_a_deleted_message_taught_leaves_both_the_entries_and_the_hot_state(system: MemorySystem) -> None:
    entry = await keep(system, "Sold the boat", message=7)
    assert entry is not None
    async with system.transaction() as tx:
        await system.stores.hot.update(ANN, tx, key="lesson", value={"text": "Be early"}, change=CHANGE, at=START)
        await system.stores.tree.write_index(ANN, tx, text=". 0/1/0: Sold boat", at=START)
        await system.stores.warm.withdraw(ANN, tx, source_message=7)
    assert "boat" not in await system.stores.tree.index(ANN)
    assert await system.stores.warm.all(ANN) == []
    assert inclusive(await system.stores.tree.load(ANN))[ROOT].warm == 0
    assert [item.text for item in (await system.stores.hot.shown(ANN)).lessons] == ["Be early"]


async def test_a_category_with_memories_stays_and_an_empty_one_goes_after_sixty_days(system: MemorySystem) -> None:
    tree = system.stores.tree
    await keep(system, "One", category="work/oslo")
    async with system.transaction() as tx:
        assert await tree.remove_node(ANN, tx, path="work/oslo", change=CHANGE, at=START)
        assert await tree.remove_node(ANN, tx, path="work", change=CHANGE, at=START)
        assert not await tree.add_node(ANN, tx, path="travel", change=CHANGE, at=START)
        sixty = timedelta(days=60)
        assert await tree.prune(ANN, tx, before=START, change=CHANGE, at=START + sixty) == []
        gone = await tree.prune(ANN, tx, before=START + timedelta(seconds=1), change=CHANGE, at=START + sixty)
    assert "travel" in gone
    assert "work/oslo" not in gone


async def test_a_rename_files_what_is_below_anew(system: MemorySystem) -> None:
    await keep(system, "One", category="work/oslo/office")
    async with system.transaction() as tx:
        refused = await system.stores.tree.move(
            ANN, tx, path="work/oslo", target="projects/oslo", action="rename", change=CHANGE, at=START
        )
    assert refused == ""
    [entry] = await system.stores.warm.all(ANN)
    assert entry.category == "projects/oslo/office"
    totals = inclusive(await system.stores.tree.load(ANN))
    assert (totals["projects"].warm, totals["work"].warm) == (1, 0)
