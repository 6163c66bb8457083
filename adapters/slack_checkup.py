"""What Slack says of the app when it is asked: whether the tokens and scopes are right.

Invariant: only asks; the connection that an app token is given an address for is not opened.
"""

from __future__ import annotations

import logging

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_access import COMMAND_SCOPES, FILE_SCOPES, REACTION_SCOPES, SCOPES, SIGN_SCOPES
from adapters.slack_errors import TRANSPORT_ERRORS, start_failure

_SILENT = logging.getLogger(f"{__name__}.library")


async def problems_on_slack(bot_token: str, app_token: str | None, *, api_url: str) -> list[str]:
    """What is missing, each with what to do; empty where nothing is.

    Args:
        bot_token: ``xoxb-...``.
        app_token: ``xapp-...``; None where events come over HTTP.
        api_url: the address of Slack's API.
    """
    _SILENT.setLevel(logging.CRITICAL)
    client = AsyncWebClient(token=bot_token, base_url=api_url, retry_handlers=[], logger=_SILENT)
    problems = []
    try:
        identity = await client.auth_test()
        granted = identity.headers.get("x-oauth-scopes")
        wanted = SCOPES | COMMAND_SCOPES | FILE_SCOPES | SIGN_SCOPES | REACTION_SCOPES
        if granted is not None and (missing := wanted - {scope.strip() for scope in granted.split(",")}):
            problems.append(
                f"The Slack app lacks scopes: {', '.join(sorted(missing))}. Add them under OAuth & Permissions at "
                "https://api.slack.com/apps and reinstall the app."
            )
    except (SlackApiError, *TRANSPORT_ERRORS) as error:
        problems.append(str(start_failure(error, setting="SLACK_BOT_TOKEN")))
    if app_token is not None:
        try:
            await client.apps_connections_open(app_token=app_token)
        except (SlackApiError, *TRANSPORT_ERRORS) as error:
            problems.append(str(start_failure(error, setting="SLACK_APP_TOKEN")))
    return problems
