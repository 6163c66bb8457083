"""The Socket Mode connection, kept up for years.

The library reconnects by itself, but tries for ever with the address it was last given, even when Slack no
longer accepts it or has withdrawn the token. So a connection that stays away is opened anew from the start.

Invariant: ``watch`` ends only when the connection is closed on purpose or Slack refuses the token.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

import structlog
from aiohttp import WSMessage
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_errors import TRANSPORT_ERRORS, is_refusal, start_failure
from bot.logs import SayPlainly

_CONNECT_PATIENCE = 20.0
_PLAINLY = SayPlainly(SlackApiError, *TRANSPORT_ERRORS)  # why it connects anew

_log = structlog.get_logger(__name__)


class SocketConnection:
    """One Socket Mode connection and what keeps it up.

    Args:
        app: handles the events.
        client: speaks to Slack.
        app_token: the app-level token.
        logger: where the library writes.
        on_return: told when the connection is there, the first time and after each break. Does not raise.
        on_loss: told when the connection is not there, perhaps more than once. Does not raise.
        check_every: seconds between two looks at the connection.
        give_up_after: seconds without a connection after which it is opened anew.
    """

    def __init__(
        self,
        app: AsyncApp,
        client: AsyncWebClient,
        app_token: str,
        *,
        logger: logging.Logger,
        on_return: Callable[[], None],
        on_loss: Callable[[], None],
        check_every: float = 10.0,
        give_up_after: float = 60.0,
    ) -> None:
        self._app = app
        self._client = client
        self._app_token = app_token
        logger.addFilter(_PLAINLY)
        self._logger = logger
        self._on_return = on_return
        self._on_loss = on_loss
        self._is_renewed = False
        self._is_away = False
        self._check_every = check_every
        self._give_up_after = give_up_after
        self._handler: AsyncSocketModeHandler | None = None

    @property
    def connected(self) -> bool:
        """Whether events can arrive at this moment."""
        if self._handler is None:
            return False
        session = self._handler.client.current_session
        return session is not None and not session.closed and not self._handler.client.stale

    async def open(self) -> None:
        """Connect.

        Raises:
            AdapterStartFailed: Slack refuses the token or cannot be reached; the text says what to do.
        """
        try:
            await self._open()
        except (SlackApiError, *TRANSPORT_ERRORS) as error:
            raise start_failure(error, setting="SLACK_APP_TOKEN") from error

    async def watch(self) -> None:
        """Keep the connection up until cancelled.

        Raises:
            AdapterStartFailed: Slack refuses the token from now on.
        """
        away = 0.0
        while True:
            await asyncio.sleep(self._check_every)
            away = 0.0 if self.connected else away + self._check_every
            if away:
                self._is_away = True
                self._on_loss()
            if away >= self._give_up_after:
                await self._reopen()
                away = 0.0

    async def close(self) -> None:
        """Disconnect and release everything. Safe to call twice."""
        handler, self._handler = self._handler, None
        if handler is None:
            return
        await handler.close_async()  # type: ignore[no-untyped-call]  # the library's
        client = handler.client
        tasks = (client.message_processor, client.current_session_monitor, client.message_receiver)
        await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)

    async def _reopen(self) -> None:
        _log.warning("slack_connection_lost", seconds=self._give_up_after)
        await self.close()
        try:
            await self._open()
        except SlackApiError as error:
            if is_refusal(error):
                raise start_failure(error, setting="SLACK_APP_TOKEN") from error
            _log.warning("slack_connection_failed", error=type(error).__name__)
        except TRANSPORT_ERRORS as error:
            _log.warning("slack_connection_failed", error=type(error).__name__)

    async def _open(self) -> None:
        answer = await self._client.apps_connections_open(app_token=self._app_token)
        self._handler = AsyncSocketModeHandler(self._app, self._app_token, self._logger, self._client)
        self._handler.client.wss_uri = answer["url"]
        self._handler.client.on_message_listeners.append(self._listen)
        self._is_renewed = False
        try:
            async with asyncio.timeout(_CONNECT_PATIENCE):
                await self._handler.connect_async()  # type: ignore[no-untyped-call]  # the library's
        except (TimeoutError, asyncio.CancelledError):
            await self.close()
            raise

    async def _listen(self, message: WSMessage) -> None:
        """Tell breaks from renewals, by what Slack says before and after."""
        if not message.data.startswith("{"):
            return
        match json.loads(message.data).get("type"):
            case "disconnect":
                self._is_renewed = True
            case "hello":
                is_break = self._is_away or not self._is_renewed
                self._is_away = self._is_renewed = False
                if is_break:
                    self._on_return()
