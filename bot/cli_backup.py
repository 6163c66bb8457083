"""keepsake backup | restore: a copy of everything in one file, and everything back from it or from the mirror.

Invariant: a backup that was announced was read back; a restore overwrites nothing that holds anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bot.application import Application
from bot.backups import TABLES
from bot.cli_memory import AsJson, DataDir, print_json, with_memory
from bot.config import load_settings
from bot.logs import configure_logs
from memory.backup import BackupReport, OnProgress, back_up, put_back
from memory.errors import BackupFailed
from memory.migrations import schema_versions

backup_commands = typer.Typer()


@backup_commands.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(help="Where the copy goes.", dir_okay=False, show_default=False)],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy everything to one file, while the bot runs or not, and read the copy back."""
    database = _database(data_dir)
    report = _shown("Copying", lambda progress: back_up(database, file, tables=TABLES, progress=progress))
    _print(
        report, "{path} holds a copy of everything: {rows:,} rows, {size:,} bytes, read back and found whole.", as_json
    )


@backup_commands.command("restore")
def restore(
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="A file that backup wrote. Without one: the mirror.", metavar="FILE", show_default=False
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Set aside what is kept now, under a name beside it.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Bring everything back, from the mirror or a backup, with the bot stopped. Its next start updates the schema."""
    if source is None:
        _from_mirror(data_dir, as_json)
        return
    database = _database(data_dir)
    report = _shown(
        "Restoring",
        lambda progress: put_back(
            source, database, tables=TABLES, schemas=schema_versions(), replace=replace, progress=progress
        ),
    )
    _print(report, "{path} holds what the backup held: {rows:,} rows, {size:,} bytes.", as_json)


def _from_mirror(data_dir: Path | None, as_json: bool) -> None:
    configure_logs("WARNING")
    if load_settings({"data_dir": data_dir}).mirror is None:
        raise BackupFailed("There is nothing to restore from. Name a backup with --from FILE, or set TURSO_URL.")

    async def bring_back(app: Application, progress: OnProgress) -> int:
        assert app.system.mirror is not None
        return await app.system.mirror.restore(on_progress=lambda done, total: progress(done / total))

    with _bar("Restoring") as progress:
        rows = with_memory(data_dir, lambda app: bring_back(app, progress), may_be_new=True)
    if as_json:
        print_json({"rows": rows})
    else:
        print(f"{rows:,} rows came back from the mirror. The bot can be started; it embeds them in the background.")


def _database(data_dir: Path | None) -> Path:
    configure_logs("WARNING")
    file = load_settings({"data_dir": data_dir}).database_file
    if file is None:
        raise BackupFailed("The database of DATABASE_URL is no file, which alone can be copied like this.")
    return file


def _shown(doing: str, work: Callable[[OnProgress], BackupReport]) -> BackupReport:
    with _bar(doing) as progress:
        return work(progress)


@contextmanager
def _bar(doing: str) -> Iterator[OnProgress]:
    from rich.progress import Progress  # for these commands alone

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(doing, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _print(report: BackupReport, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(report), "path": str(report.path)})
    else:
        print(sentence.format(path=report.path, rows=sum(report.rows.values()), size=report.size))
