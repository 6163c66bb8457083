"""Slack <-> bot.chat and the command table, over Socket Mode or signed HTTP.

Invariant: an event is acknowledged only after ``on_message`` has stored its message. If storing fails it is
not acknowledged, and Slack sends it again; what comes twice is told apart by the message's own ``ts``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import structlog
from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack_access import check_scopes, check_tokens
from adapters.slack_actions import SlackActions
from adapters.slack_answers import SlackAnswers
from adapters.slack_app import bolt_app
from adapters.slack_catching_up import SlackCatchingUp
from adapters.slack_commands import SlackCommands
from adapters.slack_delivery import SlackDelivery
from adapters.slack_directory import SlackDirectory
from adapters.slack_errors import TRANSPORT_ERRORS, start_failure
from adapters.slack_files import SlackFiles
from adapters.slack_history import recent_posts
from adapters.slack_http import SignedRequests
from adapters.slack_intake import SlackIntake
from adapters.slack_signs import SlackSigns
from adapters.slack_socket import SocketConnection
from adapters.slack_underway import Underway
from bot.actions import Actions
from bot.changes import OnChange, PlaceEntered, ignore_change
from bot.chat import (
    AttachedFile,
    Conversation,
    DeliveryFailed,
    HistoryUnreadable,
    IncomingMessage,
    OnMessage,
    OutgoingMessage,
)
from bot.commands import Commands
from bot.last_seen import LastSeen
from bot.listener import IsForUs, plainly_for_us
from bot.look_back import LookBack
from memory.ports import Clock, Sleep, SystemClock

SLACK_API = "https://slack.com/api/"
_log = structlog.get_logger(__name__)


class SlackAdapter:
    """The bot in one Slack workspace.

    Args:
        bot_token: ``xoxb-...``.
        on_message: stores an incoming message durably.
        is_for_us: says which messages are for the bot. Asked about all that is said.
        on_change: follows edits and deletions, and which channels the bot is in.
        commands: what people can call; None for a bot that only chats.
        actions: what they can click on, with commands alone.
        app_token: ``xapp-...``; with it events come over Socket Mode.
        signing_secret: without an app token, events come over HTTP and must carry its signature.
        api_url: another address for Slack's API, as ``https://host/api/``.
        last_seen, look_back: what was seen in each conversation, and what is kept of late; without both, nothing that
            was missed is asked for.
        clock: tells how long names and channels are remembered.
        sleep: waits before a sign is shown, and where Slack limits how often it is asked.
    """

    platform = "slack"

    def __init__(
        self,
        *,
        bot_token: str,
        on_message: OnMessage,
        is_for_us: IsForUs = plainly_for_us,
        on_change: OnChange = ignore_change,
        commands: Commands | None = None,
        actions: Actions | None = None,
        app_token: str | None = None,
        signing_secret: str | None = None,
        api_url: str | None = None,
        last_seen: LastSeen | None = None,
        look_back: LookBack | None = None,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._bot_token = bot_token
        self._on_message = on_message
        self._is_for_us = is_for_us
        self._on_change = on_change
        self._table = commands
        self._action_table = actions
        self._app_token = app_token
        self._signing_secret = signing_secret
        self._api_url = api_url or SLACK_API
        # Below ERROR the libraries write out whole requests, and with them what people said.
        self._logger = logging.getLogger(f"{__name__}.library")
        self._logger.setLevel(logging.ERROR)
        self._client = AsyncWebClient(token=bot_token, base_url=self._api_url, retry_handlers=[], logger=self._logger)
        self._files = SlackFiles(self._client, token=bot_token, api_url=self._api_url)
        self._clock = clock or SystemClock()
        self._last_seen = last_seen
        self._look_back = look_back
        self._sleep = sleep
        self._signs = SlackSigns(self._client, sleep=sleep)
        self._app: AsyncApp | None = None
        self._intake: SlackIntake | None = None
        self._catching_up: SlackCatchingUp | None = None
        self._commands: SlackCommands | None = None
        self._actions: SlackActions | None = None
        self._underway = Underway()
        self._requests = SignedRequests(signing_secret or "")
        self._delivery: SlackDelivery | None = None
        self._socket: SocketConnection | None = None
        self._watch: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()

    @property
    def http_handler(self) -> Callable[[web.Request], Awaitable[web.StreamResponse]] | None:
        """What answers ``POST /slack/events``; None in Socket Mode."""
        return None if self._app_token else self._answer_http

    async def start(self) -> None:
        """Log in and begin to receive.

        Raises:
            AdapterStartFailed: Slack refuses us or cannot be reached; the text says what to do.
        """
        check_tokens(self._bot_token, self._app_token, self._signing_secret)
        try:
            identity = await self._client.auth_test()
        except (SlackApiError, *TRANSPORT_ERRORS) as error:
            raise start_failure(error, setting="SLACK_BOT_TOKEN") from error
        check_scopes(identity)
        self._delivery = SlackDelivery(self._client, bot_user=identity["user_id"], bot_id=identity.get("bot_id"))
        directory = SlackDirectory(self._client, self._clock)
        bot_name = identity.get("user") or identity["user_id"]
        if self._table is not None:
            self._take_calls(self._table, identity, directory)
        self._intake = SlackIntake(
            bot_user=identity["user_id"],
            bot_name=bot_name,
            directory=directory,
            on_message=self._on_message,
            is_for_us=self._is_for_us,
            on_change=self._on_change,
            commands=self._commands,
            last_seen=self._last_seen,
        )
        if self._last_seen is not None and self._look_back is not None:
            self._catching_up = SlackCatchingUp(
                self._client,
                self._intake,
                team=identity["team_id"],
                bot_user=identity["user_id"],
                last_seen=self._last_seen,
                look_back=self._look_back,
                sleep=self._sleep,
            )
        self._app = bolt_app(
            identity,
            self._intake,
            self._commands,
            self._actions,
            on_missed=self._missed,
            bot_token=self._bot_token,
            api_url=self._api_url,
            logger=self._logger,
        )
        await self._on_change(PlaceEntered(place=f"team:{identity['team_id']}"))
        await self._begin_to_receive(self._app)
        _log.info("slack_started", team=identity["team_id"], mode=self._mode)

    async def _begin_to_receive(self, app: AsyncApp) -> None:
        if self._app_token:
            self._socket = SocketConnection(
                app,
                self._client,
                self._app_token,
                logger=self._logger,
                on_return=self._catch_up,
                on_loss=self._lost,
            )
            await self._socket.open()
            if self._stopped.is_set():
                await self._socket.close()
                return
            self._watch = asyncio.create_task(self._socket.watch())
        else:
            self._catch_up()

    def _catch_up(self) -> None:
        if self._catching_up is not None and not self._stopped.is_set():
            self._catching_up.begin()

    def _missed(self) -> None:
        if self._catching_up is not None:
            self._catching_up.begin_later()

    def _lost(self) -> None:
        if self._catching_up is not None:
            self._catching_up.lost()

    def _take_calls(self, table: Commands, identity: AsyncSlackResponse, directory: SlackDirectory) -> None:
        actions = self._action_table or Actions((), table)
        shared: dict[str, Any] = {
            "team": identity["team_id"],
            "workspace": identity.get("url") or "",
            "directory": directory,
            "answers": SlackAnswers(self._client, logger=self._logger),
            "underway": self._underway,
        }
        self._commands = SlackCommands(
            table,
            actions,
            bot_user=identity["user_id"],
            bot_name=identity.get("user") or identity["user_id"],
            clock=self._clock,
            **shared,
        )
        self._actions = SlackActions(actions, client=self._client, **shared)

    async def stop(self) -> None:
        """Take nothing in any more, finish storing what has come, disconnect. Safe twice and at any time."""
        self._stopped.set()
        if self._catching_up:
            await self._catching_up.stop()
        if self._intake:
            await self._intake.drain()
        await self._underway.stop()
        await self._signs.stop()
        if self._watch:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        if self._socket:
            await self._socket.close()

    async def caught_up(self) -> None:
        """Wait until what was missed has been asked for."""
        if self._catching_up:
            await self._catching_up.settled()

    async def closed(self) -> None:
        """Wait until the adapter has stopped for good.

        Raises:
            AdapterStartFailed: it stopped because Slack refuses us from now on.
        """
        stopped = asyncio.ensure_future(self._stopped.wait())
        waiting = {stopped} if self._watch is None else {stopped, self._watch}
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
        for task in done:
            if not task.cancelled():
                task.result()

    def state(self) -> dict[str, Any]:
        """How it stands, for the health page."""
        connected = self._socket.connected if self._socket else self._app is not None
        return {"mode": self._mode, "connected": connected and not self._stopped.is_set()}

    @property
    def shows_drafts(self) -> bool:
        """An answer grows as a stream or by edits."""
        return True

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Show what there is of an answer so far; see ``SlackDelivery.draft``."""
        return await self._running_delivery().draft(message)

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Deliver a whole answer, in order, as many messages as Slack needs."""
        return await self._running_delivery().send(message)

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        """Look for an earlier attempt; see ``SlackDelivery.delivered_as``. Raises DeliveryFailed."""
        return await self._running_delivery().delivered_as(message)

    def typing(self, conversation: Conversation, asked: str) -> AbstractAsyncContextManager[None]:
        """Show that an answer is being written; see ``SlackSigns.writing``."""
        return self._signs.writing(conversation, asked)

    async def recent(self, conversation: Conversation, *, limit: int) -> Sequence[IncomingMessage]:
        """What was said lately; see ``slack_history.recent_posts``. Raises HistoryUnreadable."""
        if self._intake is None:
            raise HistoryUnreadable("Slack has not been started.")
        posts = await recent_posts(self._client, conversation, limit=limit)
        said = await asyncio.gather(*(self._intake.said(post, conversation) for post in posts))
        return [message for message in said if message is not None]

    async def fetch_file(self, message: IncomingMessage, file: AttachedFile, *, limit: int) -> bytes:
        """Fetch a file of a message; see ``SlackFiles.fetch``. Raises FileUnreadable."""
        return await self._files.fetch(file, limit=limit)

    @property
    def _mode(self) -> str:
        return "socket" if self._app_token else "http"

    def _running_delivery(self) -> SlackDelivery:
        if self._delivery is None:
            raise DeliveryFailed("Slack has not been started.")
        return self._delivery

    async def _answer_http(self, request: web.Request) -> web.StreamResponse:
        if self._app is None:
            return web.Response(status=503)
        return await self._requests.answer(self._app, request)
