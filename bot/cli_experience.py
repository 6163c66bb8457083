"""keepsake memory episodes | procedures | examples | documents: what happened, how things are done, what is kept.

Invariant: the operator's looks and changes stand in the person's audit log like any admin's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bot import experience_views as views
from bot.application import Application
from bot.cli_memory import AsJson, DataDir, Person, print_json, with_memory
from bot.cli_scope import noted
from bot.cli_versions import Audience, print_text
from bot.experience_names import chosen
from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.policy.audience import reach_of_person, reach_of_scope
from memory.policy.experience_text import training_lines
from memory.policy.text import clean
from memory.records import By, Episode, Passage, Procedure, ProcedureState, Reach, Scope, check_audience, check_person

experience_commands = typer.Typer()

_LISTED = 50


def _named(help_text: str) -> Any:
    return typer.Option(help=help_text, show_default=False)


@experience_commands.command("episodes")
def episodes(  # noqa: PLR0917  # Typer makes options of them
    person: Person,
    query: Annotated[str | None, _named("What it was about, or a day.")] = None,
    forget: Annotated[str | None, _named("The name of one that is not to be found any more.")] = None,
    restore: Annotated[str | None, _named("The name of a forgotten one.")] = None,
    audience: Audience = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """What happened in earlier sessions, newest first; forget one, or bring one back."""

    async def look(app: Application) -> list[Episode]:
        reach, oversight = _reach(person, audience), app.system.oversight
        known = await app.system.stores.episodes.history(reach, limit=10_000, forgotten=True)
        if forget is not None:
            one = chosen(known, forget, "episode")
            return [await oversight.experience.forget_episode(one.scope, one.id, by=By())]
        if restore is not None:
            one = chosen(known, restore, "episode")
            return [await oversight.experience.restore_episode(one.scope, one.id, by=By())]
        await _noted(app, {one.scope for one in known}, "memory episodes")
        if query is None:
            return known[:_LISTED]
        return await oversight.episodes_like(reach, clean(query), limit=_LISTED)

    async def work(app: Application) -> tuple[list[Episode], list[str]]:
        found = await look(app)
        zone = await app.system.stores.preferences.zone(Scope(person=person, audience=audience or "dm"))
        return found, [views.episode_line(one, zone) for one in found]

    found, lines = with_memory(data_dir, work)
    if as_json:
        print_json({"person": person, "episodes": [_episode_row(one) for one in found]})
    else:
        print_text("\n".join(lines) or "No earlier session is told yet: each is once it has ended.")


@experience_commands.command("procedures")
def procedures(  # noqa: PLR0917  # Typer makes options of them
    person: Person,
    approve: Annotated[str | None, _named("Let this one be followed.")] = None,
    retire: Annotated[str | None, _named("Let this one be followed no more.")] = None,
    undo: Annotated[str | None, _named("Take the last change of this one back.")] = None,
    edit: Annotated[str | None, _named("Change this one, to what --text says.")] = None,
    text: Annotated[str, _named("Steps between ; and triggers: a, b; description: ...")] = "",
    audience: Audience = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """How a person wants things done; approve, retire or edit one, or take its last change back."""
    actions = {"approve": approve, "retire": retire, "take_back": undo, "edit": edit}
    wanted = [(action, said) for action, said in actions.items() if said is not None]
    if len(wanted) > 1:
        raise InvalidInput("Choose one of --approve, --retire, --undo and --edit.")

    async def work(app: Application) -> list[Procedure]:
        known, care = await app.system.stores.procedures.all(_reach(person, audience)), app.system.oversight.experience
        if not wanted:
            await _noted(app, {one.scope for one in known}, "memory procedures")
            return known
        [(action, said)] = wanted
        one = chosen(known, said, "procedure", lambda known: known.how_to.name)
        if action == "edit":
            return [await care.edit(one.scope, one, text, by=By())]
        return [await getattr(care, action)(one.scope, one.id, by=By())]

    found = with_memory(data_dir, work)
    if as_json:
        print_json({"person": person, "procedures": [_procedure_row(one) for one in found]})
    elif wanted:
        print_text(views.procedure_whole(found[0]))
    else:
        print_text("\n".join(map(views.procedure_line, found)) or "No procedure is written down yet.")


@experience_commands.command("examples")
def examples(
    person: Person,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output without.")
    ] = None,
    audience: Audience = None,
    data_dir: DataDir = None,
) -> None:
    """The examples of approved procedures as training lines: one JSON object with messages in each line."""

    async def look(app: Application) -> list[Procedure]:
        found = await app.system.stores.procedures.all(_reach(person, audience))
        await _noted(app, {one.scope for one in found}, "memory examples")
        return found

    approved = [one.how_to for one in with_memory(data_dir, look) if one.state is ProcedureState.APPROVED]
    lines = [line for how_to in approved for line in training_lines(how_to)]
    written = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    if output is None:
        print(written, end="")
        return
    try:
        output.write_text(written, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{output} cannot be written: {error.strerror}.") from error
    print(f"{len(lines)} lines written to {output}.", file=sys.stderr)


@experience_commands.command("documents")
def documents(
    person: Person,
    restore: Annotated[str | None, _named("The name of a forgotten one.")] = None,
    audience: Audience = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """The documents in archival memory, the forgotten ones too; bring one back."""

    async def work(app: Application) -> list[Passage]:
        known = await app.system.stores.archival.everything(_reach(person, audience))
        if restore is None:
            await _noted(app, {one.scope for one in known}, "memory documents")
            return known
        one = chosen(known, restore, "document")
        return [await app.system.oversight.experience.restore_document(one.scope, one.id, by=By())]

    found = with_memory(data_dir, work)
    if as_json:
        print_json({"person": person, "documents": [_document_row(one) for one in found]})
    else:
        print_text("\n".join(map(views.document_line, found)) or "No document is kept.")


def _reach(person: str, audience: str | None) -> Reach:
    if audience is None:
        return reach_of_person(person)
    return reach_of_scope(Scope(person=check_person(person), audience=check_audience(audience)))


async def _noted(app: Application, scopes: set[Scope], action: str) -> None:
    for scope in scopes:
        await noted(app, scope, action)


def _episode_row(episode: Episode) -> dict[str, Any]:
    told = episode.narrative
    return {
        "name": handle_of(episode.id),
        "audience": episode.scope.audience,
        "started_at": episode.started_at.isoformat(),
        "duration_minutes": round(episode.duration_minutes, 1),
        "messages": episode.message_count,
        "participants": list(episode.participants),
        "summary": told.summary,
        "goal": told.goal,
        "journey": list(told.journey),
        "outcome": told.outcome,
        "key_moments": [{"kind": one.kind, "what": one.what, "why": one.why} for one in told.key_moments],
        "lessons": list(told.lessons),
        "tags": list(told.tags),
        "importance": told.importance,
        "forgotten": episode.forgotten_reason or None,
    }


def _procedure_row(procedure: Procedure) -> dict[str, Any]:
    how_to = procedure.how_to
    return {
        "id": handle_of(procedure.id),
        "name": how_to.name,
        "audience": procedure.scope.audience,
        "state": procedure.state,
        "version": procedure.version,
        "description": how_to.description,
        "steps": list(how_to.steps),
        "triggers": list(how_to.triggers),
        "difficulty": how_to.difficulty,
        "examples": [{"input": one.input, "output": one.output} for one in how_to.examples],
        "usage_count": procedure.usage_count,
        "success_rate": procedure.success_rate,
    }


def _document_row(passage: Passage) -> dict[str, Any]:
    return {
        "name": handle_of(passage.id),
        "audience": passage.scope.audience,
        "text": passage.content,
        "type": passage.memory_type,
        "importance": passage.importance,
        "stored_at": passage.created_at.isoformat(),
        "last_read_at": passage.last_accessed_at.isoformat(),
        "times_read": passage.access_count,
        "forgotten": passage.forgotten_reason if passage.forgotten_at else None,
    }
