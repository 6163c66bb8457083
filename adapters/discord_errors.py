"""Why Discord cannot be used, in sentences that say what to do."""

from __future__ import annotations

import aiohttp
import discord

from bot.chat import AdapterStartFailed

# discord.py itself repeats a request after a reset connection only by the error numbers of macOS and Windows.
CONNECTION_ERRORS = (aiohttp.ClientError, OSError)

PORTAL = "https://discord.com/developers/applications"
_BAD_TOKEN = (
    f"Discord does not accept DISCORD_TOKEN. Open {PORTAL}, choose your application, then Bot, Reset Token, and "
    "put the new token into DISCORD_TOKEN."
)
_UNREACHABLE = "Discord cannot be reached: {reason}. Check the network connection, then start again."
_FATAL_CLOSES = {
    4004: _BAD_TOKEN,
    4011: "The bot is in so many servers that Discord asks for more shards. Set DISCORD_SHARDS=0, or a higher number.",
    4013: "Discord does not know the events that were asked for. A newer version of discord.py is needed.",
    4014: (
        f"Discord withholds the text of messages. Open {PORTAL}, choose your application, then Bot, switch on "
        "Message Content Intent, and start again."
    ),
}


def start_failure(error: BaseException) -> AdapterStartFailed:
    """An error of discord.py or of the network, at the start or at the end of the connection, for the operator."""
    match error:
        case discord.LoginFailure():
            return AdapterStartFailed(_BAD_TOKEN)
        case discord.PrivilegedIntentsRequired():
            return AdapterStartFailed(_FATAL_CLOSES[4014])
        case discord.ConnectionClosed() if error.code in _FATAL_CLOSES:
            return AdapterStartFailed(_FATAL_CLOSES[error.code])
        case discord.ConnectionClosed():
            return AdapterStartFailed(f"Discord closed the connection for good, with code {error.code}.")
        case discord.HTTPException():
            return AdapterStartFailed(_UNREACHABLE.format(reason=f"it answered with status {error.status}"))
        case _:
            return AdapterStartFailed(_UNREACHABLE.format(reason=str(error) or type(error).__name__))
