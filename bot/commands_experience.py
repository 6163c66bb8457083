"""The commands around episodes, procedures and documents: see, forget, bring back, approve, edit, retire.

Invariant: as in ``bot/commands_mydata.py`` and ``bot/commands_memory.py``, whose rows these join. Nobody approves or
edits what they may not read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot import experience_views as views
from bot.command_targets import Target, about_person, noted, target, with_hint
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Services, Suggest, Suggestion
from bot.experience_names import chosen
from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.policy.audience import reach_of_person, reach_of_scope
from memory.policy.text import clean
from memory.records import By, Episode, Passage, Procedure, ProcedureState, Reach, Scope

_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """Whose memory a call is about: the caller's own, or somebody's as far as the caller reaches."""

    reach: Reach
    scope: Scope
    by: By
    blind: bool = False
    about: Target | None = None


async def _own(services: Services, call: Invocation) -> _Subject:
    person = call.caller.person
    scope = Scope(person=person, audience="dm")
    return _Subject(reach=reach_of_person(person), scope=scope, by=By(person=person, own=True))


async def _somebodys(services: Services, call: Invocation) -> _Subject:
    about = await target(services, call)
    return _Subject(reach=reach_of_scope(about.scope), scope=about.scope, by=about.by, blind=about.blind, about=about)


Whose = Callable[[Services, Invocation], Awaitable[_Subject]]


async def _answer(services: Services, subject: _Subject, looked_at: str, text: str) -> CommandReply:
    if subject.about is None:
        return CommandReply(text=text)
    await noted(services, subject.about, f"memory {looked_at}")
    return CommandReply(text=with_hint(text, subject.about))


# episodes


def _episodes(whose: Whose) -> Callable[[Services, Invocation], Awaitable[CommandReply]]:
    async def run(services: Services, call: Invocation) -> CommandReply:
        subject, care = await whose(services, call), services.system.oversight.experience
        store, arguments = services.system.stores.episodes, call.arguments
        zone = await services.system.stores.preferences.zone(subject.scope)
        known = await store.history(subject.reach, limit=1_000, forgotten=True)
        if "forget" in arguments:
            one = chosen(known, arguments["forget"], "episode")
            one = await care.forget_episode(one.scope, one.id, by=subject.by)
            return CommandReply(text=f"Found no more, until you restore it:\n{_line(one)}")
        if "restore" in arguments:
            one = chosen(known, arguments["restore"], "episode")
            one = await care.restore_episode(one.scope, one.id, by=subject.by)
            return CommandReply(text=f"Back again:\n{_line(one)}")
        if "query" not in arguments:
            shown = views.episode_list(known[:_LISTED], zone, blind=subject.blind)
            text = shown if known else "No earlier session is told yet: each is once it has ended."
            return await _answer(services, subject, "episodes", text)
        return await _answer(services, subject, "episodes", await _found(services, subject, arguments["query"], known))

    def _line(one: Episode) -> str:
        return f"`{handle_of(one.id)}`, {one.started_at:%Y-%m-%d}"

    return run


async def _found(services: Services, subject: _Subject, query: str, known: Sequence[Episode]) -> str:
    zone = await services.system.stores.preferences.zone(subject.scope)
    named = next((one for one in known if handle_of(one.id) == query.strip().lower()), None)
    if named is not None:
        return views.episode_list([named], zone, blind=True) if subject.blind else views.episode_whole(named, zone)
    oversight = services.system.oversight
    found = await oversight.episodes_like(subject.reach, clean(query), limit=_LISTED)
    return views.episode_list(found, zone, blind=subject.blind) if found else "No episode fits that."


# procedures


def _procedures(whose: Whose) -> Callable[[Services, Invocation], Awaitable[CommandReply]]:
    async def run(services: Services, call: Invocation) -> CommandReply:
        subject = await whose(services, call)
        known = await services.system.stores.procedures.all(subject.reach)
        action = next((name for name in _ACTIONS if name in call.arguments), None)
        if action is not None:
            return await _act(services, call, subject, action, known)
        if "text" in call.arguments and not subject.blind:
            one = chosen(known, call.arguments["text"], "procedure", _name_of)
            versions = await services.system.stores.procedure_versions.of(subject.reach, one.id)
            return await _answer(services, subject, "procedures", views.procedure_whole(one, versions))
        if not known:
            return await _answer(services, subject, "procedures", "No procedure is written down yet.")
        text = views.procedure_list(known, blind=subject.blind)
        return await _answer(services, subject, "procedures", text)

    return run


_ACTIONS = ("approve", "retire", "undo", "edit")


async def _act(
    services: Services, call: Invocation, subject: _Subject, action: str, known: Sequence[Procedure]
) -> CommandReply:
    if subject.blind and action in ("approve", "edit"):
        raise InvalidInput("You may not read this procedure, so you cannot approve or edit it.")
    care = services.system.oversight.experience
    one = chosen(known, call.arguments[action], "procedure", _name_of)
    match action:
        case "approve":
            after = await care.approve(one.scope, one.id, by=subject.by)
        case "retire":
            after = await care.retire(one.scope, one.id, by=subject.by)
        case "undo":
            after = await care.take_back(one.scope, one.id, by=subject.by)
        case _:
            after = await care.edit(one.scope, one, call.arguments.get("text", ""), by=subject.by)
    shown = views.procedure_list([after], blind=True) if subject.blind else views.procedure_whole(after)
    force = "It is followed from now on." if after.state is ProcedureState.APPROVED else "It is not followed."
    return CommandReply(text=f"{force} `undo` takes this change back.\n{shown}")


def _name_of(procedure: Procedure) -> str:
    return procedure.how_to.name


# documents


def _documents(whose: Whose) -> Callable[[Services, Invocation], Awaitable[CommandReply]]:
    async def run(services: Services, call: Invocation) -> CommandReply:
        subject = await whose(services, call)
        known: list[Passage] = await services.system.stores.archival.everything(subject.reach)
        if "restore" in call.arguments:
            one = chosen(known, call.arguments["restore"], "document")
            care = services.system.oversight.experience
            one = await care.restore_document(one.scope, one.id, by=subject.by)
            return CommandReply(text=f"Back again:\n{views.document_list([one], blind=subject.blind)}")
        shown = views.document_list(known[:_LISTED], blind=subject.blind) if known else "No document is kept."
        return await _answer(services, subject, "documents", shown)

    return run


async def _suggest_own_procedures(services: Services, call: Invocation) -> Sequence[Suggestion]:
    found = await services.system.stores.procedures.all(reach_of_person(call.caller.person), limit=25)
    return [Suggestion(value=handle_of(one.id), label=f"{one.how_to.name} ({one.state})") for one in found]


def _named(name: str, help_text: str, suggest: Suggest | None = None) -> Argument:
    return Argument(name=name, help=help_text, required=False, suggest=suggest, only_named=True)


_EPISODE_ARGUMENTS = (
    Argument(name="query", help="What it was about, a day, or its name.", required=False),
    _named("forget", "The name of one that is not to be found any more."),
    _named("restore", "The name of a forgotten one."),
)


def _procedure_arguments(suggest: Suggest | None) -> tuple[Argument, ...]:
    return (
        Argument(name="text", help="One to show whole; with edit, what it is to say.", required=False, suggest=suggest),
        _named("approve", "Let this one be followed.", suggest),
        _named("retire", "Let this one be followed no more.", suggest),
        _named("undo", "Take the last change of this one back.", suggest),
        _named("edit", "Change this one, to what text says.", suggest),
    )


_RESTORE_DOCUMENT = _named("restore", "The name of a forgotten one.")

MYDATA_EXPERIENCE_COMMANDS: tuple[Command, ...] = (
    Command(
        group=Group.MYDATA,
        name="episodes",
        help="What happened in our earlier sessions.",
        run=_episodes(_own),
        arguments=_EPISODE_ARGUMENTS,
    ),
    Command(
        group=Group.MYDATA,
        name="procedures",
        help="How you want things done: see, approve, edit, retire.",
        run=_procedures(_own),
        arguments=_procedure_arguments(_suggest_own_procedures),
    ),
    Command(
        group=Group.MYDATA,
        name="documents",
        help="The documents I keep, and bring a forgotten one back.",
        run=_documents(_own),
        arguments=(_RESTORE_DOCUMENT,),
    ),
)

MEMORY_EXPERIENCE_COMMANDS: tuple[Command, ...] = (
    about_person(
        "episodes", "What happened in earlier sessions of a person.", _episodes(_somebodys), *_EPISODE_ARGUMENTS
    ),
    about_person("procedures", "How a person wants things done.", _procedures(_somebodys), *_procedure_arguments(None)),
    about_person("documents", "The documents that are kept for a person.", _documents(_somebodys), _RESTORE_DOCUMENT),
)
