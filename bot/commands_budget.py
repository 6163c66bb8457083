"""``/memory budget``: how much is used in this server or workspace today, and how much may be.

Invariant: a community can choose lower limits than the operator's, never higher ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.budgets import community_of
from bot.command_targets import by_caller
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Services, Suggestion
from memory.errors import InvalidInput
from memory.policy.limits import Limit, day_of, strictest

_NO_LIMIT = "none"


async def _budget(services: Services, call: Invocation) -> CommandReply:
    community = community_of(call.conversation, call.caller.person)
    if community is None:
        raise InvalidInput("A limit holds in a server or workspace. Use this in a channel of it.")
    name, value = call.arguments.get("limit"), call.arguments.get("value")
    if name is None:
        return CommandReply(text=await _shown(services, community))
    if value is None:
        raise InvalidInput(f"Say how many a day, or {_NO_LIMIT}. Write: /memory budget {name} 50")
    limit, number = _limit(name), _number(value)
    async with services.system.transaction() as tx:
        await services.system.stores.limits.choose(
            tx,
            community=community,
            name=limit.value,
            value=number,
            actor=by_caller(call).audited,
            at=services.clock.now(),
        )
    return CommandReply(text=await _shown(services, community))


async def _shown(services: Services, community: str) -> str:
    chosen = await services.system.stores.limits.of(community)
    limits = strictest(services.settings.limits, chosen)
    day = day_of(services.clock.now(), services.system.parameters.zone)
    async with services.system.transaction() as tx:
        used = await services.system.stores.usage.of_community(tx, community=community, day=day)
    lines = [f"Today {used.turns:,} answers and {used.tokens:,} tokens were used here."]
    lines += [f"- {limit}: {_words(limit, limits, chosen)}" for limit in Limit]
    return "\n".join(lines)


def _words(limit: Limit, limits: Mapping[Limit, int], chosen: Mapping[str, int]) -> str:
    if limit not in limits:
        return "no limit"
    by = "chosen here" if chosen.get(limit) == limits[limit] else "set by whoever runs me"
    return f"{limits[limit]:,} a day ({by})"


def _limit(name: str) -> Limit:
    try:
        return Limit(name.lower())
    except ValueError as error:
        raise InvalidInput(
            f"{name[:60]!r} is none of {', '.join(Limit)}. Write: /memory budget person_turns 50"
        ) from error


def _number(value: str) -> int | None:
    if value.lower() == _NO_LIMIT:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= 12):
        raise InvalidInput(f"{value[:60]!r} is no whole number. Write: /memory budget person_turns 50, or {_NO_LIMIT}.")
    return int(value)


async def _suggest_limits(services: Services, call: Invocation) -> Sequence[Suggestion]:
    return [Suggestion(value=limit, label=limit.replace("_", " ") + " a day") for limit in Limit]


BUDGET_COMMANDS: tuple[Command, ...] = (
    Command(
        group=Group.MEMORY,
        name="budget",
        help="How much is used here today, and how much may be.",
        run=_budget,
        arguments=(
            Argument(name="limit", help="Which limit to choose.", required=False, suggest=_suggest_limits),
            Argument(name="value", help="How many a day; none for no limit of your own.", required=False),
        ),
    ),
)
