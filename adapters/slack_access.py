"""What the bot needs of a workspace: tokens of the right kinds, and scopes.

Invariant: every sentence for the operator says where the fault is put right.
"""

from __future__ import annotations

import structlog
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.chat import AdapterStartFailed

SCOPES = frozenset(
    {
        "app_mentions:read",
        "channels:history",
        "channels:read",
        "chat:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "mpim:history",
        "mpim:read",
        "users:read",
    }
)
"""What the bot token must be allowed to do, as the app's manifest asks for."""
COMMAND_SCOPES = frozenset({"commands", "files:write", "im:write"})
"""What commands need besides: to be called, and to send files into direct chats. Chatting works without."""
FILE_SCOPES = frozenset({"files:read"})
"""What reading files that people attach needs. Answering what they write works without."""
SIGN_SCOPES = frozenset({"assistant:write", "reactions:write"})
"""What signs need besides: to be an agent in Slack's view of agents, and to react while an answer is written."""
REACTION_SCOPES = frozenset({"reactions:read"})
"""What hearing people's reactions to answers needs. Everything else works without."""

_log = structlog.get_logger(__name__)


def check_tokens(bot_token: str, app_token: str | None, signing_secret: str | None) -> None:
    """Tell a token in the wrong place before Slack is asked.

    Raises:
        AdapterStartFailed: a token is of the wrong kind or missing; the text says which one belongs there.
    """
    if bot_token.startswith("xapp-"):
        also = " The two tokens seem to be swapped." if (app_token or "").startswith("xoxb-") else ""
        raise AdapterStartFailed(
            f"SLACK_BOT_TOKEN holds an app-level token (xapp-...); it needs the bot token (xoxb-...).{also}"
        )
    if not bot_token.startswith(("xoxb-", "xoxe.xoxb-")):
        raise AdapterStartFailed(
            "SLACK_BOT_TOKEN is not a bot token. Copy the Bot User OAuth Token, which begins with xoxb-, "
            "from OAuth & Permissions at https://api.slack.com/apps."
        )
    if app_token and not app_token.startswith("xapp-"):
        raise AdapterStartFailed(
            "SLACK_APP_TOKEN is not an app-level token. Make one, which begins with xapp-, under Basic Information "
            "at https://api.slack.com/apps, with the scope connections:write."
        )
    if not app_token and not signing_secret:
        raise AdapterStartFailed(
            "Slack needs SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP) beside SLACK_BOT_TOKEN."
        )


def check_scopes(identity: AsyncSlackResponse) -> None:
    """Look at the scopes that came with the answer to ``auth.test``.

    Raises:
        AdapterStartFailed: some are missing without which the bot cannot chat.
    """
    granted = identity.headers.get("x-oauth-scopes")
    if granted is None:
        return
    scopes = {scope.strip() for scope in granted.split(",")}
    if missing := COMMAND_SCOPES - scopes:
        _log.warning(
            "slack_commands_limited",
            missing=sorted(missing),
            remedy="add the scopes and the slash commands as in docs/slack-manifest.json and reinstall the app",
        )
    if FILE_SCOPES - scopes:
        _log.warning(
            "slack_files_unread",
            missing=sorted(FILE_SCOPES),
            remedy="add the scope as in docs/slack-manifest.json and reinstall the app",
        )
    if REACTION_SCOPES - scopes:
        _log.warning(
            "slack_reactions_unheard",
            missing=sorted(REACTION_SCOPES),
            remedy="add the scope and the events as in docs/slack-manifest.json and reinstall the app",
        )
    if missing := SCOPES - scopes:
        raise AdapterStartFailed(
            f"The Slack app lacks scopes: {', '.join(sorted(missing))}. "
            "Add them under OAuth & Permissions at https://api.slack.com/apps and reinstall the app."
        )
