"""keepsake memory summary | rollback | undo | audit | end-session: what changed a person's memory, and taking it back.

Invariant: the operator's looks and changes stand in the person's audit log like any admin's.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from bot import command_views as views
from bot.application import Application
from bot.cli_memory import AsJson, DataDir, Person, print_json, with_memory
from memory.errors import InvalidInput
from memory.policy.audience import reach_of_person, reach_of_scope
from memory.policy.diff import diff_lines
from memory.processes.undo import Undone, origin_of
from memory.records import By, Origin, Scope, SummaryVersion, check_audience, check_person

version_commands = typer.Typer()

Audience = Annotated[
    str | None,
    typer.Option("--audience", help="Who could hear it, where there are several.", show_default=False),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

_AUDIT_ENTRIES = 1_000


@version_commands.command("summary")
def summary(
    person: Person,
    version: Annotated[int | None, typer.Option("--version", help="Print this one.", show_default=False)] = None,
    audience: Audience = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """The versions of the summary, and what the newest changed."""

    async def look(app: Application) -> list[SummaryVersion]:
        scope, summaries = await _scope(app, person, audience), app.system.stores.summaries
        found = await summaries.versions(scope) if version is None else [await summaries.get(scope, version)]
        await app.system.oversight.note(scope, by=By(), action="memory summary")
        return found

    found = with_memory(data_dir, look)
    if as_json:
        changed = diff_lines(found[1].text, found[0].text) if len(found) > 1 else []
        print_json({"person": person, "versions": [_as_row(one) for one in found], "diff": changed})
    elif version is not None:
        print_text(f"{views.version_line(found[0])}\n{found[0].text}")
    else:
        print_text("\n".join(f"- {views.version_line(one)}" for one in found) or "There is no summary yet.")
        if len(found) > 1:
            print_text(f"\nWhat version {found[0].version} changed:\n{_difference(found[1].text, found[0].text)}")


@version_commands.command("rollback")
def rollback(  # noqa: PLR0917  # Typer makes options of them
    version: Annotated[int, typer.Argument(help="The version to go back to.", min=0)],
    person: Person,
    block: Annotated[
        str | None, typer.Option("--block", help="persona or human, not the summary.", show_default=False)
    ] = None,
    audience: Audience = None,
    yes: Yes = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Go back to an earlier version of the summary or of core memory."""

    async def preview(app: Application) -> tuple[str, str]:
        return await app.system.oversight.undo.texts(await _scope(app, person, audience), block, version)

    async def change(app: Application) -> int:
        scope, undo = await _scope(app, person, audience), app.system.oversight.undo
        if block is None:
            return (await undo.summary_to(scope, version, by=By())).version
        return (await undo.block_to(scope, block, version, by=By())).version

    if not yes:
        before, after = with_memory(data_dir, preview)
        confirm_change(_difference(before, after), "Roll back?")
    made = with_memory(data_dir, change)
    if as_json:
        print_json({"person": person, "what": block or "summary", "version": made, "text_of": version})
    else:
        print_text(f"Version {made} of {block or 'the summary'} is the text of version {version}.")


@version_commands.command("undo")
def undo(  # noqa: PLR0917  # Typer makes options of them
    session: Annotated[str, typer.Argument(help="A session's number, or a job's key, as in close_session:42.")],
    person: Person,
    audience: Audience = None,
    yes: Yes = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take back everything that one session or one job changed."""
    origin: Origin = origin_of(session)

    async def preview(app: Application) -> Undone:
        return await app.system.oversight.undo.preview(await _scope(app, person, audience), origin)

    async def change(app: Application) -> Undone:
        return await app.system.oversight.undo.take_back(await _scope(app, person, audience), origin, by=By())

    if not yes:
        planned = with_memory(data_dir, preview)
        if planned.texts:
            shown = [f"{name}:\n{_difference(before, after)}" for name, (before, after) in planned.texts.items()]
            confirm_change("\n".join([*shown, *planned.notes]), "Take it back?")
    undone = with_memory(data_dir, change)
    if as_json:
        print_json({"person": person, "changed": list(undone.texts), "notes": list(undone.notes)})
    else:
        print_text("\n".join([f"Taken back, as a new version: {name}." for name in undone.texts] + [*undone.notes]))
    raise typer.Exit(0 if undone.texts else 1)


@version_commands.command("audit")
def audit(person: Person, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Who looked at or changed a person's memory."""
    check_person(person)
    entries = with_memory(
        data_dir, lambda app: app.system.stores.audit.recent(reach_of_person(person), limit=_AUDIT_ENTRIES)
    )
    if as_json:
        rows = [
            {**asdict(entry), "scope": entry.scope.audience, "at": entry.at.isoformat(), "id": str(entry.id)}
            for entry in entries
        ]
        print_json({"person": person, "entries": rows})
    else:
        print_text(views.audit(entries))


@version_commands.command("end-session")
def end_session(person: Person, audience: Audience = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """End a person's open conversations and sum them up."""

    async def end(app: Application) -> list[str]:
        scope = await _scope(app, person, audience)
        found = await app.system.stores.sessions.all_open(reach_of_scope(scope))
        for session in found:
            await app.system.oversight.end_session(session, by=By())
        await app.system.settle()
        return [str(session.id) for session in found]

    ended = with_memory(data_dir, end)
    if as_json:
        print_json({"person": person, "ended": ended})
    else:
        print_text("\n".join(f"Ended session {session_id}." for session_id in ended) or "There is no open session.")


async def _scope(app: Application, person: str, audience: str | None) -> Scope:
    """The scope that is meant. Raises InvalidInput where there is none, or several to choose from."""
    scopes = {scope.audience: scope for scope in await app.system.oversight.scopes_of(check_person(person))}
    if audience is not None:
        check_audience(audience)
    if not scopes or (audience is not None and audience not in scopes):
        raise InvalidInput(f"Nothing is kept about {person}{f' heard by {audience}' if audience else ''}.")
    if audience is None and len(scopes) > 1:
        raise InvalidInput(f"Choose one with --audience: {', '.join(scopes)}.")
    return scopes[audience or next(iter(scopes))]


def _as_row(version: SummaryVersion) -> dict[str, Any]:
    change = version.change
    return {
        "version": version.version,
        "text": version.text,
        "words": version.words,
        "changed_at": version.changed_at.isoformat(),
        "actor": change.actor,
        "reason": change.reason,
        "session": None if change.session_id is None else str(change.session_id),
        "job": change.job,
    }


def _difference(before: str, after: str) -> str:
    return "\n".join(diff_lines(before, after))


def confirm_change(shown: str, question: str) -> None:
    """Ask before a change. Raises typer.Exit where the answer is no."""
    print(shown, file=sys.stderr)
    if not typer.confirm(question, err=True):
        print("Nothing was changed.", file=sys.stderr)
        raise typer.Exit(1)


def print_text(text: str) -> None:
    """Print for people, without any markup."""
    Console(markup=False, highlight=False, soft_wrap=True).print(text)
