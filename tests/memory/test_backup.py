"""Copies of the database: whole, read back, and put in place without overwriting anything that matters."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memory.backup import BackupReport, back_up, put_back, read_back
from memory.database import open_database
from memory.errors import BackupFailed, DatabaseUnavailable
from memory.migrations import schema_versions
from memory.records import Scope
from memory.schema import PERSONAL_TABLES
from tests.world import running

TABLES = tuple(table.name for table in PERSONAL_TABLES)
ANN = Scope(person="console:ann", audience="dm")


def silent(_share: float) -> None:
    pass


def restore(copy: Path, database: Path, *, replace: bool = False) -> BackupReport:
    return put_back(copy, database, tables=TABLES, schemas=schema_versions(), replace=replace, progress=silent)


def made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


async def lived(folder: Path, *said: str) -> Path:
    """A database in which somebody said something, and the process ended."""
    async with running(made(folder)) as world:
        for text in said:
            await world.say(text)
    return folder / "keepsake.db"


async def words_in(folder: Path, *, of: Path | None = None) -> list[str]:
    """What somebody said by the database of a folder, which is a copy of another one where that is given."""
    if of is not None:
        shutil.copy(of, folder / "keepsake.db")
    async with running(folder) as world:
        found = await world.system.stores.recall.export(ANN)
        return [row["parts"][0]["text"] for row in found if row["role"] == "user"]


async def test_a_copy_made_while_the_bot_works_holds_what_was_said_and_is_one_file(tmp_path: Path) -> None:
    shares: list[float] = []
    async with running(tmp_path) as world:
        await world.say("I keep bees.")
        report = back_up(tmp_path / "keepsake.db", tmp_path / "b" / "copy.db", tables=TABLES, progress=shares.append)
        await world.say("I sold the bees.")
    assert report.rows["messages"] == 2
    assert report.size == report.path.stat().st_size
    assert shares[-1] == 1.0
    assert names_in(tmp_path / "b") == ["copy.db"]
    assert report.path.stat().st_mode & 0o077 == 0
    restore(report.path, made(tmp_path / "new") / "keepsake.db")
    assert await words_in(tmp_path / "new") == ["I keep bees."]


async def test_a_copy_comes_to_its_end_however_much_is_written_meanwhile(tmp_path: Path) -> None:
    database = await lived(tmp_path / "bot", "I keep bees.")
    shares: list[float] = []
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("CREATE TABLE filler (content)")
        other.executemany("INSERT INTO filler VALUES (zeroblob(4000000))", [()] * 3)  # of several pieces

        def write(share: float) -> None:
            shares.append(share)
            assert len(shares) < 20
            other.execute("INSERT INTO filler VALUES ('meanwhile')")

        back_up(database, tmp_path / "copy.db", tables=TABLES, progress=write)
    assert len(shares) > 1
    assert shares == sorted(shares)
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("SELECT count(*) FROM filler").fetchone() == (3,)  # of the moment at which it began


async def test_a_backup_takes_the_place_of_an_older_one_only_when_it_is_whole(tmp_path: Path) -> None:
    database = await lived(tmp_path / "bot", "I keep bees.")
    copy = tmp_path / "copy.db"
    back_up(database, copy, tables=TABLES, progress=silent)
    before = copy.read_bytes()

    class Interrupted(Exception):
        pass

    def die(_share: float) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        back_up(database, copy, tables=TABLES, progress=die)
    assert copy.read_bytes() == before
    assert names_in(tmp_path) == ["copy.db"]


async def test_a_database_that_holds_memory_is_not_overwritten_unless_that_is_asked_for(tmp_path: Path) -> None:
    old = await lived(tmp_path / "old", "I keep bees.")
    present = await lived(tmp_path / "present", "I keep hens.")
    copy = tmp_path / "copy.db"
    back_up(old, copy, tables=TABLES, progress=silent)
    with pytest.raises(BackupFailed, match="holds memory already"):
        restore(copy, present)
    assert await words_in(tmp_path / "present") == ["I keep hens."]
    restore(copy, present, replace=True)
    restore(copy, present, replace=True)
    assert await words_in(tmp_path / "present") == ["I keep bees."]
    os.replace(present.with_name("keepsake.db.before-restore-1"), made(tmp_path / "aside") / "keepsake.db")
    assert await words_in(tmp_path / "aside") == ["I keep hens."]
    assert "keepsake.db.before-restore-2" in names_in(tmp_path / "present")


async def test_a_database_in_use_is_left_alone(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    back_up(await lived(tmp_path / "old", "I keep bees."), copy, tables=TABLES, progress=silent)
    async with running(made(tmp_path / "bot")) as world:
        await world.say("I keep hens.")
        with pytest.raises(BackupFailed, match="Stop the bot first"):
            restore(copy, tmp_path / "bot" / "keepsake.db", replace=True)
        assert await world.say("And ducks.")


def damaged(copy: Path) -> None:
    data = bytearray(copy.read_bytes())
    data[8192:40960] = b"\xaa" * (40960 - 8192)
    copy.write_bytes(data)


def cut_short(copy: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:8192])


def newer(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()


def another_program(copy: Path) -> None:
    copy.unlink()
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


def no_database(copy: Path) -> None:
    copy.write_text("Dear diary")


def missing(copy: Path) -> None:
    copy.unlink()


@pytest.mark.parametrize("harm", [damaged, cut_short, no_database])
async def test_a_damaged_database_is_set_aside_with_its_log_for_a_backup(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    present, copy = await lived(tmp_path / "bot", "I keep hens."), tmp_path / "copy.db"
    back_up(present, copy, tables=TABLES, progress=silent)
    harm(present)
    present.with_name("keepsake.db-wal").write_bytes(b"a log that was never read")
    with pytest.raises(BackupFailed, match="With --replace it is set aside"):
        restore(copy, present)
    restore(copy, present, replace=True)
    assert await words_in(tmp_path / "bot") == ["I keep hens."]
    assert "keepsake.db.before-restore-1" in names_in(tmp_path / "bot")


async def test_who_opens_a_damaged_database_is_told_the_way_back(tmp_path: Path) -> None:
    (tmp_path / "keepsake.db").write_text("Dear diary, " * 1_000)
    with pytest.raises(DatabaseUnavailable, match=r"is damaged: .* keepsake restore --from FILE --replace"):
        await open_database(f"sqlite:///{tmp_path}/keepsake.db")


@pytest.mark.parametrize("harm", [damaged, cut_short, newer, another_program, no_database, missing])
async def test_a_copy_that_cannot_be_used_is_refused_with_a_sentence_and_nothing_changes(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    present = await lived(tmp_path / "bot", "I keep hens.")
    copy = tmp_path / "copy.db"
    back_up(present, copy, tables=TABLES, progress=silent)
    harm(copy)
    with pytest.raises(BackupFailed) as refused:
        restore(copy, present, replace=True)
    assert str(refused.value).endswith((".", "first."))
    assert await words_in(tmp_path / "bot") == ["I keep hens."]
    assert not [name for name in names_in(tmp_path / "bot") if "restore" in name]


async def test_what_cannot_be_copied_is_said(tmp_path: Path) -> None:
    with pytest.raises(BackupFailed, match="no database at"):
        back_up(tmp_path / "none.db", tmp_path / "copy.db", tables=TABLES, progress=silent)
    database = await lived(tmp_path / "bot", "I keep bees.")
    with pytest.raises(BackupFailed, match="the database itself"):
        back_up(database, database, tables=TABLES, progress=silent)
    (tmp_path / "file").write_text("")
    with pytest.raises(BackupFailed, match="cannot be used"):
        back_up(database, tmp_path / "file" / "copy.db", tables=TABLES, progress=silent)
    assert read_back(database, tables=TABLES).rows["messages"] == 2


async def test_a_restore_that_dies_at_any_step_loses_nothing_and_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.db"
    back_up(await lived(tmp_path / "old", "I keep bees."), copy, tables=TABLES, progress=silent)
    present = await lived(tmp_path / "present", "I keep hens.")
    deaths: list[Path] = []

    def dying(step: Callable[..., None]) -> Callable[..., None]:
        """What the disk holds before each step that the operating system is asked for."""

        def snapshot(*arguments: object) -> None:
            deaths.append(tmp_path / f"death-{len(deaths)}")
            shutil.copytree(present.parent, deaths[-1])
            step(*arguments)

        return snapshot

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dying(os.replace))
        patched.setattr(os, "fsync", dying(os.fsync))
        restore(copy, present, replace=True)
    assert len(deaths) == 4
    for folder in deaths:
        old = next(folder.glob("keepsake.db.before-restore-*"), folder / "keepsake.db")
        assert await words_in(made(folder / "old"), of=old) == ["I keep hens."], f"died at {folder.name}"
        restore(copy, folder / "keepsake.db", replace=True)
        assert await words_in(folder) == ["I keep bees."], f"died at {folder.name}"
        assert not list(folder.glob("*.unfinished"))
