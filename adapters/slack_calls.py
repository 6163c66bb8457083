"""Who calls on Slack, as the application knows it.

Invariant: who administers the workspace is asked of Slack for every call; a member of another workspace never does.
"""

from __future__ import annotations

import asyncio

from adapters.slack_directory import SlackDirectory
from bot.commands import Caller


async def caller(directory: SlackDirectory, *, user: str, user_team: str, called_in: str, team: str) -> Caller:
    """Somebody who called.

    Args:
        directory: looks up names and admins.
        user: who.
        user_team: their own workspace.
        called_in: the workspace that they called in.
        team: the workspace of this bot.
    """
    name, is_admin = await asyncio.gather(directory.name(user), directory.administers(user, team))
    is_local = user_team == called_in == team
    admin_of = {f"team:{team}"} if is_local and is_admin else set()
    return Caller(person=f"slack:{user_team}:{user}", name=name or user, admin_of=frozenset(admin_of))
