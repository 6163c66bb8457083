"""keepsake memory facts | history | revert | forget | correct | pin | unpin: what is known of a person, fact by fact.

Invariant: the operator's looks and changes stand in the person's audit log like any admin's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bot import fact_views as views
from bot.application import Application
from bot.cli_memory import AsJson, DataDir, Person, print_json, with_memory
from bot.cli_scope import noted
from bot.cli_versions import Audience, Yes, confirm_change, print_text
from bot.fact_names import chosen_fact, chosen_revision, of_fact
from memory.ids import handle_of
from memory.policy.audience import reach_of_person, reach_of_scope
from memory.policy.fact_text import graph_triples, nested, profile_lines, sentences
from memory.records import By, Fact, FactRevision, Reach, Scope, check_audience, check_person

fact_commands = typer.Typer()

Named = Annotated[str, typer.Argument(help="Its name in the list of facts, or words of it.", show_default=False)]

_ALL_CHANGES = 10_000

Change = Callable[[Application, Fact], Awaitable[Fact]]


class Form(StrEnum):
    """The forms in which facts can be printed."""

    PROFILE = "profile"
    SENTENCES = "sentences"
    NESTED = "nested"
    TRIPLES = "triples"


_FORMS: dict[Form, Callable[[Sequence[Fact]], str]] = {
    Form.PROFILE: profile_lines,
    Form.SENTENCES: sentences,
    Form.NESTED: lambda found: json.dumps(nested(found), ensure_ascii=False, indent=2),
    Form.TRIPLES: lambda found: "\n".join(graph_triples(found)),
}


@fact_commands.command("facts")
def facts(
    person: Person,
    audience: Audience = None,
    form: Annotated[Form | None, typer.Option("--form", help="Print them in another form.", show_default=False)] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """The facts that are known about a person, newest first."""

    async def look(app: Application) -> list[Fact]:
        found = await _current(app, person, audience)
        await _noted(app, {fact.scope for fact in found}, "memory facts")
        return found

    found = with_memory(data_dir, look)
    if as_json:
        print_json({"person": person, "facts": [_as_row(fact) for fact in found]})
    elif form is not None:
        print_text(_FORMS[form](found) or "No facts are known.")
    else:
        print_text("\n".join(views.fact_line(fact) for fact in found) or "No facts are known.")


@fact_commands.command("history")
def history(  # noqa: PLR0917  # Typer makes options of them
    person: Person,
    fact: Annotated[str | None, typer.Option("--fact", help="Only this one.", show_default=False)] = None,
    audience: Audience = None,
    limit: Annotated[int, typer.Option(min=1, max=_ALL_CHANGES, help="Changes at most.")] = 50,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """What was learned, changed and forgotten, newest first."""

    async def look(app: Application) -> list[FactRevision]:
        found = await _changes(app, person, audience)
        shown = (found if fact is None else of_fact(found, fact))[:limit]
        await _noted(app, {one.scope for one in shown}, "memory history")
        return shown

    found = with_memory(data_dir, look)
    if as_json:
        print_json({"person": person, "revisions": [_revision_row(one) for one in found]})
    else:
        print_text(views.history(found) or "No fact was ever learned.")


@fact_commands.command("revert")
def revert(  # noqa: PLR0917  # Typer makes options of them
    revision: Annotated[str, typer.Argument(help="Its name in the history.", show_default=False)],
    person: Person,
    audience: Audience = None,
    yes: Yes = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take one change of one fact back."""

    async def preview(app: Application) -> tuple[Fact, Fact]:
        one = chosen_revision(await _changes(app, person, audience), revision)
        return await app.system.oversight.facts.without(one.scope, one.id)

    async def change(app: Application) -> tuple[Fact, Fact]:
        one = chosen_revision(await _changes(app, person, audience), revision)
        return await app.system.oversight.facts.revert(one.scope, one.id, by=By())

    if not yes:
        confirm_change(views.change(*with_memory(data_dir, preview)), "Revert it?")
    before, after = with_memory(data_dir, change)
    if as_json:
        print_json({"person": person, "reverted": revision, "fact": _as_row(after)})
    else:
        print_text(f"Reverted, as a new change:\n{views.change(before, after)}")


