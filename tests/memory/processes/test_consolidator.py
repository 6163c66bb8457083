"""A consolidation archives what fades and brings what matters to hand; it reports, and can be taken back whole."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from memory.errors import ModelUnavailable
from memory.parameters import MemoryParameters
from memory.policy.category_tree import inclusive
from memory.policy.hot_state import shown_value
from memory.processes.undo import origin_of
from memory.records import ROOT, By, Candidate, Change, Mode, NewEntry, Scope, scope_slug
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.new_database import database_in

ANN = Scope(person="console:ann", audience="dm")
BOB = Scope(person="console:bob", audience="dm")
CHANGE = Change(actor="system", reason="test", source_message=7)
OPERATOR = By()


class House:
    """A memory system, its clock and its model."""

    def __init__(self, system: MemorySystem, clock: FakeClock, model: ScriptedModel, folder: Path) -> None:
        self.system = system
        self.clock = clock
        self.model = model
        self.stores = system.stores
        self.page = folder / "notes" / scope_slug(ANN) / "MEMORY.md"

    async def keep(self, text: str, *, importance: float = 0.5, category: str = "work", scope: Scope = ANN) -> None:
        now = self.clock.now()
        new = NewEntry(text=text, category=category, importance=importance, created_at=now)
        async with self.system.transaction() as tx:
            await self.stores.warm.add(scope, tx, new=new, change=CHANGE, at=now)

    async def learn(self, text: str, **said: object) -> int:
        candidate = Candidate(text=text, **{"importance": 0.9, **said})  # type: ignore[arg-type]
        async with self.system.transaction() as tx:
            fact = await self.stores.facts.add(ANN, tx, candidate=candidate, change=CHANGE, at=self.clock.now())
        assert fact is not None
        return fact.id

    async def kept(self) -> dict[str, str]:
        """Every entry of Ann's and its tier."""
        rows = await self.stores.warm.export(ANN)
        return {row["text"]: row["tier"] for row in rows if row["removed_at"] is None}

    async def at_hand(self) -> object:
        return shown_value(await self.stores.hot.shown(ANN))

    async def undo(self, job: str) -> None:
        await self.system.oversight.undo.take_back(ANN, origin_of(job), by=OPERATOR)


@asynccontextmanager
async def opened(folder: Path, clock: FakeClock) -> AsyncIterator[House]:
    model = ScriptedModel(default="no JSON")
    async with open_memory(
        database_url=await database_in(folder),
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=model,
        parameters=MemoryParameters(time_zone="Europe/Oslo"),
        clock=clock,
        notes_folder=folder / "notes",
    ) as system:
        yield House(system, clock, model, folder)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with opened(tmp_path, FakeClock()) as house:
        yield house


async def test_what_faded_is_archived_and_the_report_says_so(house: House) -> None:
    await house.keep("A passing remark")
    house.clock.advance(days=31)
    await house.keep("A new remark")
    report = await house.system.consolidator.run(ANN)
    assert (report.evicted_warm, report.archived_cold, report.warm_entries) == (1, 1, 1)
    assert await house.kept() == {"A passing remark": "cold", "A new remark": "warm"}
    assert (await house.stores.consolidations.reports(ANN)) == [report]


async def test_what_matters_comes_into_the_place_where_it_belongs(house: House) -> None:
    await house.learn("User is called Ann.", predicate="name", subject="user", object="Ann")
    await house.learn("User likes tea.", predicate="likes", subject="user", object="tea")
    await house.learn("User has a brother.", category="personal/family")
    await house.learn("User wants to sail.", predicate="wants_to", subject="user", object="sail")
    await house.learn("User mentioned rain.", importance=0.3)
    await house.keep("We decided to use SQLite.", importance=0.9)
    await house.keep("Moved to Oslo.", importance=0.8)
    await house.keep("Saw a bird.", importance=0.6)
    report = await house.system.consolidator.run(ANN)
    shown = shown_value(await house.stores.hot.shown(ANN))
    assert shown["identity"]["owner_name"] == "Ann"
    assert shown["owner_profile"] == {"family": ["User has a brother."], "topics_loved": ["tea"]}
    assert [task["text"] for task in shown["active_context"]["tasks"]] == ["User wants to sail."]
    assert [event["text"] for event in shown["active_context"]["events"]] == ["Moved to Oslo."]
    assert [lesson["text"] for lesson in shown["critical_lessons"]] == ["We decided to use SQLite."]
    assert report.promoted == 6
    assert "We decided to use SQLite." in house.page.read_text()


