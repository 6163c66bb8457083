"""keepsake consolidate: archive what fades and bring what matters to hand, of everybody or of one person.

Invariant: what is shown are counts and keys, no text of anybody's.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from bot.cli_memory import AsJson, DataDir, print_json, with_memory
from bot.lifecycle import Application
from memory.records import ConsolidationReport, Mode, check_person

consolidation_commands = typer.Typer()


@consolidation_commands.command("consolidate")
def consolidate(
    mode: Annotated[Mode, typer.Option("--mode", help="How thoroughly.")] = Mode.QUICK,
    person: Annotated[str | None, typer.Option("--person", help="Only this one.", show_default=False)] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Archive what fades and bring what matters to hand, of everybody or of one person."""
    if person is not None:
        check_person(person)
        _of_one(person, mode, data_dir=data_dir, as_json=as_json)
        return
    console = Console(stderr=True)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("Consolidating", total=None)
        done = with_memory(
            data_dir,
            lambda app: app.system.consolidator.run_all(
                mode, progress=lambda seen, whole: bar.update(task, completed=seen, total=max(seen, whole))
            ),
        )
    if as_json:
        print_json({"mode": mode.value, "scopes": done})
    else:
        Console(markup=False, highlight=False).print(f"Consolidated {done:,} scopes ({mode.value}).")


def _of_one(person: str, mode: Mode, *, data_dir: DataDir, as_json: bool) -> None:
    async def run(app: Application) -> list[ConsolidationReport]:
        scopes = await app.system.privacy.scopes_of(person)
        return [await app.system.consolidator.run(scope, mode) for scope in scopes]

    reports = with_memory(data_dir, run)
    if as_json:
        rows = [
            {**asdict(report), "scope": str(report.scope), "at": report.at.isoformat(), "job": report.job}
            for report in reports
        ]
        print_json({"reports": rows})
        return
    console = Console(markup=False, highlight=False)
    for report in reports:
        console.print(
            f"{report.scope}: {report.archived_cold} archived, {report.promoted} brought to hand, "
            f"{report.pruned_nodes} categories pruned. To take it back: {report.job}"
        )
        for finding in report.tree_findings:
            console.print(f"  {finding}")
