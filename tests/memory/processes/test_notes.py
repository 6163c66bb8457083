"""Notes for people: the journal of each day is written there, and what a person writes there is taken in once."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memory.errors import InvalidInput, ModelUnavailable, NotesUnavailable
from memory.messages import ModelRequest
from memory.note_files import LARGEST_NOTE
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_scope
from memory.processes.ingest import IngestReport
from memory.processes.undo import origin_of
from memory.records import By, Change, Mode, Scope, Tier, scope_slug
from memory.system import MemorySystem, open_memory
from tests.fakes import FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter

ANN = Scope(person="console:ann", audience="dm")
ANN_IN_PUBLIC = Scope(person="console:ann", audience="guild:1")
TODAY = "2026-03-02.md"
CHANGE = Change(actor="system", reason="test", source_message=7)


class House:
    """A memory system with the folder of Ann's notes."""

    def __init__(self, system: MemorySystem, clock: FakeClock, folder: Path) -> None:
        self.system = system
        self.clock = clock
        self.folder = folder / "notes" / scope_slug(ANN)
        self.folder.mkdir(parents=True)

    def write(self, text: str, name: str = TODAY) -> Path:
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name

    async def happens(self, text: str) -> None:
        async with self.system.transaction() as tx:
            journal, now = self.system.stores.journal, self.clock.now()
            await journal.add(ANN, tx, text=text, change=CHANGE, at=now)

    async def read(self, **wanted: object) -> IngestReport:
        return await self.system.ingest.read(ANN, job="ingest:1", **wanted)  # type: ignore[arg-type]

    async def kept(self, scope: Scope = ANN) -> list[str]:
        return sorted(entry.text for entry in await self.system.stores.warm.all(scope))


@asynccontextmanager
async def house_in(folder: Path, model: ScriptedModel | None = None) -> AsyncIterator[House]:
    clock = FakeClock()
    async with open_memory(
        database_url=f"sqlite:///{folder}/keepsake.db",
        embedder=HashEmbedder(),
        counter=WordTokenCounter(),
        memory_model=ScriptedModel(default="no JSON"),
        parameters=MemoryParameters(time_zone="Europe/Oslo"),
        clock=clock,
        notes_folder=folder / "notes",
        notes_model=model,
    ) as system:
        yield House(system, clock, folder)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with house_in(tmp_path) as found:
        yield found


async def test_the_journal_of_each_day_is_written_by_night_in_the_time_of_the_place(house: House) -> None:
    await house.happens("User moved to Oslo.")
    house.clock.advance(days=1)
    await house.happens("User slept.")
    await house.system.consolidator.run(ANN, Mode.QUICK)
    assert not (house.folder / TODAY).exists()
    await house.system.consolidator.run(ANN, Mode.DAILY)
    assert "# Journal of 2026-03-02\n\n- 10:00:00 User moved to Oslo.\n" in (house.folder / TODAY).read_text()
    assert "- 10:00:00 User slept." in (house.folder / "2026-03-03.md").read_text()


async def test_what_is_forgotten_leaves_the_notes(house: House) -> None:
    await house.happens("User moved to Oslo.")
    await house.system.consolidator.run(ANN, Mode.DAILY)
    house.clock.advance(days=40)
    async with house.system.transaction() as tx:
        await house.system.stores.journal.erase(ANN, tx)
    await house.system.consolidator.run(ANN, Mode.DAILY)
    assert (house.folder / TODAY).exists()  # of the last month alone
    await house.system.consolidator.run(ANN, Mode.MONTHLY)
    assert not (house.folder / TODAY).exists()


async def test_what_a_person_writes_is_taken_in_once_and_stays_in_the_note(house: House) -> None:
    await house.happens("User decided to sail.")
    note = house.write("## Garden\n- [x] Planted the quinces\n- We decided to buy a fence\n")
    report = await house.system.consolidator.run(ANN, Mode.DAILY)
    assert (report.ingested_facts, report.ingest_skipped, report.ingest_error) == (2, 0, "")
    assert report.ingest_warnings == 1
    found = {entry.text: entry for entry in await house.system.stores.warm.all(ANN)}
    assert {text: (entry.category, entry.importance) for text, entry in found.items()} == {
        "Planted the quinces": ("garden", 0.7),
        "We decided to buy a fence": ("garden", 0.75),
    }
    assert note.read_text().startswith("## Garden\n- [x] Planted the quinces\n- We decided to buy a fence\n\n<!--")
    assert note.read_text().rstrip().endswith("User decided to sail.")
    again = await house.system.consolidator.run(ANN, Mode.DAILY)
    assert (again.ingested_facts, again.ingest_skipped) == (0, 0)