async def test_what_is_just_important_enough_is_brought_to_hand_by_the_next_run(house: House) -> None:
    await house.learn("User likes tea.", predicate="likes", subject="user", object="tea", importance=0.7)
    house.clock.advance(hours=2)
    assert (await house.system.consolidator.run(ANN)).promoted == 1


async def test_consolidating_again_changes_nothing(house: House) -> None:
    await house.learn("User likes tea.", predicate="likes", subject="user", object="tea")
    await house.keep("Moved to Oslo.", importance=0.8)
    await house.system.consolidator.run(ANN)
    before = await house.stores.hot.versions(ANN), await house.stores.tree.index(ANN), await house.kept()
    report = await house.system.consolidator.run(ANN)
    assert report.promoted == 0
    assert (await house.stores.hot.versions(ANN), await house.stores.tree.index(ANN), await house.kept()) == before


async def test_a_fact_that_is_forgotten_is_shown_no_more_at_once(house: House) -> None:
    fact_id = await house.learn("User likes tea.", predicate="likes", subject="user", object="tea")
    await house.system.consolidator.run(ANN)
    async with house.system.transaction() as tx:
        await house.stores.facts.forget(ANN, tx, fact_id=fact_id, change=CHANGE, at=START)
    assert "owner_profile" not in shown_value(await house.stores.hot.shown(ANN))


async def test_undoing_a_consolidation_puts_everything_back(house: House) -> None:
    await house.keep("A passing remark")
    await house.keep("Moved to Oslo.", importance=0.8)
    house.clock.advance(days=61)
    async with house.system.transaction() as tx:
        await house.stores.tree.add_node(ANN, tx, path="busy", change=CHANGE, at=house.clock.now())
    before = await house.kept()
    tree = await house.stores.tree.load(ANN)
    report = await house.system.consolidator.run(ANN, Mode.DAILY)
    assert report.evicted_warm == 2
    assert report.pruned_nodes > 0
    await house.undo(report.job)
    assert await house.kept() == before
    after = await house.stores.tree.load(ANN)
    assert after.nodes.keys() == tree.nodes.keys()
    assert inclusive(after)[ROOT] == inclusive(tree)[ROOT]


async def test_undoing_takes_the_promotions_back_and_leaves_what_was_written_since(house: House) -> None:
    await house.keep("Moved to Oslo.", importance=0.8)
    first = await house.system.consolidator.run(ANN)
    await house.undo(first.job)
    assert (await house.stores.hot.shown(ANN)).events == ()
    second = await house.system.consolidator.run(ANN)
    async with house.system.transaction() as tx:
        await house.stores.hot.update(ANN, tx, key="lesson", value={"text": "Be early"}, change=CHANGE, at=START)
    undone = await house.system.oversight.undo.preview(ANN, origin_of(second.job))
    assert undone.notes == ("The hot state was written again since, so it stays. Choose a version of it instead.",)


async def test_each_period_is_consolidated_once_as_thoroughly_as_is_due(house: House) -> None:
    modes: list[tuple[datetime, str]] = []
    await house.keep("Moved to Oslo.", importance=0.8)
    for hour in range(0, 24 * 31, 6):
        house.clock.time = START + timedelta(hours=hour)
        if hour == 12:
            await house.keep("Bought a bike.")
        if await house.system.consolidator.run_all():
            [report] = await house.stores.consolidations.reports(ANN, limit=1)
            modes.append((report.at, report.mode.value))
        assert await house.system.consolidator.run_all() == 0
    assert [mode for _, mode in modes].count("monthly") == 1
    assert [mode for _, mode in modes].count("daily") == 30
    assert [mode for _, mode in modes[:2]] == ["quick", "quick"]


