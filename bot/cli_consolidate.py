"""keepsake memory consolidate, also keepsake consolidate: archive what fades and bring what matters to hand.

Invariant: what is shown are counts and keys, no text of anybody's; it goes to standard output as JSON, everything else
to standard error.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from bot.application import Application
from bot.cli_memory import DataDir, print_json, with_memory
from bot.cli_scope import AgentId, SomePerson, headed, named_scope
from bot.cli_versions import Audience
from memory.records import ConsolidationReport, Mode, check_person

consolidation_commands = typer.Typer()


@consolidation_commands.command("consolidate")
def consolidate(
    mode: Annotated[Mode, typer.Option("--mode", help="How thoroughly.")] = Mode.QUICK,
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    data_dir: DataDir = None,
) -> None:
    """Archive what fades and bring what matters to hand, of everybody, of one person or of one scope."""
    if person is not None or agent_id is not None:
        print_json({"reports": with_memory(data_dir, lambda app: _reports(app, mode, person, audience, agent_id))})
        return
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Consolidating", total=None)
        done = with_memory(
            data_dir,
            lambda app: app.system.consolidator.run_all(
                mode, progress=lambda seen, whole: bar.update(task, completed=seen, total=max(seen, whole))
            ),
        )
    print_json({"mode": mode.value, "scopes": done})


async def _reports(
    app: Application, mode: Mode, person: str | None, audience: str | None, agent_id: str | None
) -> list[dict[str, Any]]:
    """What was done in the scope that is named, or in all of the person's."""
    if person is not None and audience is None and agent_id is None:
        scopes = await app.system.oversight.scopes_of(check_person(person))
    else:
        scopes = [await named_scope(app, person, audience, agent_id)]
    return [_as_row(await app.system.consolidator.run(scope, mode)) for scope in scopes]


def _as_row(report: ConsolidationReport) -> dict[str, Any]:
    counts = {name: value for name, value in asdict(report).items() if name not in ("id", "mode", "scope", "at")}
    whose = headed(report.scope)
    return {"mode": report.mode, **whose, "timestamp": report.at.isoformat(), **counts, "job": report.job}
