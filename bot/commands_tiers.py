"""``tree`` and ``hot``: the map of what is remembered of somebody, and what is at hand of it.

Invariant: as in ``bot/commands_mydata.py`` and ``bot/commands_memory.py``, whose rows these join.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bot.command_targets import about_person, noted, target, with_hint
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Services
from memory.parameters import Sharing
from memory.policy.audience import SHARED_AUDIENCE
from memory.policy.category_tree import pretty
from memory.policy.hot_state import memory_page
from memory.records import By, Change, Scope

_EDITS = ("add", "remove")

_TREE_ARGUMENTS = (
    Argument(name="add", help="A category to add, such as work/travel.", required=False, only_named=True),
    Argument(name="remove", help="An empty category to remove.", required=False, only_named=True),
    Argument(name="description", help="What the added one is about.", required=False, only_named=True),
)


async def _tree(services: Services, scope: Scope, call: Invocation, by: By) -> str:
    """Change the tree where that is asked for, and show it."""
    system, now = services.system, services.clock.now()
    change = Change(actor=by.actor, reason="tree")
    told = ""
    edit = next((name for name in _EDITS if name in call.arguments), None)
    if edit is not None:
        path, description = call.arguments[edit], call.arguments.get("description", "")
        async with system.transaction() as tx:
            if edit == "add":
                told = await system.stores.tree.add_node(
                    scope, tx, path=path, description=description, change=change, at=now
                )
            else:
                told = await system.stores.tree.remove_node(scope, tx, path=path, change=change, at=now)
            if not told:
                action = f"{by.command} tree {edit}"
                await system.stores.audit.note(scope, tx, actor=by.audited, action=action)
    return "\n".join(filter(None, [told, await _shown(services, scope)]))


async def _shown(services: Services, scope: Scope) -> str:
    store = services.system.stores.tree
    shown = pretty(await store.load(scope), limits=store.limits, now=services.clock.now())
    return f"```\n{shown.replace('```', '')}\n```"


async def _hot(services: Services, scope: Scope) -> str:
    store = services.system.stores.hot
    state = await store.shown(scope)
    if state.version == 0:
        return "Nothing is at hand yet. That begins when memory is next put in order, which happens every few hours."
    at = state.last_updated.isoformat(timespec="minutes") if state.last_updated else ""
    return memory_page(state, max_bytes=store.limits.max_bytes, generated_at=at)


def _own(show: str) -> Callable[[Services, Invocation], Awaitable[CommandReply]]:
    async def run(services: Services, call: Invocation) -> CommandReply:
        # Under the shared audience stand a person's settings too, of which there is no map.
        unheard = SHARED_AUDIENCE if services.system.parameters.sharing is Sharing.AUDIENCE else None
        known = await services.system.privacy.scopes_of(call.caller.person)
        scopes = [scope for scope in known if scope.audience != unheard]
        pages = []
        for scope in scopes or [Scope(person=call.caller.person, audience="dm")]:
            text = await _shown(services, scope) if show == "tree" else await _hot(services, scope)
            pages.append(f"**{scope.audience}**\n{text}" if len(scopes) > 1 else text)
        return CommandReply(text="\n".join(pages))

    return run


def _somebodys(show: str) -> Callable[[Services, Invocation], Awaitable[CommandReply]]:
    async def run(services: Services, call: Invocation) -> CommandReply:
        about = await target(services, call)
        if about.blind:
            text = "What was said in direct messages is not shown here."
        elif show == "tree":
            text = await _tree(services, about.scope, call, about.by)
        else:
            text = await _hot(services, about.scope)
        await noted(services, about, f"memory {show}")
        return CommandReply(text=with_hint(text, about))

    return run


MYDATA_TIER_COMMANDS: tuple[Command, ...] = (
    Command(group=Group.MYDATA, name="tree", help="The categories of what I remember about you.", run=_own("tree")),
    Command(group=Group.MYDATA, name="hot", help="What I always keep in mind about you.", run=_own("hot")),
)

MEMORY_TIER_COMMANDS: tuple[Command, ...] = (
    about_person("tree", "The categories of what is remembered about a person.", _somebodys("tree"), *_TREE_ARGUMENTS),
    about_person("hot", "What I always keep in mind about a person.", _somebodys("hot")),
)
