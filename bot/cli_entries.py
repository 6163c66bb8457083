"""keepsake memory store | retrieve | search-url: the entries of one scope.

Invariant: what is found goes to standard output as JSON, everything else to standard error; the operator's looks and
changes stand in the person's audit log like any admin's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.application import Application
from bot.cli_memory import DataDir, print_json, with_memory
from bot.cli_scope import AgentId, LlmEndpoint, SomePerson, endpoint_at, entry_row, headed, named_scope, noted
from bot.cli_versions import Audience
from bot.completion_model import prompt_of
from memory.errors import InvalidInput
from memory.parameters import TreeMode
from memory.policy.audience import reach_of_scope
from memory.policy.distillation import details_of, distilled
from memory.policy.fact_text import text_hash
from memory.policy.metadata import metadata_of
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.ports import ChatModel
from memory.processes.tree_search import TreeFindings
from memory.records import By, Change, NewEntry, Scope, SearchHit, Source, TierEntry

PromptFile = Annotated[
    Path | None,
    typer.Option("--llm-prompt-file", help="Write what a model would be asked to this file, and ask nobody."),
]

entry_commands = typer.Typer()

_LONGEST_TEXT = 1_000  # characters
_DEADLINE_SECONDS = 15.0


@entry_commands.command("store")
def store(  # noqa: PLR0917  # Typer makes options of them
    text: Annotated[str, typer.Option("--text", help="One sentence.", show_default=False)],
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    category: Annotated[str, typer.Option("--category", help="Where it is filed, such as work/projects.")] = "general",
    importance: Annotated[float, typer.Option("--importance", min=0.0, max=1.0)] = 0.5,
    url: Annotated[list[str] | None, typer.Option("--url", help="A link of it; may be repeated.")] = None,
    command: Annotated[list[str] | None, typer.Option("--command", "--cmd", help="A command; may be repeated.")] = None,
    path: Annotated[list[str] | None, typer.Option("--path", help="A file path; may be repeated.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Keep an entry in the recent tier; what is said of links, commands and paths takes the place of what is found."""
    text = _stored_text(text)
    given = {"urls": url, "commands": command, "paths": path}
    told = {name: [clean(value) for value in values] for name, values in given.items() if values}
    metadata = told or metadata_of(text)

    async def keep(app: Application) -> tuple[Scope, TierEntry | None, str]:
        scope = await named_scope(app, person, audience, agent_id)
        if (await app.system.stores.consent.load(scope)).paused_at is not None:
            raise InvalidInput("Memory is paused for this person. Nothing was stored.")
        now, job = app.clock.now(), f"store:{text_hash(text)[:12]}"
        details = {name: value for name, value in details_of(distilled(text)).items() if name not in given}
        new = NewEntry(
            text=text, category=category, importance=importance, created_at=now, metadata={**details, **metadata}
        )
        change = Change(actor=By().actor, reason="memory store", job=job)
        async with app.system.transaction() as tx:
            entry = await app.system.stores.warm.add(scope, tx, new=new, change=change, at=now)
            await app.system.stores.audit.note(scope, tx, actor=By().audited, action="memory store")
        await app.system.embedded()
        return scope, entry, job

    scope, entry, job = with_memory(data_dir, keep, may_be_new=True)
    if entry is None:
        print("The same words are kept already, so nothing was stored.", file=sys.stderr)
        print_json(headed(scope, stored=False))
    else:
        print_json(headed(scope, stored=True, **entry_row(entry), job=job))


