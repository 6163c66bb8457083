"""keepsake memory ...: an operator's look at what is kept, and its export and erasure.

Invariant: every command names a person; nothing lists or searches over several.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.application import Application, open_application
from bot.cli_scope import noted
from bot.command_views import IN_MIRROR, NOT_SEARCHED
from bot.config import load_settings
from bot.logs import configure_logs
from memory.errors import DatabaseUnavailable, InvalidInput
from memory.oversight import Overview
from memory.policy.text import clean
from memory.ports import SystemClock
from memory.privacy import ErasureReceipt
from memory.records import SearchHit, check_person

memory_commands = typer.Typer(help="Look at, search, export, import or erase what is kept about a person.")

Person = Annotated[str, typer.Option("--person", help="discord:ID, slack:TEAM:ID or console:NAME.", show_default=False)]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder for the database; wins over DATA_DIR.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

T = TypeVar("T")


@memory_commands.command("show")
def show(person: Person, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Core memory, digest and counts, for each audience."""
    check_person(person)

    async def look(app: Application) -> list[Overview]:
        oversight = app.system.oversight
        found = [await oversight.overview(scope) for scope in await oversight.scopes_of(person)]
        await _noted(app, person, "memory show")
        return found

    rows = [_as_row(found) for found in with_memory(data_dir, look)]
    if as_json:
        print_json({"person": person, "scopes": rows})
        return
    console = Console(markup=False)
    if not rows:
        console.print(f"Nothing is kept about {person}.")
    for row in rows:
        title = Text(f"{person} · heard by {row['audience']}")
        table = Table(title=title, show_header=False, title_justify="left")
        for label, value in row["core_memory"].items():
            table.add_row(label, Text(value or "(empty)"))
        table.add_row("summary", Text(row["summary"] or "(empty)"))
        table.add_row("digest", Text(row["window_summary"] or "(empty)"))
        table.add_row("messages", str(row["messages"]))
        table.add_row("documents", str(row["passages"]))
        table.add_row("last active", row["last_activity"] or "never")
        console.print(table)


def _as_row(found: Overview) -> dict[str, Any]:
    return {
        "audience": found.scope.audience,
        "core_memory": {block.label: block.value for block in found.blocks},
        "summary": found.summary.text if found.summary else "",
        "window_summary": found.window_summary,
        "last_activity": found.last_activity.isoformat() if found.last_activity else None,
        "messages": found.messages,
        "passages": found.passages,
    }


@memory_commands.command("search")
def search(  # noqa: PLR0917  # Typer makes options of them
    query: Annotated[str, typer.Argument(help="What to look for.")],
    person: Person,
    audience: Annotated[
        str | None, typer.Option(help="Search as a conversation heard by AUDIENCE would; all without it.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Results at most.")] = 10,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Find facts, past messages and documents."""
    query = clean(query)

    async def look(app: Application) -> list[SearchHit]:
        found = await app.system.search(check_person(person), query, limit=limit, audience=audience)
        await _noted(app, person, "memory search", audience)
        return found

    hits = with_memory(data_dir, look)
    if as_json:
        print_json(
            {
                "query": query,
                "results": [
                    {
                        "source": hit.source,
                        "audience": hit.scope.audience,
                        "text": hit.text,
                        "author": hit.author,
                        "date": hit.at.isoformat(),
                        "score": round(hit.score, 4),
                        "reason": hit.reason,
                        "messages": [str(message_id) for message_id in hit.message_ids],
                    }
                    for hit in hits
                ],
            }
        )
        return
    console = Console(markup=False)
    if not hits:
        console.print("Nothing found.")
    for hit in hits:
        said = f"{hit.at:%Y-%m-%d %H:%M} UTC {hit.author or hit.source} ({hit.scope.audience}): {hit.reason}"
        console.print(said, style="dim", highlight=False)
        console.print(f"  {hit.text}", highlight=False)


@memory_commands.command("export")
def export(
    person: Person,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output without.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Everything kept about a person, as JSON."""

    async def look(app: Application) -> dict[str, Any]:
        found = await app.system.privacy.export(check_person(person))
        await _noted(app, person, "memory export")
        return found

    exported = with_memory(data_dir, look)
    if output is None:
        print_json(exported)
    else:
        try:
            output.write_text(json.dumps(exported, ensure_ascii=False, indent=2), encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{output} cannot be written: {error.strerror}.") from error
        print(f"Written to {output}.", file=sys.stderr)


@memory_commands.command("erase")
def erase(
    person: Person,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Erase everything kept about a person, and prove that nothing is left."""
    check_person(person)
    if not yes and typer.prompt(f"Type {person} to erase everything kept about them", err=True) != person:
        print("That is not the same. Nothing was erased.", file=sys.stderr)
        raise typer.Exit(1)
    receipt = with_memory(data_dir, lambda app: app.system.privacy.erase(person))
    if as_json:
        print_json({**asdict(receipt), "erased_at": receipt.erased_at.isoformat()})
    else:
        _print_receipt(receipt)
    raise typer.Exit(1 if receipt.residue else 0)


def _print_receipt(receipt: ErasureReceipt) -> None:
    console = Console()
    if any(receipt.rows.values()) or receipt.residue:
        _print_rows(receipt, console)
    else:
        console.print(Text(f"Nothing was kept about {receipt.person}, so there was nothing to erase."))
    if receipt.mirror is not None:
        console.print(IN_MIRROR[receipt.mirror])
    console.print(NOT_SEARCHED)


def _print_rows(receipt: ErasureReceipt, console: Console) -> None:
    console.print(Text(f"{receipt.person} · erased {receipt.erased_at:%Y-%m-%d %H:%M} UTC"))
    table = Table()
    table.add_column("table")
    table.add_column("rows erased", justify="right")
    for name, rows in receipt.rows.items():
        table.add_row(name, str(rows))
    console.print(table)
    searched = sum(receipt.files.values())
    console.print(
        f"Then {searched:,} bytes in {len(receipt.files)} files were searched for {receipt.pieces} pieces of it."
    )
    if receipt.residue:
        console.print(f"{receipt.residue} still stand there: {', '.join(receipt.where)}. Erase once more.")
    else:
        console.print("Nothing is left.")


async def _noted(app: Application, person: str, action: str, audience: str | None = None) -> None:
    """The operator looked: the person can read so."""
    for scope in await app.system.oversight.scopes_of(person):
        if audience in (None, scope.audience):
            await noted(app, scope, action)


def with_memory(data_dir: Path | None, work: Callable[[Application], Awaitable[T]], *, may_be_new: bool = False) -> T:
    """Open the application for one piece of work of a command, and close it again.

    Args:
        data_dir: the folder that was named on the command line.
        work: what to do.
        may_be_new: whether the database is made where there is none, since the work brings what it is to hold.

    Raises:
        DatabaseUnavailable: there is none, or it cannot be used.
    """
    settings = load_settings({"data_dir": data_dir})
    configure_logs("WARNING")
    file = settings.database_file
    if not may_be_new and file is not None and not file.exists():
        raise DatabaseUnavailable(
            f"There is no database at {file}. Set DATA_DIR or --data-dir to the folder that it is in, or DATABASE_URL."
        )

    async def opened() -> T:
        async with open_application(settings, clock=SystemClock()) as application:
            return await work(application)

    return asyncio.run(opened())


def print_json(value: Any) -> None:
    """Print a value for a program to read."""
    print(json.dumps(value, ensure_ascii=False, indent=2))
