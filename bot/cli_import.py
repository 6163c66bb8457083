"""keepsake memory import: what an export wrote, or what people said before the bot was there.

Invariant: a file is found sound before anything of it is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.application import Application
from bot.bootstrap import open_archive
from bot.cli_memory import AsJson, DataDir, print_json, with_memory
from memory.errors import InvalidInput
from memory.processes.archive_importer import ArchiveReceipt
from memory.processes.importer import ImportReceipt
from memory.records import Archive, check_person

if TYPE_CHECKING:
    from rich.progress import Progress

import_commands = typer.Typer()


@import_commands.command("import")
def import_(  # noqa: PLR0917  # Typer makes options of them
    file: Annotated[
        Path,
        typer.Argument(
            help="What export wrote, a channel of Discord (DiscordChatExporter, JSON) or a workspace of Slack (zip).",
            exists=True,
            dir_okay=False,
            readable=True,
            show_default=False,
        ),
    ],
    person: Annotated[
        str | None, typer.Option("--person", help="Refuse the export of anybody else.", show_default=False)
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Everyone on the server can read the channel.")] = False,
    team: Annotated[
        str | None, typer.Option("--team", help="The workspace's id, where its archive tells none.", show_default=False)
    ] = None,
    learn: Annotated[bool, typer.Option("--learn", help="Learn facts from what an archive adds.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Put back what an export holds, or take in an archive of a platform. What is kept already stays as it is."""
    archive = open_archive(file, public=public, team=team)
    if archive is None:
        data = file.read_bytes()
        receipt = with_memory(
            data_dir, lambda app: _import(app, data, person and check_person(person)), may_be_new=True
        )
        _show_import(receipt, as_json)
    elif person is not None:
        raise InvalidInput("An archive is of many people. Leave --person out. Nothing was imported.")
    else:
        taken_in = with_memory(data_dir, lambda app: _take_in(app, archive, learn=learn), may_be_new=True)
        _show_archive(taken_in, archive, as_json)


async def _import(app: Application, data: bytes, person: str | None) -> ImportReceipt:
    with _progress() as progress:
        rows = progress.add_task("Rows", total=None)
        receipt = await app.system.importer.run(
            data,
            actor="operator",
            person=person,
            on_progress=lambda done, total: progress.update(rows, completed=done, total=total),
        )
        await _embedded(app, progress)
    return receipt


async def _take_in(app: Application, archive: Archive, *, learn: bool) -> ArchiveReceipt:
    with _progress() as progress:
        messages = progress.add_task("Messages", total=archive.messages)
        receipt = await app.system.oversight.archives.run(
            archive, actor="operator", learn=learn, on_progress=lambda done: progress.update(messages, completed=done)
        )
        if receipt.to_learn:
            progress.add_task("Learning", total=None)  # to stop here is safe as well: the jobs are durable
            await app.system.settle(embedding_seconds=0)
        await _embedded(app, progress)
    return receipt


@contextmanager
def _progress() -> Iterator[Progress]:
    from rich.progress import Progress  # for this command alone

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        yield progress


async def _embedded(app: Application, progress: Progress) -> None:
    # Everything is found by its words by now. To stop here is safe: the next run embeds the rest.
    progress.add_task("Search by meaning", total=None)
    await app.system.embedded()


def _show_import(receipt: ImportReceipt, as_json: bool) -> None:
    if as_json:
        print_json(asdict(receipt))
        return
    table = Table("heard by", "store", "rows added", title=Text(f"{receipt.person} · imported"), title_justify="left")
    for audience, stores in receipt.added.items():
        for store, rows in stores.items():
            table.add_row(Text(audience), store, f"{rows:,}")
    console = Console()
    if table.row_count:
        console.print(table)
    console.print(f"{receipt.already_here:,} rows of {receipt.person} were here already.", markup=False)
    if receipt.left_out:
        console.print(f"{receipt.left_out:,} rows of its inbox, jobs and notes on replies stay out.")


def _show_archive(receipt: ArchiveReceipt, archive: Archive, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(receipt), "left_out": archive.left_out})
        return
    table = Table("person", "messages added", title=Text(f"{archive.title} · imported"), title_justify="left")
    for person, messages in sorted(receipt.people.items()):
        table.add_row(Text(person), f"{messages:,}")
    console = Console()
    if table.row_count:
        console.print(table)
    console.print(f"{receipt.already_here:,} messages were here already.")
    console.print(f"{archive.left_out:,} of bots, of the platform or without words stay out.")
    if receipt.kept_out:
        console.print(f"{receipt.kept_out:,} stay out because their authors asked for it (pause, incognito).")
    if receipt.to_learn:
        console.print(f"{receipt.to_learn:,} were learned from, or will be with the next start.")