@entry_commands.command("retrieve")
def retrieve(  # noqa: PLR0917  # Typer makes options of them
    query: Annotated[str, typer.Option("--query", help="What to look for.", show_default=False)],
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    limit: Annotated[int, typer.Option(min=1, max=50, help="Results at most.")] = 5,
    llm: Annotated[bool, typer.Option("--llm", help="Let a model choose the categories.")] = False,
    llm_endpoint: LlmEndpoint = None,
    llm_prompt_file: PromptFile = None,
    data_dir: DataDir = None,
) -> None:
    """Find entries and facts by the tree of categories; what is found counts as used."""
    query = clean(query)
    if not query:
        raise InvalidInput("--query is empty. Say in a few words what to look for.")
    if llm_prompt_file is not None:

        async def ask(app: Application) -> tuple[Scope, str]:
            return await _prompt(app, await named_scope(app, person, audience, agent_id), query)

        scope, prompt = with_memory(data_dir, ask)
        _write(llm_prompt_file, prompt)
        print_json(headed(scope, query=query, prompt_file=str(llm_prompt_file)))
        return

    async def look(app: Application) -> dict[str, Any]:
        scope = await named_scope(app, person, audience, agent_id)
        mode = TreeMode.LLM if llm or llm_endpoint else None
        async with endpoint_at(llm_endpoint, deadline=_DEADLINE_SECONDS) as model:
            found = await _searched(app, scope, query, limit=limit, mode=mode, model=model)
        if found.routes.note:
            print(found.routes.note, file=sys.stderr)
        hits = found.hits[:limit]
        rows = await _given(app, scope, hits)
        routes = [asdict(route) for route in found.routes.routes]
        return headed(scope, query=query, mode=found.routes.mode, routes=routes, results_count=len(rows), results=rows)

    print_json(with_memory(data_dir, look))


async def _prompt(app: Application, scope: Scope, query: str) -> tuple[Scope, str]:
    """What a model would be asked to choose the categories, and of whom."""
    request = await app.system.tree_search.request(scope, reach_of_scope(scope), query)
    await noted(app, scope, "memory retrieve")
    return scope, prompt_of(request)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}. Name another file.") from error


async def _searched(
    app: Application, scope: Scope, query: str, *, limit: int, mode: TreeMode | None, model: ChatModel | None
) -> TreeFindings:
    reach = reach_of_scope(scope)
    return await app.system.tree_search.search(scope, reach, query, limit=limit, mode=mode, model=model)


async def _given(app: Application, scope: Scope, hits: Sequence[SearchHit]) -> list[dict[str, Any]]:
    """The rows of what was found, which from now on counts as used."""
    keys = [(hit.scope, hit.record_id) for hit in hits if hit.source is Source.ENTRY]
    async with app.system.transaction() as tx:
        await app.system.stores.warm.reinforce(tx, keys, at=app.clock.now())
        await app.system.stores.audit.note(scope, tx, actor=By().audited, action="memory retrieve")
    found = await app.system.stores.warm.get(reach_of_scope(scope), [entry_id for _, entry_id in keys])
    entries = {entry.id: entry for entry in found}
    rows = []
    for hit in hits:
        entry = entries.get(hit.record_id) if hit.source is Source.ENTRY else None
        shown = {"text": hit.text, "created_at": hit.at.isoformat()} if entry is None else entry_row(entry)
        rows.append({"source": hit.source, **shown, "relevance": round(hit.score, 4), "reason": hit.reason})
    return rows


@entry_commands.command("search-url")
def search_url(  # noqa: PLR0917  # Typer makes options of them
    url: Annotated[str, typer.Option("--url", help="A part of the address.", show_default=False)],
    person: SomePerson = None,
    audience: Audience = None,
    agent_id: AgentId = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Results at most.")] = 5,
    data_dir: DataDir = None,
) -> None:
    """Find entries by a part of a link in them, the best first."""
    fragment = clean(url)
    if not fragment:
        raise InvalidInput("--url is empty. Give a part of an address, such as example.org/docs.")

    async def look(app: Application) -> dict[str, Any]:
        scope = await named_scope(app, person, audience, agent_id)
        found = await app.system.stores.warm.with_url(reach_of_scope(scope), fragment, limit=limit)
        await noted(app, scope, "memory search-url")
        return headed(scope, query=fragment, results_count=len(found), results=list(map(entry_row, found)))

    print_json(with_memory(data_dir, look))


def _stored_text(text: str) -> str:
    text = redact(clean(text))
    if not text:
        raise InvalidInput("--text is empty. Say what is to be kept, in one sentence.")
    if len(text) > _LONGEST_TEXT:
        raise InvalidInput(
            f"--text has {len(text):,} characters, and an entry at most {_LONGEST_TEXT:,}. "
            "Cut it, or have `keepsake memory distill` do so."
        )
    return text
