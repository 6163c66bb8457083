"""A server in a simulated Discord, with a bot that chats and offers commands, on a real memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import discord
import simcord
from simcord.actors import MemberActor
from simcord.builders import ChannelHandle, GuildHandle
from simcord.env import Env

from adapters.discord_changes import ChangeEvents
from adapters.discord_commands import SlashCommands
from adapters.discord_message import heard_in
from bot.actions import Action, Actions
from bot.changes import PlatformChange
from bot.commands import Command, Commands, Services
from tests.desk import usual_settings
from tests.fakes import RecordingChannel, ScriptedModel
from tests.world import World, running

_PATIENCE = 60.0  # seconds until simcord gives up: a busy machine fails nothing


class Client(ChangeEvents):
    """A bot around the commands; the adapter's own client is tested over the loopback double."""

    def __init__(self, table: Sequence[Command], world: World, actions: Sequence[Action] = ()) -> None:
        super().__init__(
            intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True),
            shard_count=1,
        )
        services = Services(system=world.system, settings=usual_settings(), clock=world.clock)
        commands = Commands(table, services)
        self.tree = SlashCommands(self, commands, Actions(actions, commands))
        self._world = world

    async def setup_hook(self) -> None:
        await self.tree.register()

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        await self.tree.clicked(interaction)

    async def on_message(self, message: discord.Message) -> None:
        assert self.user is not None
        heard = heard_in(message, self.user)
        if heard is not None and await self._world.listener.is_for_us(heard):
            await self._world.following.accept(heard.message)

    async def follow(self, change: PlatformChange) -> None:
        await self._world.following.apply(change)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server with a channel, an admin and two members."""

    env: Env
    world: World
    guild: GuildHandle
    channel: ChannelHandle
    admin: MemberActor
    ann: MemberActor
    bob: MemberActor

    def seen_by(self, viewer: MemberActor, channel: ChannelHandle | None = None) -> list[str]:
        return [message.content for message in (channel or self.channel).history(viewer=viewer)]

    async def say(self, who: MemberActor, text: str) -> None:
        """Somebody speaks to the bot; returns when everything that follows from it is done."""
        await who.send(self.channel, f"<@{self.env.bot.user.id}> {text}")
        await self.world.handler.idle()
        await self.world.system.settle()

    async def open_to_everyone(self) -> None:
        """What an admin can do to every command in the server's settings, under Integrations."""
        for command in await self.env.bot.tree.fetch_commands():
            self.guild.set_command_permissions(command, {self.guild.default_role: True})


@asynccontextmanager
async def server(
    folder: Path,
    table: Sequence[Command],
    *,
    memory_model: ScriptedModel | None = None,
    actions: Sequence[Action] = (),
) -> AsyncIterator[Server]:
    channel = RecordingChannel("discord")
    async with (
        running(folder, memory_model=memory_model, channel=channel) as world,
        simcord.run(Client(table, world, actions), settle_timeout=_PATIENCE) as env,
    ):
        guild = env.create_guild()
        admins = guild.create_role("Admins", permissions=discord.Permissions(manage_guild=True))
        yield Server(
            env=env,
            world=world,
            guild=guild,
            channel=guild.create_text_channel("general"),
            admin=guild.add_member(env.create_user("admin"), roles=[admins]),
            ann=guild.add_member(env.create_user("ann")),
            bob=guild.add_member(env.create_user("bob")),
        )
