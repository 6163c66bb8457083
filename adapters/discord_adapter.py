"""Discord: the connection, and what comes in; ``adapters/discord_delivery.py`` knows how answers go out.

Which messages are for the bot, ``bot/speaking.py`` says.

Invariant: a message is handed over before anything else is done with it, and in the order Discord sent it. The
audience it is given is never wider than the people who could read it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import discord
import structlog
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.discord_catching_up import missed_messages
from adapters.discord_changes import ChangeEvents, servers_of
from adapters.discord_commands import SlashCommands
from adapters.discord_delivery import DiscordDelivery
from adapters.discord_errors import CONNECTION_ERRORS, PORTAL, start_failure
from adapters.discord_files import fetch_file
from adapters.discord_history import recent_messages
from adapters.discord_message import PLATFORM, heard_in
from bot.actions import Actions
from bot.changes import OnChange, PlatformChange, ignore_change
from bot.chat import AttachedFile, Conversation, IncomingMessage, OnMessage, OutgoingMessage
from bot.commands import Commands
from bot.last_seen import LastSeen
from bot.listener import IsForUs, plainly_for_us
from bot.speaking import Heard

_log = structlog.get_logger(__name__)

_GATEWAY_DEADLINE = 60.0
_LONGEST_RATE_LIMIT = 60.0


class _Client(ChangeEvents):
    """discord.py's client, with its events bound to the adapter, and its commands."""

    def __init__(
        self,
        adapter: DiscordAdapter,
        *,
        commands: Commands | None,
        actions: Actions | None,
        message_content: bool,
        guild_ready_timeout: float,
        shards: int | None,
    ) -> None:
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody misses its voice
        super().__init__(
            intents=discord.Intents(
                guilds=True,
                guild_messages=True,
                dm_messages=True,
                guild_reactions=True,
                dm_reactions=True,
                message_content=message_content,
            ),
            allowed_mentions=discord.AllowedMentions(everyone=False, users=False, roles=False, replied_user=True),
            max_messages=None,
            max_ratelimit_timeout=_LONGEST_RATE_LIMIT,
            guild_ready_timeout=guild_ready_timeout,
            shard_count=shards,
        )
        self._adapter = adapter
        self.tree = None if commands is None else SlashCommands(self, commands, actions or Actions((), commands))

    async def setup_hook(self) -> None:
        if self.tree is not None:
            await self.tree.register()

    async def close(self) -> None:
        if self.tree is not None:
            await self.tree.stop()
        await super().close()

    async def on_message(self, message: discord.Message) -> None:
        await self._adapter.receive(message)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if self.tree is not None:
            await self.tree.clicked(interaction)

    async def on_ready(self) -> None:
        _log.info("discord_ready", servers=len(self.guilds), message_content=self.intents.message_content)
        await self.follow(servers_of(self))
        await self._adapter.catch_up()

    async def follow(self, change: PlatformChange) -> None:
        await self._adapter.follow(change)


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
        shards: parts into which the connection is split; None for as many as Discord recommends.
        guild_ready_timeout: seconds without news of a further server after which start-up counts as complete.
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
        shards: int | None = 1,
        guild_ready_timeout: float = 2.0,
    ) -> None:
        self._token = token
        self._on_message = on_message
        self._is_for_us = is_for_us
        self._on_change = on_change
        self._order = asyncio.Lock()
        self._commands = commands
        self._actions = actions
        self._api_url = api_url
        self._gateway_url = gateway_url
        self._last_seen = last_seen
        self._shards = shards
        self._guild_ready_timeout = guild_ready_timeout
        self._client: _Client | None = None
        self._connection: asyncio.Task[None] | None = None
        self._storing: set[asyncio.Future[Any]] = set()
        self._catching_up: set[asyncio.Future[None]] = set()
        self._delivery = DiscordDelivery(lambda: self._client)

    # the connection

    async def start(self) -> None:
        """Log in, connect, and return once the servers are known. The connection is kept in the background.

        Where the message content intent is switched off, the bot still answers direct chats and mentions.

        Raises:
            AdapterStartFailed: the token is refused, or Discord cannot be reached.
        """
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
        client = _Client(
            self,
            commands=self._commands,
            actions=self._actions,
            message_content=message_content,
            guild_ready_timeout=self._guild_ready_timeout,
            shards=self._shards,
        )
        self._client = client
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

    async def _until_ready(self, client: _Client, connection: asyncio.Task[None]) -> None:
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
        for catching_up in self._catching_up:
            catching_up.cancel()
        if self._client is not None:
            await self._client.close()
        if self._connection is not None:
            self._connection.cancel()  # it may be waiting to reconnect
            await asyncio.wait({self._connection})
        if self._storing:
            await asyncio.wait(self._storing)

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

    # what comes in

    async def receive(self, message: discord.Message) -> None:
        """Hand a message of Discord's over if it is for the bot."""
        if self._client is None or self._client.user is None:
            return
        heard = heard_in(message, self._client.user)
        if heard is None:
            return
        await self._store(heard)

    async def _store(self, heard: Heard) -> bool:
        storing = asyncio.ensure_future(self._take_in(heard))
        self._storing.add(storing)
        storing.add_done_callback(self._storing.discard)
        return await storing

    async def catch_up(self) -> None:
        """Take in what was said while the session was lost, each message marked as late."""
        if self._last_seen is None or self._client is None or self._client.user is None:
            return
        catching_up = asyncio.ensure_future(self._catch_up(self._client, self._client.user, self._last_seen))
        self._catching_up.add(catching_up)
        catching_up.add_done_callback(self._catching_up.discard)
        await asyncio.wait({catching_up})
        if not catching_up.cancelled():  # by ``stop``; what is still missing is found after the next start
            catching_up.result()

    async def _catch_up(self, client: _Client, me: discord.ClientUser, last_seen: LastSeen) -> None:
        late = 0
        async for message in missed_messages(client, last_seen):
            heard = heard_in(message, me)
            if heard is not None:
                late += await self._store(replace(heard, message=replace(heard.message, late=True)))
        if late:
            _log.info("discord_caught_up", messages=late)

    async def follow(self, change: PlatformChange) -> None:
        """Have a change followed, after what was said before it."""
        following = asyncio.ensure_future(self._follow(change))
        self._storing.add(following)
        following.add_done_callback(self._storing.discard)
        await following

    async def _follow(self, change: PlatformChange) -> None:
        async with self._order:
            await self._on_change(change)

    async def _take_in(self, heard: Heard) -> bool:
        async with self._order:
            new = await self._is_for_us(heard) and await self._on_message(heard.message)
        if self._last_seen is not None:
            self._last_seen.note(heard.message.conversation.key, heard.message.id, heard.message.sent_at)
        return new

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

    async def was_delivered(self, message: OutgoingMessage) -> bool:
        """Whether an answer is there already; see ``DiscordDelivery.was_delivered``. Raises DeliveryFailed."""
        return await self._delivery.was_delivered(message)

    async def recent(self, conversation: Conversation, *, limit: int) -> Sequence[IncomingMessage]:
        """What was said lately; see ``discord_history.recent_messages``. Raises HistoryUnreadable."""
        return await recent_messages(self._client, conversation, limit=limit)

    async def fetch_file(self, message: IncomingMessage, file: AttachedFile, *, limit: int) -> bytes:
        """Fetch a file of a message; see ``discord_files.fetch_file``. Raises FileUnreadable."""
        return await fetch_file(self._client, message, file, limit=limit)

    def typing(self, conversation: Conversation, asked: str) -> AbstractAsyncContextManager[None]:
        """Show that an answer is being written."""
        return self._delivery.typing(conversation, asked)
