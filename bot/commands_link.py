"""``/mydata link`` and ``unlink``: two accounts of one person, say on Discord and on Slack.

Invariant: nothing is linked before each side was shown which account the other is, and what a link does.
"""

from __future__ import annotations

from bot import command_views as views
from bot.commands import Argument, Command, CommandReply, Group, Invocation, Services
from memory.policy.audience import scope_of
from memory.records import Scope

_WHAT_IT_DOES = (
    "In a direct chat with either account I then use what you said to me on both. What was said in a server, "
    "workspace or private channel is still used only there and in your direct chats, and each account keeps its own "
    "memory. What I answer in a direct chat on Slack is part of that workspace, whose admins may see it."
)


async def _link(services: Services, call: Invocation) -> CommandReply:
    code = call.arguments.get("code")
    return await (_first_side(services, call) if code is None else _second_side(services, call, code))


async def _first_side(services: Services, call: Invocation) -> CommandReply:
    linking, scope = services.system.oversight.linking, _scope(call)
    status = await linking.status(scope)
    if status.claimed_by is None:
        code = await linking.offer(scope)
        linked = [f"Linked with {link.other} since {views.moment(link.linked_at)}." for link in status.links]
        text = (
            f"To link another account of yours, write there within ten minutes: `/mydata link {code}`\n"
            "Then call `/mydata link` here once more. Give the code to nobody."
        )
        return CommandReply(text="\n".join([*linked, text]))
    if not call.confirmed:
        return CommandReply(
            text=f"The account **{status.claimed_by}** gave your code. {_WHAT_IT_DOES}\nIs that account yours?",
            confirm="It is mine: link",
        )
    await linking.confirm(scope, status.claimed_by)
    return CommandReply(text=f"Linked with {status.claimed_by}. `/mydata unlink`, on either side, ends it.")


async def _second_side(services: Services, call: Invocation, code: str) -> CommandReply:
    linking, scope = services.system.oversight.linking, _scope(call)
    if not call.confirmed:
        offering = await linking.look_up(scope, code)
        return CommandReply(
            text=f"The code is of the account **{offering}**. {_WHAT_IT_DOES}\n"
            "If somebody else sent you this code, stop here: they would read what you told me. Is that account yours?",
            confirm="It is mine: go on",
        )
    offering = await linking.claim(scope, code)
    return CommandReply(text=f"Now call `/mydata link` once more on {offering}, and confirm it there.")


async def _unlink(services: Services, call: Invocation) -> CommandReply:
    ended = await services.system.oversight.linking.unlink(_scope(call))
    if not ended:
        return CommandReply(text="This account is linked with no other.", succeeded=False)
    return CommandReply(text=f"No longer linked with {', '.join(ended)}. Each account has its own memory, as before.")


def _scope(call: Invocation) -> Scope:
    return scope_of(call.caller.person, call.conversation.audience)


LINK_COMMANDS: tuple[Command, ...] = (
    Command(
        group=Group.MYDATA,
        name="link",
        help="Link another account of yours.",
        run=_link,
        arguments=(Argument(name="code", help="The code that the other account got.", required=False),),
    ),
    Command(group=Group.MYDATA, name="unlink", help="End the links of this account.", run=_unlink),
)