async def test_everybody_is_consolidated_a_few_at_a_time_and_progress_is_told(house: House) -> None:
    for scope in (ANN, BOB):
        await house.keep("Moved to Oslo.", scope=scope)
    heard: list[tuple[int, int]] = []
    done = await house.system.consolidator.run_all(Mode.QUICK, progress=lambda *far: heard.append(far))
    assert (done, heard) == (2, [(1, 2), (2, 2)])


async def test_the_model_may_tidy_the_tree_and_what_it_may_not_do_is_skipped(house: House) -> None:
    await house.keep("One", category="work/oslo")
    await house.keep("Two", category="job")
    house.model.answers.append(
        '{"operations": [{"action": "merge", "path": "job", "target": "work", "reason": "same"},'
        ' {"action": "remove", "path": "work/oslo"}, {"action": "rename", "path": "work", "target": "office"},'
        ' {"action": "add", "path": "travel", "description": "trips"}, {"action": "explode", "path": "work"}]}'
    )
    before = await house.kept()
    report = await house.system.consolidator.run(ANN, Mode.MONTHLY)
    assert report.tree_operations == (
        "merge job -> work",
        "remove work/oslo: skipped, work/oslo holds memories, so it stays.",
        "rename work -> office",
        "add travel",
    )
    filed = {entry.text: entry.category for entry in await house.stores.warm.all(ANN)}
    assert filed == {"One": "office/oslo", "Two": "office"}
    await house.undo(report.job)
    filed = {entry.text: entry.category for entry in await house.stores.warm.all(ANN)}
    assert filed == {"One": "work/oslo", "Two": "job"}
    assert await house.kept() == before
    assert "travel" not in (await house.stores.tree.load(ANN)).nodes


async def test_a_full_one_looks_closely_at_the_tree_and_a_monthly_one_does_not(house: House) -> None:
    for number in range(21):
        await house.keep(f"Rose {number} blooms", category="garden")
    assert (await house.system.consolidator.run(ANN, Mode.MONTHLY)).tree_findings == ()
    report = await house.system.consolidator.run(ANN, Mode.FULL)
    assert report.tree_findings == ("garden holds 21 of 21 entries: divide it.",)
    assert (await house.stores.consolidations.reports(ANN, limit=1)) == [report]


async def test_a_model_that_fails_leaves_the_tree_and_the_rest_is_done(house: House) -> None:
    await house.keep("One")
    house.clock.advance(days=31)
    await house.keep("Two")
    house.model.answers.append(ModelUnavailable("It is away."))
    report = await house.system.consolidator.run(ANN, Mode.MONTHLY)
    assert not report.tree_rebuilt
    assert report.evicted_warm == 1


async def test_erasing_a_person_deletes_the_page_too(house: House) -> None:
    await house.keep("Moved to Oslo.", importance=0.8)
    await house.system.consolidator.run(ANN)
    assert house.page.exists()
    await house.system.privacy.erase(ANN.person)
    assert not house.page.parent.exists()


async def test_a_consolidation_that_dies_before_any_commit_loses_nothing_and_is_done_by_the_next(
    house: House, tmp_path: Path
) -> None:
    await house.keep("A passing remark")
    house.clock.advance(days=31)
    await house.keep("Moved to Oslo.", importance=0.8)
    deaths: list[Path] = []

    def snapshot(_connection: Connection) -> None:
        deaths.append(tmp_path / f"death-{len(deaths)}")
        deaths[-1].mkdir()
        for file in (tmp_path / "keepsake.db", tmp_path / "keepsake.db-wal"):
            shutil.copy(file, deaths[-1])

    event.listen(Engine, "commit", snapshot)
    try:
        await house.system.consolidator.run(ANN, Mode.FULL)
    finally:
        event.remove(Engine, "commit", snapshot)
    assert deaths
    for folder in deaths:
        async with opened(folder, house.clock) as again:
            assert set(await again.kept()) == set(await house.kept()), f"died before {folder.name}"
            await again.system.consolidator.run(ANN, Mode.FULL)
            assert await again.kept() == await house.kept()
            assert await again.at_hand() == await house.at_hand()
