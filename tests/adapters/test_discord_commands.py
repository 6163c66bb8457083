"""Slash commands, with the real discord.py, inside a simulated Discord that enforces what Discord enforces."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import discord
import pytest
import simcord
from simcord import SetupError
from simcord.builders import ChannelHandle, GuildHandle
from simcord.actors import MemberActor
from simcord.env import Env

from adapters.discord_commands import SlashCommands
from bot.commands import (
    Argument,
    Attachment,
    Command,
    CommandReply,
    Commands,
    Group,
    Invocation,
    Kind,
    Services,
    Suggestion,
)
from memory.errors import InvalidInput
from tests.world import World, running


@dataclass(slots=True, kw_only=True)
class Probe:
    """A table of two commands that answer what a test wants and keep how they were called."""

    reply: Callable[[Invocation], Awaitable[CommandReply]]
    suggestions: Sequence[Suggestion] = ()
    calls: list[Invocation] = field(default_factory=list)

    async def _run(self, services: Services, invocation: Invocation) -> CommandReply:
        self.calls.append(invocation)
        return await self.reply(invocation)

    async def _suggest(self, services: Services, invocation: Invocation) -> Sequence[Suggestion]:
        self.calls.append(invocation)
        return self.suggestions

    @property
    def table(self) -> tuple[Command, ...]:
        note = Argument(name="note", help="What to note.", required=False)
        person = Argument(name="person", help="Whose.", kind=Kind.PERSON)
        version = Argument(
            name="version", help="Which." + " Choose." * 20, kind=Kind.NUMBER, required=False, suggest=self._suggest
        )
        return (
            Command(group=Group.MYDATA, name="show", help="Show it.", run=self._run, arguments=(note,)),
            Command(group=Group.MEMORY, name="roll-back", help="Go back.", run=self._run, arguments=(person, version)),
        )


def answering(text: str, **more: object) -> Probe:
    async def reply(invocation: Invocation) -> CommandReply:
        return CommandReply(text=text, **more)  # type: ignore[arg-type]

    return Probe(reply=reply)


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


class Client(discord.Client):
    """A bot that does nothing but offer the commands; the whole adapter is tested over its own loopback double."""

    def __init__(self, table: Sequence[Command], world: World) -> None:
        super().__init__(intents=discord.Intents.default())
        self.tree = SlashCommands(self, Commands(table, Services(system=world.system, clock=world.clock)))

    async def setup_hook(self) -> None:
        await self.tree.register()


@asynccontextmanager
async def server(folder: Path, table: Sequence[Command]) -> AsyncIterator[Server]:
    async with running(folder) as world, simcord.run(Client(table, world)) as env:
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


# rendering


async def test_a_command_is_acknowledged_at_once_and_answered_for_its_caller_alone(tmp_path: Path) -> None:
    probe = answering("Only you see this.")
    async with server(tmp_path, probe.table) as place:
        result = await place.ann.slash(place.channel, "mydata show", note="hello")

        assert result.deferred
        assert result.ephemeral
        assert place.seen_by(place.ann)[-1] == "Only you see this."
        assert place.seen_by(place.bob) == []
    [call] = probe.calls
    assert call.arguments == {"note": "hello"}
    assert call.caller.person == f"discord:{place.ann.id}"
    assert call.caller.admin_of == frozenset()
    assert call.conversation.key == f"discord:{place.channel.id}"
    assert call.conversation.audience == f"guild:{place.guild.id}"