async def test_a_note_that_was_changed_is_read_again_and_known_words_are_skipped(house: House) -> None:
    house.write("- [x] Planted the quinces")
    await house.read()
    house.write("- [x] PLANTED the quinces.\n- [x] Bought a fence")
    report = await house.read()
    assert (report.facts_found, report.facts_stored, report.facts_skipped) == (2, 1, 1)
    assert report.facts == ("Bought a fence",)
    house.write("- [x] Bought a fence\nWe chose green")
    [warning] = (await house.read()).warnings
    assert warning == f"{TODAY}: Line 2: a decision without a next step: We chose green"


async def test_an_old_note_is_taken_in_by_the_monthly_consolidation(house: House) -> None:
    house.write("- [x] Planted the quinces", "2026-01-30.md")
    house.write("- [x] Bought a fence", "2026-01-31.md")
    await house.system.consolidator.run(ANN, Mode.DAILY)
    assert await house.kept() == ["Bought a fence"]
    await house.system.consolidator.run(ANN, Mode.MONTHLY)
    rows = await house.system.stores.warm.export(ANN)
    assert {row["text"] for row in rows} == {"Bought a fence", "Planted the quinces"}


async def test_one_reading_is_taken_back_whole_and_not_read_again(house: House) -> None:
    house.write("- [x] Planted the quinces")
    report = await house.system.consolidator.run(ANN, Mode.DAILY)
    await house.system.oversight.undo.take_back(ANN, origin_of(report.job), by=By())
    assert await house.kept() == []
    await house.system.consolidator.run(ANN, Mode.DAILY)
    assert await house.kept() == []


async def test_notes_are_read_before_what_faded_is_archived(house: House) -> None:
    house.clock.advance(days=60)
    house.write("- [x] Planted the quinces")
    report = await house.system.consolidator.run(ANN, Mode.MONTHLY)
    assert (report.ingested_facts, report.evicted_warm) == (1, 1)
    [entry] = await house.system.stores.warm.within(
        reach_of_scope(ANN), "", limit=9, now=house.clock.now(), tier=Tier.COLD
    )
    assert entry.archived_at is not None


async def test_a_model_is_asked_first_and_the_rule_where_it_fails(tmp_path: Path) -> None:
    answer = json.dumps({"facts": [{"text": "User planted quinces", "category": "garden", "importance": 0.8}]})
    model = ScriptedModel(answer, ModelUnavailable("no"), "no JSON")
    async with house_in(tmp_path, model) as house:
        house.write("- [x] Planted the quinces" + "x" * 3_000 + "\n- [x] Oiled the gate", "a.md")
        house.write("- [x] Bought a fence", "b.md")
        house.write("- [x] Sold the car", "c.md")
        report = await house.read()
        assert (report.mode, report.llm_fallbacks, report.facts_stored) == ("llm", 2, 4)
        assert await house.kept() == ["Bought a fence", "Oiled the gate", "Sold the car", "User planted quinces"]
        shown = model.requests[0].messages[0].text
        assert "projects" in shown
        assert "x" * 2_900 in shown
        assert "x" * 3_000 not in shown


async def test_a_dry_run_tells_what_is_new_and_keeps_nothing(house: House) -> None:
    house.write("- [x] Planted the quinces")
    await house.read()
    house.write("- [x] Planted the quinces\n- [x] Bought a fence")
    report = await house.read(dry_run=True)
    assert (report.facts, report.facts_stored, report.facts_skipped) == (("Bought a fence",), 0, 1)
    assert (await house.read()).facts_stored == 1


async def test_of_dated_notes_only_those_of_the_last_days_are_read_where_that_is_asked(house: House) -> None:
    for name in ("2026-02-28.md", "2026-03-01.md", TODAY, "ideas.md"):
        house.write(f"- [x] Written in {name}", name)
    report = await house.read(days=2)
    assert report.files_scanned == 3
    assert "Written in 2026-02-28.md" not in report.facts


