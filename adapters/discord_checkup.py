"""What Discord says of the bot when it is asked: whether the token, the intent and the permissions are right.

Invariant: only reads; nothing is connected to the gateway.
"""

from __future__ import annotations

import discord
from discord.http import Route

from adapters.discord_errors import CONNECTION_ERRORS, PORTAL, start_failure

NEEDED = discord.Permissions(
    view_channel=True, send_messages=True, send_messages_in_threads=True, read_message_history=True
)
"""What the bot needs in a server, as its invitation asks for."""

_MOST_SERVERS = 200
_MOST_NAMED = 5


async def problems_on_discord(token: str, *, api_url: str | None = None) -> list[str]:
    """What is missing, each with what to do; empty where nothing is.

    Args:
        token: the bot token.
        api_url: another address for Discord's API.
    """
    if api_url is not None:
        Route.BASE = api_url.rstrip("/")
    client = discord.Client(intents=discord.Intents.none())
    try:
        await client.login(token)
        application = await client.application_info()
        servers = await client.http.get_guilds(_MOST_SERVERS, with_counts=False)
    except (discord.DiscordException, *CONNECTION_ERRORS) as error:
        return [str(start_failure(error))]
    finally:
        await client.close()
    problems = []
    flags = application.flags
    if not (flags.gateway_message_content or flags.gateway_message_content_limited):
        problems.append(
            "Message Content Intent is off, so in servers only messages that mention the bot are read. "
            f"Open {PORTAL}, choose your application, then Bot, and switch it on."
        )
    lacking = {server["name"]: _missing(int(server["permissions"])) for server in servers}
    for name, missing in [pair for pair in lacking.items() if pair[1]][:_MOST_NAMED]:
        problems.append(
            f"In the server {name!r} the bot lacks: {', '.join(missing)}. Give its role these permissions, under "
            "Server Settings, Roles."
        )
    return problems


def _missing(granted: int) -> list[str]:
    permissions = discord.Permissions(granted)
    if permissions.administrator:
        return []
    return [name.replace("_", " ") for name, needed in NEEDED if needed and not getattr(permissions, name)]
