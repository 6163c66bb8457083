"""Copies of the database file: made while it is used, read back before they count, put in its place again.

The copy is SQLite's online backup (https://www.sqlite.org/backup.html): the database stays open to everybody meanwhile.

Invariant: a file that bears a backup's name is a whole one that was read back; nothing that holds anything is
overwritten, it is set aside under another name.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memory.errors import BackupFailed
from memory.process_lock import ProcessLock
from memory.sqlite_driver import tells_of_damage

_PAGES_AT_ONCE = 1_024  # 4 MB, after which it is told how far it is
_UNFINISHED = ".unfinished"
_LOGS = ("-wal", "-shm")
_OVERWRITTEN = ".before-restore"

OnProgress = Callable[[float], None]
"""Told of the share that is done, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """A copy that was read back.

    Attributes:
        path: the copy.
        size: of the file, in bytes.
        schema: the version of its tables.
        rows: what each table of people's data holds.
    """

    path: Path
    size: int
    schema: str
    rows: dict[str, int]


def back_up(database: Path, target: Path, *, tables: tuple[str, ...], progress: OnProgress) -> BackupReport:
    """Copy a database to a file, and read the copy back. Blocks; for a thread.

    Args:
        database: the file, which may be in use.
        target: where the copy goes; a file there is replaced only once the new one is whole.
        tables: those of people's data, which are counted.
        progress: told how far it is.

    Raises:
        BackupFailed: nothing was written at ``target``.
    """
    if not database.exists():
        raise BackupFailed(f"There is no database at {database}. DATA_DIR or DATABASE_URL says where it is.")
    if target.exists() and target.samefile(database):
        raise BackupFailed(f"{target} is the database itself. Name another file.")
    unfinished = target.with_name(target.name + _UNFINISHED)
    with _said_plainly(target), _swept(unfinished):
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(database, unfinished, progress)
        report = read_back(unfinished, tables=tables)
        unfinished.chmod(0o600)  # whoever can read it reads everybody
        _on_disk(unfinished)
        os.replace(unfinished, target)
        _on_disk(target.parent)
    return BackupReport(path=target, size=report.size, schema=report.schema, rows=report.rows)


def read_back(copy: Path, *, tables: tuple[str, ...]) -> BackupReport:
    """Read a copy through and count what it holds. Blocks; for a thread.

    Raises:
        BackupFailed: it is damaged, or no database of ours.
    """
    if not copy.is_file():
        raise BackupFailed(f"There is no file {copy}. Name the file that keepsake backup wrote.")
    with _said_plainly(copy), closing(_opened(copy, "ro")) as connection:
        [(verdict,), *_] = connection.execute("PRAGMA integrity_check(1)").fetchall()
        if verdict != "ok":
            raise BackupFailed(f"{copy} is damaged: {verdict}. Use an older backup.")
        present = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "alembic_version" not in present:
            raise BackupFailed(f"{copy} is no backup of Keepsake's. Name the file that keepsake backup wrote.")
        [schema] = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        # Names from our own schema, which no value can stand for in SQL.
        counts = {name: connection.execute(f'SELECT count(*) FROM "{name}"') for name in tables if name in present}
        rows = {name: count for name, counted in counts.items() for (count,) in counted}
    return BackupReport(path=copy, size=copy.stat().st_size, schema=schema, rows=rows)


def put_back(
    copy: Path,
    database: Path,
    *,
    tables: tuple[str, ...],
    schemas: frozenset[str],
    replace: bool,
    progress: OnProgress,
) -> BackupReport:
    """Put a backup in the database's place. Blocks; for a thread.

    Args:
        copy: a file that ``back_up`` wrote; it stays as it is.
        database: where it goes.
        tables: those of people's data.
        schemas: the versions of tables that this program can bring up to date.
        replace: whether a database there that holds anything may be set aside, under a name beside it.
        progress: told how far it is.

    Raises:
        BackupFailed: the copy cannot be used, the database is in use, or holds something; nothing was changed.
    """
    report = read_back(copy, tables=tables)
    if report.schema not in schemas:
        raise BackupFailed(f"{copy} was written by a newer version (schema {report.schema}). Install that one first.")
    unfinished = database.with_name(database.name + _UNFINISHED)
    with _said_plainly(database), _swept(unfinished):
        database.parent.mkdir(parents=True, exist_ok=True)
        if database.exists():
            _refuse_what_matters(database, tables=tables, replace=replace)
        _copy(copy, unfinished, progress)
        _on_disk(unfinished)
        if database.exists():
            _set_aside(database)
        os.replace(unfinished, database)
        _on_disk(database.parent)
    return BackupReport(path=database, size=report.size, schema=report.schema, rows=report.rows)


def _refuse_what_matters(database: Path, *, tables: tuple[str, ...], replace: bool) -> None:
    if ProcessLock.in_use(database):
        raise BackupFailed(f"{database} is in use. Stop the bot first.")
    if replace:
        return
    try:
        rows = read_back(database, tables=tables).rows
    except BackupFailed as error:
        raise BackupFailed(
            f"{database} cannot be read, and may hold memory. With --replace it is set aside, and kept beside it."
        ) from error
    if any(rows.values()):
        raise BackupFailed(f"{database} holds memory already. With --replace it is set aside, and kept beside it.")


def _set_aside(database: Path) -> None:
    """Keep the old database, with what is still in its log, under a name that is free."""
    number = 1
    while (aside := database.with_name(f"{database.name}{_OVERWRITTEN}-{number}")).exists():
        number += 1
    try:
        with closing(_opened(database, "rw")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode = DELETE")  # leaves one file
    except sqlite3.DatabaseError as error:
        if not tells_of_damage(error):
            raise
        # A damaged one is kept as it is. Its log must go along: it would be read as that of the new one.
        for ending in _LOGS:
            with suppress(FileNotFoundError):
                os.replace(f"{database}{ending}", f"{aside}{ending}")
    os.replace(database, aside)


def _copy(source: Path, target: Path, progress: OnProgress) -> None:
    target.unlink(missing_ok=True)

    def told(_status: int, remaining: int, total: int) -> None:
        progress(1 - remaining / total if total else 1.0)

    with closing(_opened(source, "ro")) as reading, closing(_opened(target, "rwc")) as writing:
        reading.execute("BEGIN")  # a snapshot: else SQLite begins anew after each write, without an end in a busy bot
        reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
        reading.backup(writing, pages=_PAGES_AT_ONCE, progress=told)
        writing.execute("PRAGMA journal_mode = DELETE")  # a copy is one file, without a log beside it


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=30)


def _on_disk(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, would outlive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _swept(unfinished: Path) -> Iterator[None]:
    try:
        yield
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _said_plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        cause = error.strerror if isinstance(error, OSError) else error
        raise BackupFailed(
            f"{path} cannot be used: {cause}. Check that it can be read and written and has room."
        ) from error
