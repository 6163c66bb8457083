"""``/memory settings`` and ``/memory stats``: the numbers that govern memory, and how much there is.

Invariant: whoever runs an installation changes its numbers, for they hold for every community; admins see them.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import command_views as views
from bot.command_targets import about_person, by_caller, noted, target, with_hint
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Services, Suggestion, acts_everywhere
from bot.config import Settings
from bot.run_time_settings import AS_CONFIGURED, CHANGEABLE, change
from memory.errors import InvalidInput

_HISTORY = 5


async def _settings(services: Services, call: Invocation) -> CommandReply:
    name, value = call.arguments.get("name", "").lower(), call.arguments.get("value")
    if value is not None:
        return await _changed(services, call, name, value)
    if name:
        return await _one(services, name)
    changed = await services.system.stores.parameter_changes.in_force()
    shown = views.parameters(services.system.parameters, changed)
    return CommandReply(
        text=f"{shown}\n- slack_admin_reads_dms: {services.admin_reads_dms}\n\n"
        f"`/memory settings {CHANGEABLE[0]}` tells what that one means, and so for the others that can be changed: "
        f"{', '.join(CHANGEABLE[1:])}."
    )


async def _one(services: Services, name: str) -> CommandReply:
    field = Settings.model_fields.get(name)
    if field is None or name not in CHANGEABLE:
        raise InvalidInput(f"There is no number {name[:60]!r} that can be changed. There are: {', '.join(CHANGEABLE)}.")
    store = services.system.stores.parameter_changes
    in_force = (await store.in_force()).get(name)
    configured = getattr(services.settings, name)
    lines = [
        f"**{name}**: {configured if in_force is None else in_force.value} (configured: {configured})",
        str(field.description),
        *(views.parameter_change(one) for one in await store.history(name, _HISTORY)),
    ]
    return CommandReply(text="\n".join(lines))


async def _changed(services: Services, call: Invocation, name: str, value: str) -> CommandReply:
    if not acts_everywhere(call.caller, services.owners):
        raise InvalidInput("These numbers hold for every community, so only the bot's owners (BOT_OWNERS) change them.")
    new = await change(
        services.settings,
        services.system,
        name=name,
        value=value,
        actor=by_caller(call).audited,
        at=services.clock.now(),
    )
    return CommandReply(
        text=f"{name} is {getattr(new, name)} from the next message on. `/memory settings {name} {AS_CONFIGURED}` "
        "brings back what is configured."
    )


async def _stats(services: Services, call: Invocation) -> CommandReply:
    about = await target(services, call)
    found = await services.system.oversight.statistics(about.scope)
    await noted(services, about, "memory stats")
    return CommandReply(text=with_hint(views.statistics(found, services.system.parameters), about))


async def _suggest_names(services: Services, call: Invocation) -> Sequence[Suggestion]:
    return [Suggestion(value=name, label=name) for name in CHANGEABLE]


NUMBER_COMMANDS: tuple[Command, ...] = (
    about_person("stats", "How much is remembered of a person, and how large the prompts are.", _stats),
    Command(
        group=Group.MEMORY,
        name="settings",
        help="The numbers that govern memory; owners change them.",
        run=_settings,
        arguments=(
            Argument(name="name", help="Only this one.", required=False, suggest=_suggest_names),
            Argument(name="value", help="Its new value; default for the configured one.", required=False),
        ),
    ),
)
