"""Discord: the connection. What comes in goes through ``discord_intake``, what goes out through ``discord_delivery``.

Invariant: the audience that a message is given is never wider than the people who could read it.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

import discord
import structlog
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.discord_client import DiscordClient
from adapters.discord_delivery import DiscordDelivery
from adapters.discord_errors import CONNECTION_ERRORS, PORTAL, start_failure
from adapters.discord_files import fetch_file
from adapters.discord_history import recent_messages
from adapters.discord_intake import DiscordIntake
from adapters.discord_message import PLATFORM
from bot.actions import Actions
from bot.changes import OnChange, ignore_change
from bot.chat import AttachedFile, Conversation, IncomingMessage, OnMessage, OutgoingMessage
from bot.commands import Commands
from bot.last_seen import LastSeen
from bot.listener import IsForUs, plainly_for_us
from bot.logs import SayPlainly
from bot.look_back import LookBack
from memory.ports import Sleep

_log = structlog.get_logger(__name__)

_GATEWAY_DEADLINE = 60.0
_PLAINLY = SayPlainly(discord.DiscordException, *CONNECTION_ERRORS)  # why it connects anew


class DiscordAdapter:
    """The channel adapter for Discord; see ``bot.chat.ChannelAdapter``.

    Args:
        token: the bot token.
        on_message: stores a message durably. Called for the messages that are for the bot.
        is_for_us: says which those are. Asked about all that is said.
        on_change: follows edits and deletions, and which servers the bot is in.
        commands: offered as slash commands; None for a bot that only chats.
        actions: offered in the menus of messages and below answers.
        api_url: another address for Discord's API, as ``https://host/api/v10``.
        gateway_url: another address for its gateway, as ``wss://host/``.
        last_seen: what was seen in each channel; None to ask for nothing that was missed.
        look_back: what is kept of late; None to look for no changes that nobody told of.
        shards: parts into which the connection is split; None for as many as Discord recommends.
        guild_ready_timeout: seconds without news of a further server after which start-up counts as complete.
        heartbeat_timeout: seconds without a sign of life from the gateway after which the connection is renewed.
        identify_pause: seconds before a further session is begun, of which Discord allows one in five seconds.
        sleep: waits before it looks for what it could not take in.
    """

    platform = PLATFORM

    def __init__(
        self,
        *,
        token: str,
        on_message: OnMessage,
        is_for_us: IsForUs = plainly_for_us,
        on_change: OnChange = ignore_change,
        commands: Commands | None = None,
        actions: Actions | None = None,
        api_url: str | None = None,
        gateway_url: str | None = None,
        last_seen: LastSeen | None = None,
        look_back: LookBack | None = None,
        shards: int | None = 1,
        guild_ready_timeout: float = 2.0,
        heartbeat_timeout: float = 60.0,
        identify_pause: float = 5.0,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._token = token
        self._intake = DiscordIntake(
            on_message=on_message,
            is_for_us=is_for_us,
            on_change=on_change,
            last_seen=last_seen,
            look_back=look_back,
            sleep=sleep,
        )
        self._commands = commands
        self._actions = actions
        self._api_url = api_url
        self._gateway_url = gateway_url
        self._shards = shards
        self._guild_ready_timeout = guild_ready_timeout
        self._heartbeat_timeout = heartbeat_timeout
        self._identify_pause = identify_pause
        self._client: DiscordClient | None = None
        self._connection: asyncio.Task[None] | None = None
        self._delivery = DiscordDelivery(lambda: self._client)

    # the connection

    async def start(self) -> None:
        """Log in, connect, and return once the servers are known. The connection is kept in the background.

        Where the message content intent is switched off, the bot still answers direct chats and mentions.

        Raises:
            AdapterStartFailed: the token is refused, or Discord cannot be reached.
        """
        logging.getLogger("discord.shard").addFilter(_PLAINLY)
        if self._api_url is not None:
            Route.BASE = self._api_url.rstrip("/")
        if self._gateway_url is not None:
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(self._gateway_url)
        try:
            await self._connect(message_content=True)
        except discord.PrivilegedIntentsRequired:
            _log.warning(
                "discord_message_content_intent_off",
                effect="in servers only messages that mention the bot are read",
                remedy=f"{PORTAL}: your application, Bot, switch on Message Content Intent, start again",
            )
            await self._connect(message_content=False)

    async def _connect(self, *, message_content: bool) -> None:
        client = DiscordClient(
            self._intake,
            commands=self._commands,
            actions=self._actions,
            message_content=message_content,
            guild_ready_timeout=self._guild_ready_timeout,
            heartbeat_timeout=self._heartbeat_timeout,
            identify_pause=self._identify_pause,
            shards=self._shards,
        )
        self._client = client
        self._intake.start()
        try:
            await client.login(self._token)
            self._connection = asyncio.create_task(client.connect())
            await self._until_ready(client, self._connection)
        except discord.PrivilegedIntentsRequired:
            await self.stop()
            raise
        except (discord.DiscordException, *CONNECTION_ERRORS) as error:
            await self.stop()
            raise start_failure(error) from error

    async def _until_ready(self, client: DiscordClient, connection: asyncio.Task[None]) -> None:
        ready = asyncio.create_task(client.wait_until_ready())
        try:
            await asyncio.wait({ready, connection}, timeout=_GATEWAY_DEADLINE, return_when=asyncio.FIRST_COMPLETED)
            if connection.done():
                connection.result()
            if not ready.done():
                raise TimeoutError("its gateway does not answer")
        finally:
            ready.cancel()

    async def closed(self) -> None:
        """Return when the connection has been ended by ``stop``.

        Raises:
            AdapterStartFailed: Discord ended it for good.
        """
        if self._connection is None:
            return
        await asyncio.wait({self._connection})
        error = None if self._connection.cancelled() else self._connection.exception()
        if error is not None:
            raise start_failure(error) from error

    async def stop(self) -> None:
        """Disconnect, once the messages that have arrived are stored."""
        self._intake.stop()
        if self._client is not None:
            await self._client.close()
        if self._connection is not None:
            self._connection.cancel()  # it may be waiting to reconnect
            await asyncio.wait({self._connection})
        await self._intake.drain()

    def state(self) -> dict[str, object]:
        """Whether the gateway is connected on every shard, how many there are, and the latency in seconds if known."""
        client = self._client
        shards = () if client is None else tuple(client.shards.values())
        ready = client is not None and client.is_ready() and bool(shards)
        latency = client.latency if client is not None and shards else math.nan
        return {
            "connected": ready and not any(shard.is_closed() for shard in shards),
            "shards": len(shards),
            "latency": latency if math.isfinite(latency) else None,
        }

    async def catch_up(self) -> None:
        """Find what was missed; see ``DiscordIntake.catch_up``."""
        if self._client is not None and self._client.user is not None:
            await self._intake.catch_up(self._client, self._client.user)

    # what goes out

    @property
    def shows_drafts(self) -> bool:
        """An answer grows by edits."""
        return True

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Show what there is of an answer so far; see ``DiscordDelivery.draft``."""
        return await self._delivery.draft(message)

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Deliver an answer; see ``DiscordDelivery.send``. Raises DeliveryFailed or DeliveryRefused."""
        return await self._delivery.send(message)

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        """Look for an earlier attempt; see ``DiscordDelivery.delivered_as``. Raises DeliveryFailed."""
        return await self._delivery.delivered_as(message)

    async def recent(self, conversation: Conversation, *, limit: int) -> Sequence[IncomingMessage]:
        """What was said lately; see ``discord_history.recent_messages``. Raises HistoryUnreadable."""
        return await recent_messages(self._client, conversation, limit=limit)

    async def fetch_file(self, message: IncomingMessage, file: AttachedFile, *, limit: int) -> bytes:
        """Fetch a file of a message; see ``discord_files.fetch_file``. Raises FileUnreadable."""
        return await fetch_file(self._client, message, file, limit=limit)

    def typing(self, conversation: Conversation, asked: str) -> AbstractAsyncContextManager[None]:
        """Show that an answer is being written."""
        return self._delivery.typing(conversation, asked)