async def test_what_is_no_plain_note_is_refused_with_a_sentence_and_the_others_are_read(
    house: House, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("- [x] The secret of somebody else")
    (house.folder / "link.md").symlink_to(outside)
    (house.folder / "folder.md").mkdir()
    os.mkfifo(house.folder / "pipe.md")
    os.mknod(house.folder / "socket.md", 0o600 | stat.S_IFSOCK)
    house.write("- [x] Not a name", os.fsdecode(b"\xff\x1b[31m.md"))
    (house.folder / "binary.md").write_bytes(b"- [x] \xff\xfe\x00 and more")
    house.write("x" * (LARGEST_NOTE + 1), "large.md")
    house.write("x" * LARGEST_NOTE, "just.md")
    house.write("- [x] Not a note", "list.txt")
    house.write("- [x] Not seen", ".hidden.md")
    house.write("- [x] Planted the quinces")
    report = await house.read()
    assert await house.kept() == ["Planted the quinces"]
    assert report.files_scanned == 2
    told = (await house.system.consolidator.run(ANN, Mode.DAILY)).ingest_error
    assert "link.md is a link, which is not followed." in told
    assert sorted(report.refused) == [
        "'\\udcff\\x1b[31m.md' is no name of a note. Write a plain name that ends in .md.",
        "binary.md is no text in UTF-8. Save it as such.",
        "folder.md is no plain file.",
        "large.md is larger than 1,000,000 bytes. Cut it into smaller files.",
        "link.md is a link, which is not followed. Put the file itself there.",
        "list.txt is no note: only files that end in .md are read.",
        "pipe.md is no plain file.",
        "socket.md is no plain file.",
    ]


async def test_a_folder_in_place_of_a_days_note_keeps_no_other_day_from_being_written(house: House) -> None:
    (house.folder / TODAY).mkdir()
    await house.happens("User moved to Oslo.")
    house.clock.advance(days=1)
    await house.happens("User slept.")
    report = await house.system.consolidator.run(ANN, Mode.DAILY)
    assert report.ingest_error == f"{TODAY} is no plain file."
    assert (house.folder / "2026-03-03.md").exists()
    open_files = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(InvalidInput, match="is no plain file"):
            await house.system.ingest.note(ANN, TODAY)
    assert len(os.listdir("/proc/self/fd")) == open_files


async def test_a_note_that_a_link_replaces_while_a_model_reads_it_is_not_kept(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("- [x] The secret of somebody else")

    def replaces(_: ModelRequest) -> str:
        (house.folder / TODAY).unlink()
        (house.folder / TODAY).symlink_to(outside)
        return json.dumps({"facts": [{"text": "User planted quinces"}]})

    async with house_in(tmp_path, ScriptedModel(replaces)) as house:
        house.write("- [x] Planted the quinces")
        assert (await house.read()).facts_stored == 0
        assert await house.kept() == []


async def test_a_folder_that_is_a_link_is_neither_read_nor_written(house: House, tmp_path: Path) -> None:
    (outside := tmp_path / "outside").mkdir()
    (outside / TODAY).write_text("- [x] The secret of somebody else")
    house.folder.rmdir()
    house.folder.symlink_to(outside)
    await house.happens("User moved to Oslo.")
    with pytest.raises(NotesUnavailable, match="is a link"):
        await house.read()
    report = await house.system.consolidator.run(ANN, Mode.DAILY)
    assert "is a link" in report.ingest_error
    assert (outside / TODAY).read_text() == "- [x] The secret of somebody else"
    await house.system.privacy.erase(ANN.person)
    assert not house.folder.is_symlink()
    assert (outside / TODAY).exists()


async def test_while_memory_is_paused_no_note_is_read(house: House) -> None:
    house.write("- [x] Planted the quinces")
    async with house.system.transaction() as tx:
        await house.system.stores.consent.pause(ANN, tx, at=house.clock.now())
    assert "paused" in (await house.read()).refused[0]
    assert await house.kept() == []


async def test_a_note_belongs_to_the_scope_of_its_folder_alone(house: House, tmp_path: Path) -> None:
    public = tmp_path / "notes" / scope_slug(ANN_IN_PUBLIC)
    public.mkdir()
    (public / TODAY).write_text("- [x] Said it to everybody")
    house.write("- [x] Planted the quinces")
    await house.read()
    assert (await house.kept(), await house.kept(ANN_IN_PUBLIC)) == (["Planted the quinces"], [])


async def test_erasing_a_person_deletes_their_notes(house: House) -> None:
    await house.happens("User moved to Oslo.")
    house.write("- [x] Planted the quinces")
    await house.system.consolidator.run(ANN, Mode.DAILY)
    receipt = await house.system.privacy.erase(ANN.person)
    assert (receipt.rows["notes_read"], receipt.rows["tier_days"]) == (1, 1)
    assert not house.folder.exists()


async def test_the_map_tells_what_is_filed_where_until_that_is_taken_back(house: House) -> None:
    house.write("## Garden\n- [x] Planted the quinces")
    report = await house.system.consolidator.run(ANN, Mode.DAILY)
    index = house.system.stores.tree.index
    assert " garden 0/1/0: Planted quinces" in (await index(ANN)).splitlines()
    await house.system.oversight.undo.take_back(ANN, origin_of(report.job), by=By())
    assert "quinces" not in await index(ANN)
    assert await index(ANN) != ""
