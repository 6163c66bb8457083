"""Whose memory an admin command is about: the person and the scope, as far as the caller reaches; and its row.

Invariant: a scope that the caller does not reach is not told apart from one that does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.commands import (
    Argument,
    Command,
    Group,
    Handler,
    Invocation,
    Kind,
    Services,
    Suggestion,
    acts_everywhere,
    community_of,
)
from memory.errors import InvalidInput
from memory.policy.audience import SHARED_AUDIENCE
from memory.policy.permissions import Access, Authority, access_to
from memory.records import By, Scope, check_audience, check_person

_HIDDEN = "The texts of direct messages are not shown here (SLACK_ADMIN_READS_DMS)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an admin command is about.

    Attributes:
        scope: whose memory, and who could hear it.
        blind: whether its texts must not be shown to the caller.
        by: the caller, for versions and the audit log.
    """

    scope: Scope
    blind: bool
    by: By


async def targets(services: Services, call: Invocation) -> list[Target]:
    """Every scope of the command's person that the caller reaches. Raises InvalidInput."""
    person = check_person(call.arguments.get("person", ""))
    authority = Authority(
        communities=call.caller.admin_of & {community_of(call)},
        everywhere=acts_everywhere(call.caller, services.owners),
        reads_dms=services.admin_reads_dms,
    )
    found = []
    for scope in await services.system.oversight.scopes_of(person):
        access = access_to(authority, scope, await services.system.stores.sessions.communities(scope))
        if access is not Access.NONE:
            found.append(Target(scope=scope, blind=access is Access.BLIND, by=by_caller(call)))
    return found


async def target(services: Services, call: Invocation) -> Target:
    """The one scope that the command is about.

    Without the argument ``audience`` it is the community's own, else that of the conversation, else the only one.

    Raises:
        InvalidInput: there is none, or several to choose from.
    """
    reached = {found.scope.audience: found for found in await targets(services, call)}
    asked = call.arguments.get("audience")
    wanted = [check_audience(asked)] if asked else [SHARED_AUDIENCE, community_of(call), call.conversation.audience]
    for audience in wanted:
        if audience in reached:
            return reached[audience]
    person = call.arguments["person"]
    if not reached or asked:
        where = f" heard by {asked}" if asked else ""
        raise InvalidInput(f"Nothing is remembered about {person}{where} that you may see.")
    if len(reached) > 1:
        raise InvalidInput(f"Choose an audience, as in audience:{min(reached)}. There are: {', '.join(reached)}.")
    return next(iter(reached.values()))


def by_caller(call: Invocation) -> By:
    """The caller, for versions and the audit log."""
    return By() if call.caller.is_operator else By(person=call.caller.person)


def number(call: Invocation, name: str) -> int | None:
    """A numeric argument, or None where it was left out. Raises InvalidInput."""
    given = call.arguments.get(name)
    if given is None:
        return None
    if not (given.isascii() and given.isdigit()):
        raise InvalidInput(f"{given[:40]!r} is no number. Give a number for {name}, as in {name}:3.")
    return int(given)


async def noted(services: Services, about: Target, action: str, detail: str = "") -> None:
    """Write a look into the person's audit log."""
    await services.system.oversight.note(about.scope, by=about.by, action=action, detail=detail)


def with_hint(text: str, about: Target) -> str:
    """The text, with a word on why no remembered text stands in it, where that is so."""
    return f"{text}\n\n{_HIDDEN}" if about.blind else text


async def _suggest_audiences(services: Services, call: Invocation) -> Sequence[Suggestion]:
    return [Suggestion(value=one.scope.audience, label=one.scope.audience) for one in await targets(services, call)]


PERSON = Argument(name="person", help="Whose memory.", kind=Kind.PERSON)
_AUDIENCE = Argument(name="audience", help="Of which conversations.", required=False, suggest=_suggest_audiences)


def about_person(name: str, help_text: str, run: Handler, *arguments: Argument) -> Command:
    """The row of an admin command about a person's memory."""
    return Command(group=Group.MEMORY, name=name, help=help_text, run=run, arguments=(PERSON, *arguments, _AUDIENCE))