@fact_commands.command("forget")
def forget(  # noqa: PLR0917  # Typer makes options of them
    fact: Named,
    person: Person,
    audience: Audience = None,
    yes: Yes = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Forget a fact. Nothing said before brings it back."""

    async def change(app: Application, known: Fact) -> Fact:
        return await app.system.oversight.facts.forget(known.scope, known.id, by=By())

    known = _chosen(data_dir, person, audience, fact)
    if not yes:
        confirm_change(views.fact_line(known), "Forget it?")
    _changed("Forgotten", change, known, data_dir, as_json=as_json)


@fact_commands.command("correct")
def correct(  # noqa: PLR0917  # Typer makes options of them
    fact: Named,
    text: Annotated[str, typer.Argument(help="What is right, in one short sentence.", show_default=False)],
    person: Person,
    audience: Audience = None,
    yes: Yes = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Put other words in place of a fact. Nothing said before brings the old ones back."""

    async def change(app: Application, known: Fact) -> Fact:
        return await app.system.oversight.facts.correct(known.scope, known.id, text, by=By())

    known = _chosen(data_dir, person, audience, fact)
    if not yes:
        confirm_change(f"{views.fact_line(known)}\nbecomes: {text}", "Correct it?")
    _changed("Corrected", change, known, data_dir, as_json=as_json)


@fact_commands.command("pin")
def pin(
    fact: Named, person: Person, audience: Audience = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Keep a fact, whatever is learned later."""
    known = _chosen(data_dir, person, audience, fact)
    _changed("Pinned", _pinning(pinned=True), known, data_dir, as_json=as_json)


@fact_commands.command("unpin")
def unpin(
    fact: Named, person: Person, audience: Audience = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Let a pinned fact be changed again."""
    known = _chosen(data_dir, person, audience, fact)
    _changed("No longer pinned", _pinning(pinned=False), known, data_dir, as_json=as_json)


def _pinning(*, pinned: bool) -> Change:
    async def change(app: Application, known: Fact) -> Fact:
        return await app.system.oversight.facts.pin(known.scope, known.id, pinned=pinned, by=By())

    return change


def _chosen(data_dir: Path | None, person: str, audience: str | None, said: str) -> Fact:
    async def look(app: Application) -> Fact:
        return chosen_fact(await _current(app, person, audience), said)

    return with_memory(data_dir, look)


def _changed(done: str, change: Change, known: Fact, data_dir: Path | None, *, as_json: bool) -> None:
    fact = with_memory(data_dir, lambda app: change(app, known))
    if as_json:
        print_json({"person": fact.scope.person, "fact": _as_row(fact)})
    else:
        print_text(f"{done}: {views.fact_line(fact)}")


async def _current(app: Application, person: str, audience: str | None) -> list[Fact]:
    found = await app.system.stores.facts.within(_reach(person, audience))
    return sorted(found, key=lambda fact: (fact.updated_at, fact.id), reverse=True)


async def _changes(app: Application, person: str, audience: str | None) -> list[FactRevision]:
    return await app.system.stores.facts.history(_reach(person, audience), limit=_ALL_CHANGES)


def _reach(person: str, audience: str | None) -> Reach:
    if audience is None:
        return reach_of_person(person)
    return reach_of_scope(Scope(person=check_person(person), audience=check_audience(audience)))


async def _noted(app: Application, scopes: set[Scope], action: str) -> None:
    for scope in scopes:
        await noted(app, scope, action)


def _as_row(fact: Fact) -> dict[str, Any]:
    return {
        "name": handle_of(fact.id),
        "text": fact.text,
        "subject": fact.subject,
        "predicate": fact.predicate,
        "object": fact.object,
        "audience": fact.scope.audience,
        "category": fact.category,
        "confidence": fact.confidence,
        "state": fact.state,
        "pinned": fact.pinned,
        "learned_at": fact.created_at.isoformat(),
        "updated_at": fact.updated_at.isoformat(),
        "valid_from": fact.valid_from.isoformat() if fact.valid_from else None,
        "expires_at": fact.expires_at.isoformat() if fact.expires_at else None,
        "source_message": None if fact.source_message is None else str(fact.source_message),
    }


def _revision_row(revision: FactRevision) -> dict[str, Any]:
    change = revision.change
    return {
        "name": handle_of(revision.id),
        "fact": handle_of(revision.fact_id),
        "audience": revision.scope.audience,
        "action": revision.action,
        "before": revision.before,
        "after": revision.after,
        "candidate": revision.candidate,
        "changed_at": revision.changed_at.isoformat(),
        "actor": change.actor,
        "reason": change.reason,
        "source_message": None if change.source_message is None else str(change.source_message),
        "session": None if change.session_id is None else str(change.session_id),
        "job": change.job,
    }
