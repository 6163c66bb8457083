"""discord.py's client, with its events bound to the intake, and its commands.

Invariant: nothing that a model writes pings anybody but whom it answers.
"""

from __future__ import annotations

import asyncio
import sys

import discord
import structlog

from adapters.discord_changes import ChangeEvents, servers_of
from adapters.discord_commands import SlashCommands
from adapters.discord_intake import DiscordIntake
from bot.actions import Actions
from bot.changes import PlatformChange
from bot.commands import Commands
from memory.errors import MemorySystemError

_LONGEST_RATE_LIMIT = 60.0

_log = structlog.get_logger(__name__)


class DiscordClient(ChangeEvents):
    """One connection, on as many shards as are needed.

    Args:
        intake: takes in what comes.
        commands: offered as slash commands; None for a bot that only chats.
        actions: offered in the menus of messages and below answers.
        message_content: whether to ask for the texts of all messages.
        guild_ready_timeout: seconds without news of a further server after which start-up counts as complete.
        heartbeat_timeout: seconds without a sign of life from the gateway after which the connection is renewed.
        identify_pause: seconds before a further session is begun.
        shards: parts into which the connection is split; None for as many as Discord recommends.
    """

    def __init__(
        self,
        intake: DiscordIntake,
        *,
        commands: Commands | None,
        actions: Actions | None,
        message_content: bool,
        guild_ready_timeout: float,
        heartbeat_timeout: float,
        identify_pause: float,
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
            heartbeat_timeout=heartbeat_timeout,
            shard_count=shards,
        )
        self._intake = intake
        self._identify_pause = identify_pause
        self.tree = None if commands is None else SlashCommands(self, commands, actions or Actions((), commands))

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        if not initial:
            await asyncio.sleep(self._identify_pause)

    async def setup_hook(self) -> None:
        if self.tree is not None:
            await self.tree.register()

    async def close(self) -> None:
        if self.tree is not None:
            await self.tree.stop()
        await super().close()

    async def on_message(self, message: discord.Message) -> None:
        if self.user is not None:
            await self._intake.receive(message, self.user)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        if self.tree is not None:
            await self.tree.clicked(interaction)

    async def on_error(self, event_method: str, /, *args: object, **kwargs: object) -> None:
        """Tell in one line what memory could not do with an event; all else as the library does."""
        error = sys.exception()
        if isinstance(error, MemorySystemError):
            _log.error("discord_event_failed", what=event_method, error=str(error))
            if self.user is not None:
                self._intake.not_stored(self, self.user)
        else:
            await super().on_error(event_method, *args, **kwargs)

    async def on_guild_available(self, _: discord.Guild) -> None:
        if self.user is not None and self.is_ready():
            self._intake.server_came(self, self.user)

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self._intake.lost(shard_id)

    async def on_shard_connect(self, shard_id: int) -> None:
        self._intake.renewed(shard_id)

    async def on_shard_resumed(self, shard_id: int) -> None:
        self._intake.resumed(shard_id)

    async def on_shard_ready(self, _: int) -> None:
        if self.is_ready() and len(self.shards) > 1:  # of one shard's new session ``on_ready`` does not tell
            await self._catch_up()

    async def on_ready(self) -> None:
        _log.info("discord_ready", servers=len(self.guilds), message_content=self.intents.message_content)
        await self.follow(servers_of(self))
        await self._catch_up()

    async def _catch_up(self) -> None:
        if self.user is not None:
            await self._intake.catch_up(self, self.user)

    async def follow(self, change: PlatformChange) -> None:
        await self._intake.follow(change)
