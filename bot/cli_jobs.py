"""keepsake jobs list | retry: the work that failed for good and waits for the operator.

Invariant: what is shown of a job is no text of anybody's: its key, whose it is, and the error.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.application import Application
from bot.cli_memory import AsJson, DataDir, Person, print_json, with_memory
from memory.errors import InvalidInput
from memory.records import check_person

jobs_commands = typer.Typer(help="Look at the work that failed for good, and let it be tried again.")


@jobs_commands.command("list")
def list_jobs(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """The jobs that failed so often that they were set aside."""
    found = with_memory(data_dir, lambda app: app.system.stores.jobs.dead())
    if as_json:
        rows = [
            {
                "key": job.key,
                "person": job.scope.person,
                "audience": job.scope.audience,
                "kind": job.kind,
                "attempts": job.attempts,
                "created_at": job.created_at.isoformat(),
                "last_error": job.last_error,
            }
            for job in found
        ]
        print_json({"jobs": rows})
        return
    console = Console()
    if not found:
        console.print("No job has failed for good.")
        return
    table = Table("key", "person", "heard by", "kind", "attempts", "last error")
    for job in found:
        texts = (job.key, job.scope.person, job.scope.audience, job.kind, str(job.attempts), job.last_error or "")
        table.add_row(*map(Text, texts))
    console.print(table)


@jobs_commands.command("retry")
def retry(
    key: Annotated[str, typer.Argument(help="As list shows it.")],
    person: Person,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a person's failed job be tried again; a bot that is running takes it up within a minute."""
    check_person(person)

    async def again(app: Application) -> int:
        jobs = app.system.stores.jobs
        found = [job for job in await jobs.dead() if job.scope.person == person and job.key == key]
        if not found:
            raise InvalidInput(f"{person} has no failed job {key!r}. See: keepsake jobs list.")
        async with app.system.transaction() as tx:
            for job in found:
                await jobs.retry(job.scope, tx, key=job.key, at=app.clock.now())
        return len(found)

    count = with_memory(data_dir, again)
    if as_json:
        print_json({"person": person, "key": key, "retried": count})
    else:
        Console(markup=False, highlight=False).print(f"{key} of {person} will be tried again.")
