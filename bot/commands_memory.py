"""``/memory``: what admins may do with the memory of people of their community.

Invariant: every look and every change goes to the audit log of the person it is about; texts that the caller must
not read are not shown, in no form.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import command_views as views
from bot.command_targets import PERSON, Target, about_person, noted, number, target, targets, with_hint
from bot.commands import (
    Argument,
    Command,
    CommandReply,
    Group,
    Invocation,
    Kind,
    Services,
    Suggestion,
)
from memory.errors import InvalidInput
from memory.policy.audience import reach_of_scope
from memory.processes.undo import Undone, origin_of
from memory.records import BLOCK_LABELS, BlockVersion, Session, SummaryVersion

_AUDIT_ENTRIES = 30


async def _view(services: Services, call: Invocation) -> CommandReply:
    about = await target(services, call)
    found = await services.system.oversight.overview(about.scope)
    await noted(services, about, "memory view")
    return CommandReply(text=with_hint(views.overview(found, blind=about.blind), about))


async def _summary(services: Services, call: Invocation) -> CommandReply:
    about, version = await target(services, call), number(call, "version")
    summaries = services.system.stores.summaries
    if version is None:
        found = await summaries.versions(about.scope)
        text = views.versions(found, blind=about.blind) or "There is no summary yet."
    else:
        one = await summaries.get(about.scope, version)
        text = views.version_line(one) if about.blind else f"{views.version_line(one)}\n{views.fenced(one.text)}"
    await noted(services, about, "memory summary", "" if version is None else f"version {version}")
    return CommandReply(text=with_hint(text, about))


async def _rollback(services: Services, call: Invocation) -> CommandReply:
    about, version, label = await target(services, call), number(call, "version"), call.arguments.get("block")
    if version is None:
        raise InvalidInput("Say to which version.")
    undo = services.system.oversight.undo
    if not call.confirmed:
        before, after = await undo.texts(about.scope, label, version)
        await noted(services, about, "memory rollback preview", f"{label or 'summary'} version {version}")
        shown = "" if about.blind else "\n" + views.difference(before, after)
        text = f"Going back to version {version} of {label or 'the summary'} changes this:{shown}"
        return CommandReply(text=with_hint(text, about), confirm="Roll back")
    if label is None:
        made = (await undo.summary_to(about.scope, version, by=about.by)).version
    else:
        made = (await undo.block_to(about.scope, label, version, by=about.by)).version
    return CommandReply(
        text=f"Done: version {made} of {label or 'the summary'} is the text of version {version}. "
        "The next answer uses it. It can be rolled back in the same way."
    )


async def _undo(services: Services, call: Invocation) -> CommandReply:
    about, origin = await target(services, call), origin_of(call.arguments["session"])
    undo = services.system.oversight.undo
    if call.confirmed:
        undone = await undo.take_back(about.scope, origin, by=about.by)
        heading = f"Taken back, as new versions: {', '.join(undone.texts)}."
    else:
        undone = await undo.preview(about.scope, origin)
        await noted(services, about, "memory undo preview", str(origin))
        heading = f"Taking back what {origin} changed changes this:"
    if not undone.texts:
        return CommandReply(text="\n".join(undone.notes), succeeded=False)
    text = with_hint(_undone(heading, undone, about), about)
    return CommandReply(text=text, confirm=None if call.confirmed else "Take back")


async def _end_session(services: Services, call: Invocation) -> CommandReply:
    about, wanted = await target(services, call), number(call, "session")
    found = [session for session in await _open_sessions(services, about) if wanted in (None, session.id)]
    for session in found:
        await services.system.oversight.end_session(session, by=about.by)
    if not found:
        return CommandReply(text="There is no such open session.", succeeded=False)
    return CommandReply(text=f"Ended: {', '.join(f'session {session.id}' for session in found)}. The summary follows.")


async def _audit(services: Services, call: Invocation) -> CommandReply:
    reached = await targets(services, call)
    if not reached:
        raise InvalidInput(f"Nothing is remembered about {call.arguments['person']} that you may see.")
    audit = services.system.stores.audit
    entries = [
        entry for about in reached for entry in await audit.recent(reach_of_scope(about.scope), limit=_AUDIT_ENTRIES)
    ]
    for about in reached:
        await noted(services, about, "memory audit")
    newest = sorted(entries, key=lambda entry: entry.id, reverse=True)[:_AUDIT_ENTRIES]
    return CommandReply(text=views.audit(newest))


def _undone(heading: str, undone: Undone, about: Target) -> str:
    return "\n".join([heading, views.differences(undone.texts, blind=about.blind), *undone.notes])


async def _open_sessions(services: Services, about: Target) -> list[Session]:
    return await services.system.stores.sessions.all_open(reach_of_scope(about.scope))


async def _suggest_versions(services: Services, call: Invocation) -> Sequence[Suggestion]:
    about, label = await target(services, call), call.arguments.get("block")
    stores = services.system.stores
    found: Sequence[SummaryVersion | BlockVersion] = (
        await stores.blocks.versions(about.scope, label) if label else await stores.summaries.versions(about.scope)
    )
    return [Suggestion(value=str(version.version), label=views.version_line(version)) for version in found]


async def _suggest_origins(services: Services, call: Invocation) -> Sequence[Suggestion]:
    about = await target(services, call)
    found = await services.system.oversight.undo.origins(about.scope)  # sessions first: each exchange has a job
    return [
        Suggestion(
            value=origin.job or str(origin.session_id),
            label=f"{origin}, {views.moment(version.changed_at)}, {version.change.reason}",
        )
        for origin, version in sorted(found, key=lambda one: one[0].job is not None)
    ]


async def _suggest_open_sessions(services: Services, call: Invocation) -> Sequence[Suggestion]:
    about = await target(services, call)
    return [
        Suggestion(value=str(session.id), label=f"session {session.id}, since {views.moment(session.started_at)}")
        for session in await _open_sessions(services, about)
    ]


async def _suggest_blocks(services: Services, call: Invocation) -> Sequence[Suggestion]:
    return [Suggestion(value=label, label=label) for label in BLOCK_LABELS]


MEMORY_COMMANDS: tuple[Command, ...] = (
    about_person("view", "What is remembered about a person.", _view),
    about_person(
        "summary",
        "The versions of a person's summary, and what the newest changed.",
        _summary,
        Argument(
            name="version",
            help="Read this one.",
            kind=Kind.NUMBER,
            required=False,
            suggest=_suggest_versions,
        ),
    ),
    about_person(
        "rollback",
        "Go back to an earlier version of the summary or of core memory.",
        _rollback,
        Argument(name="version", help="The version to go back to.", kind=Kind.NUMBER, suggest=_suggest_versions),
        Argument(
            name="block",
            help="persona or human, not the summary.",
            required=False,
            suggest=_suggest_blocks,
        ),
    ),
    about_person(
        "undo",
        "Take back everything that one session or one job changed.",
        _undo,
        Argument(name="session", help="A session's number or a job's key.", suggest=_suggest_origins),
    ),
    about_person(
        "end-session",
        "End a person's open conversations, so that they are summed up.",
        _end_session,
        Argument(
            name="session",
            help="Only this one.",
            kind=Kind.NUMBER,
            required=False,
            suggest=_suggest_open_sessions,
        ),
    ),
    Command(
        group=Group.MEMORY,
        name="audit",
        help="Who looked at or changed a person's memory.",
        run=_audit,
        arguments=(PERSON,),
    ),
)
