"""Whose memory a command is about: a person with an audience, or both in one word as in the folders of notes.

Invariant: one scope is meant or none; nothing is guessed where a person has several.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import typer

from bot.application import Application
from memory.errors import DatabaseUnavailable, InvalidInput
from memory.policy.audience import scope_of
from memory.ports import ChatModel
from memory.records import By, Scope, TierEntry, check_audience, check_person, scope_from_slug, scope_slug

SomePerson = Annotated[
    str | None, typer.Option("--person", help="discord:ID, slack:TEAM:ID or console:NAME.", show_default=False)
]
AgentId = Annotated[
    str | None,
    typer.Option("--agent-id", help="In place of --person and --audience: the folder in notes/.", show_default=False),
]

LlmEndpoint = Annotated[
    str | None,
    typer.Option("--llm-endpoint", metavar="URL", help="A completion endpoint to ask.", show_default=False),
]

_SLUG = re.compile(r"[A-Za-z0-9_-]+")


def scope_of_id(agent_id: str) -> Scope:
    """The scope that a folder of notes is named after.

    Raises:
        InvalidInput: it is none.
    """
    if not _SLUG.fullmatch(agent_id):
        raise InvalidInput("An agent id holds letters, digits, - and _ alone, as the folders in notes/ of DATA_DIR do.")
    scope = scope_from_slug(agent_id)
    return Scope(person=check_person(scope.person), audience=check_audience(scope.audience))


async def named_scope(app: Application, person: str | None, audience: str | None, agent_id: str | None) -> Scope:
    """The scope that is meant; that of a one-to-one chat where nothing is known of the person yet.

    Raises:
        InvalidInput: it is said twice, not at all, or could be one of several.
    """
    if agent_id is not None:
        if person is not None or audience is not None:
            raise InvalidInput("--agent-id says who and where, so leave out --person and --audience.")
        return scope_of_id(agent_id)
    if person is None:
        raise InvalidInput("Say whose memory is meant: --person console:ann, or --agent-id with a folder in notes/.")
    known = await app.system.oversight.scopes_of(check_person(person))
    if audience is None and len(known) > 1:
        raise InvalidInput(f"Choose one with --audience: {', '.join(scope.audience for scope in known)}.")
    if audience is None and known:
        return known[0]
    return scope_of(person, audience or "dm", app.system.parameters.sharing)


@asynccontextmanager
async def endpoint_at(url: str | None, *, deadline: float) -> AsyncIterator[ChatModel | None]:
    """The model behind a completion endpoint while it is needed; None where no address is given.

    Args:
        url: the address.
        deadline: seconds that an answer may take.

    Raises:
        InvalidInput: it is no address.
    """
    if url is None:
        yield None
        return
    from bot.completion_model import CompletionModel  # aiohttp, which the other commands do without

    model = CompletionModel(url, deadline=deadline)
    try:
        yield model
    finally:
        await model.close()


async def noted(app: Application, scope: Scope, action: str) -> None:
    """The operator looked or changed something: the person can read so.

    Where it cannot be written, as on a full disk, what was looked for is shown all the same.
    """
    try:
        await app.system.oversight.note(scope, by=By(), action=action)
    except DatabaseUnavailable as error:
        print(f"The audit log of {scope.person} could not be written. {error}", file=sys.stderr)


def headed(scope: Scope, **values: Any) -> dict[str, Any]:
    """What a command prints, headed by whom it is about."""
    return {"agent_id": scope_slug(scope), "person": scope.person, "audience": scope.audience, **values}


def entry_row(entry: TierEntry) -> dict[str, Any]:
    """An entry as a command prints it."""
    return {
        "id": entry.handle,
        "text": entry.text,
        "category": entry.category,
        "tier": entry.tier,
        "importance": entry.importance,
        "score": round(entry.score, 4),
        "access_count": entry.access_count,
        "created_at": entry.created_at.isoformat(),
        "metadata": dict(entry.metadata),
    }
