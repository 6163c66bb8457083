"""The app of slack-bolt: what each payload of Slack's is for.

Invariant: a payload is acknowledged only after what it brings is stored or begun; where that fails it is not, and Slack
sends it again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack_actions import SlackActions
from adapters.slack_commands import SlackCommands
from adapters.slack_intake import SlackIntake

_log = structlog.get_logger(__name__)


def bolt_app(
    identity: AsyncSlackResponse,
    intake: SlackIntake,
    commands: SlackCommands | None,
    actions: SlackActions | None,
    *,
    on_missed: Callable[[], None],
    bot_token: str,
    api_url: str,
    logger: logging.Logger,
) -> AsyncApp:
    """The app.

    Args:
        identity: whom Slack takes us for, as ``auth.test`` says.
        intake: takes events in.
        commands, actions: what people can call and click on.
        on_missed: told when an event could not be taken in, and when Slack withholds some, since there are too many.
        bot_token: the token the identity belongs to.
        api_url: the address of Slack's API.
        logger: where the library writes.
    """

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=identity.get("enterprise_id"),
            team_id=identity["team_id"],
            bot_user_id=identity["user_id"],
            bot_id=identity.get("bot_id"),
            bot_token=bot_token,
        )

    async def take_in(body: dict[str, Any], next_: Callable[[], Awaitable[None]]) -> BoltResponse | None:
        if actions is not None and (begun := actions.receive(body)) is not None:
            return BoltResponse(status=begun)
        if body.get("type") == "event_callback":
            return BoltResponse(status=await intake.receive(body))
        if body.get("type") == "app_rate_limited":
            _log.warning("slack_withholds_events", minute=body.get("minute_rate_limited"))
            on_missed()
            return BoltResponse(status=200)
        if commands is not None and (begun := commands.receive(body)) is not None:
            return BoltResponse(status=begun)
        await next_()
        return None

    async def not_stored(error: Exception) -> BoltResponse:
        _log.error("slack_message_not_stored", error=type(error).__name__)
        _log.debug("slack_message_not_stored_because", exc_info=error)
        on_missed()  # Slack tries again for some minutes, and then never
        return BoltResponse(status=500)

    app = AsyncApp(
        name="keepsake",
        client=AsyncWebClient(base_url=api_url, logger=logger),
        authorize=authorize,
        request_verification_enabled=False,  # done in slack_http, before anything is parsed
        logger=logger,
    )
    app.use(take_in)
    app.error(not_stored)
    return app
