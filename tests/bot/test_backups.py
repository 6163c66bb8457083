"""Backups by the clock: made when due, the newest kept, nothing else in the folder touched."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import structlog

from bot.backups import Backups, backups_in
from tests.bot.test_cli import in_a_process
from tests.world import World, running


def backups_of(world: World, folder: Path, *, database: str = "keepsake.db") -> Backups:
    return Backups(folder / database, folder / "kept", every=timedelta(hours=24), keep=2, clock=world.clock)


async def test_one_is_made_when_it_is_due_and_the_oldest_goes(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "notes.txt").write_text("Mine.")
    async with running(tmp_path) as world:
        backups = backups_of(world, tmp_path)
        times = []
        for _ in range(4):
            await backups.run_due()
            times.append(world.clock.now().replace(microsecond=0))
            world.clock.advance(hours=23)
            await backups.run_due()  # too early
            world.clock.advance(hours=1)
        assert [at for at, _ in backups_in(tmp_path / "kept")] == times[-2:]
    assert (tmp_path / "kept" / "notes.txt").read_text() == "Mine."


async def test_one_that_fails_is_logged_and_costs_no_older_one(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await backups_of(world, tmp_path).run_due()
        before = backups_in(tmp_path / "kept")
        world.clock.advance(days=2)
        with structlog.testing.capture_logs() as logged:
            await backups_of(world, tmp_path, database="gone.db").run_due()
        assert [line["event"] for line in logged if line["log_level"] == "error"] == ["backup_failed"]
        assert backups_in(tmp_path / "kept") == before


def test_memory_is_backed_up_and_restored_at_the_command_line(tmp_path: Path) -> None:
    in_a_process(tmp_path, "chat", "--as", "ann", said=b"My name is Ann\n")
    copied = in_a_process(tmp_path, "backup", "copy.db", "--json")
    assert copied.code == 0
    assert json.loads(copied.out)["rows"]["messages"] > 1
    again = in_a_process(tmp_path, "restore", "--from", "copy.db")
    assert again.code == 1
    assert "--replace" in again.err
    assert in_a_process(tmp_path, "restore", "--from", "copy.db", "--data-dir", "new").code == 0
    asked = in_a_process(tmp_path, "chat", "--as", "ann", "--data-dir", "new", said=b"What is my name?\n")
    assert "Ann" in asked.out
