"""keepsake memory ingest-daily | validate: what people write in their notes.

Invariant: the result goes to standard output as JSON, everything else to standard error.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.application import Application
from bot.cli_distill import read_text_file
from bot.cli_memory import DataDir, print_json, with_memory
from bot.cli_scope import AgentId, LlmEndpoint, SomePerson, endpoint_at, headed, named_scope, noted
from bot.cli_versions import Audience
from memory.policy.completeness import Completeness, completeness_of
from memory.policy.daily_notes import note_name, own_part

note_commands = typer.Typer()

_DEADLINE_SECONDS = 30.0
_MOST_WARNINGS = 255
"""The largest exit code that there is."""


@note_commands.command("ingest-daily")
def ingest_daily(  # noqa: PLR0917  # Typer makes options of them
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    days: Annotated[int, typer.Option("--days", min=1, max=36_500, help="Of notes with a day for a name.")] = 2,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Keep nothing, and tell what would be.")] = False,
    llm_endpoint: LlmEndpoint = None,
    data_dir: DataDir = None,
) -> None:
    """Take in the notes of the last days that are new or were changed, and all others whose name is no day."""

    async def read(app: Application) -> dict[str, Any]:
        scope = await named_scope(app, person, audience, agent_id)
        job = f"ingest:{int(app.clock.now().timestamp() * 1_000)}"
        async with endpoint_at(llm_endpoint, deadline=_DEADLINE_SECONDS) as model:
            found = await app.system.ingest.read(scope, job=job, days=days, dry_run=dry_run, model=model)
        await noted(app, scope, "memory ingest-daily")
        await app.system.embedded()
        for sentence in found.refused:
            print(sentence, file=sys.stderr)
        return headed(scope, **asdict(found), dry_run=dry_run, job=job if found.facts_stored else None)

    print_json(with_memory(data_dir, read, may_be_new=True))


@note_commands.command("validate")
def validate(  # Typer makes options of them
    file: Annotated[
        Path | None, typer.Option("--file", help="A note; without it, that of today.", show_default=False)
    ] = None,
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    data_dir: DataDir = None,
) -> None:
    """Tell what a note lacks to be of use later. The exit code is the number of warnings."""
    if file is not None:
        name, note = str(file), read_text_file(file) if file.exists() else None
    else:
        name, note = with_memory(data_dir, lambda app: _todays(app, person, audience, agent_id))
    if note is None:
        found = Completeness(warnings=(f"There is no note {name}.",), suggestions=("Write down what happened today.",))
    else:
        found = completeness_of(own_part(note))
    print_json(
        {
            "file": name,
            "status": "warning" if found.warnings else "ok",
            "warnings_count": len(found.warnings),
            "warnings": list(found.warnings),
            "suggestions": list(found.suggestions),
        }
    )
    raise typer.Exit(min(len(found.warnings), _MOST_WARNINGS))


async def _todays(
    app: Application, person: str | None, audience: str | None, agent_id: str | None
) -> tuple[str, str | None]:
    """The name and the text of the note of today."""
    scope = await named_scope(app, person, audience, agent_id)
    name = note_name(app.clock.now().astimezone(app.system.parameters.zone).date())
    return name, await app.system.ingest.note(scope, name)
