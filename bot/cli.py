"""The command line: keepsake run | chat | doctor | backup | restore | memory ... | jobs ...

Invariant: data goes to standard output, everything else to standard error; a known failure is one plain sentence
and exit code 1, wrong use is exit code 2.
"""

from __future__ import annotations

import asyncio
import gc
import getpass
import io
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.bootstrap import run_console, run_platforms, slack_manifest
from bot.chat import AdapterStartFailed
from bot.cli_backup import backup_commands
from bot.cli_consolidate import consolidation_commands
from bot.cli_distill import distill_commands
from bot.cli_entries import entry_commands
from bot.cli_experience import experience_commands
from bot.cli_facts import fact_commands
from bot.cli_import import import_commands
from bot.cli_jobs import jobs_commands
from bot.cli_memory import memory_commands
from bot.cli_notes import note_commands
from bot.cli_tiers import tier_commands
from bot.cli_versions import version_commands
from bot.config import Settings, load_settings
from bot.env_file import unknown_names
from bot.logs import configure_logs
from memory.errors import MemorySystemError
from memory.records import check_audience, check_person

app = typer.Typer(
    name="keepsake",
    help="A Discord and Slack bot that remembers each person it talks to, for years.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
memory_commands.add_typer(import_commands)
memory_commands.add_typer(version_commands)
memory_commands.add_typer(fact_commands)
memory_commands.add_typer(experience_commands)
for tier_group in (entry_commands, tier_commands, distill_commands, note_commands, consolidation_commands):
    memory_commands.add_typer(tier_group)
app.add_typer(backup_commands)
app.add_typer(memory_commands, name="memory")
app.add_typer(jobs_commands, name="jobs")
app.add_typer(consolidation_commands)

# A start makes hundreds of thousands of objects that all stay: to look for garbage among every 700 of them, as Python
# does by default, is a tenth of its work. The bot goes back to that once it has started.
_YOUNG_OBJECTS = 20_000

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder for the database; wins over DATA_DIR.", show_default=False)
]


@app.command()
def run(data_dir: DataDir = None) -> None:
    """Start every platform that has its tokens; with none, chat in this terminal."""
    settings = load_settings({"data_dir": data_dir})
    _warn_of_unknown_settings()
    if settings.discord_token is None and settings.slack_bot_token is None:
        asyncio.run(run_console(settings, name=_login_name(), audience="dm"))
    else:
        asyncio.run(run_platforms(settings))


@app.command()
def chat(
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="Who is talking: console:NAME.")] = "",
    audience: Annotated[
        str, typer.Option(help="Who hears it: dm, guild:ID, team:ID or channel:ID.", metavar="AUDIENCE")
    ] = "dm",
    at: Annotated[
        bool,
        typer.Option(
            "--at",
            help="Each line begins with the time it was said: 2023-05-08T13:56:00Z Hello. For old conversations.",
        ),
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Chat here. In a pipe one line is one message and gets one reply."""
    settings = load_settings({"data_dir": data_dir})
    _warn_of_unknown_settings()
    name = name or _login_name()
    check_person(f"console:{name}")
    check_audience(audience)
    asyncio.run(run_console(settings, name=name, audience=audience, replay=at))


@app.command()
def doctor(
    data_dir: DataDir = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    online: Annotated[
        bool, typer.Option("--online", help="Ask Discord and Slack too, which intent, permission or scope is missing.")
    ] = False,
) -> None:
    """Check settings, database, disk, embedder, index and tokens."""
    from bot.doctor import examine, show

    configure_logs("WARNING")
    settings = load_settings({"data_dir": data_dir})
    _warn_of_unknown_settings()
    findings = asyncio.run(examine(settings, online=online))
    show(findings, as_json=as_json)
    raise typer.Exit(1 if any(finding.failed for finding in findings) else 0)


@app.command("slack-manifest")
def print_slack_manifest() -> None:
    """Print the manifest from which the Slack app is made."""
    print(json.dumps(slack_manifest(), indent=2))


def _warn_of_unknown_settings() -> None:
    for sentence in unknown_names(Path(".env"), {name.upper() for name in Settings.model_fields}):
        typer.echo(f"WARNING: {sentence}", err=True)


def main() -> None:
    """The entry point. Known failures become one sentence on standard error."""
    gc.set_threshold(_YOUNG_OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # As the input is read: people write in every script. An argument may be no text; in JSON its escape is one.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        app()
    except (MemorySystemError, AdapterStartFailed) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # nobody reads our output any more; without this, Python complains when it flushes it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _login_name() -> str:
    name = "".join(letter for letter in getpass.getuser() if letter.isalnum() or letter in "-_.")
    return name or "you"
