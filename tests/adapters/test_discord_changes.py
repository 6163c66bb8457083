"""What people edit and delete on Discord, and servers that the bot leaves, with the real discord.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.discord_adapter import DiscordAdapter
from bot.changes import MessageEdited, MessagesDeleted, PlaceLeft, PlacesKnown, PlatformChange
from bot.chat import IncomingMessage
from bot.command_table import COMMAND_TABLE
from memory.errors import ModelOverloaded
from memory.records import Scope
from tests.adapters.discord_server import Server, server
from tests.desk import learning
from tests.doubles.discord import DiscordDouble
from tests.doubles.discord_gateway import TOKEN
from tests.doubles.discord_world import START
from tests.fakes import ScriptedModel

OSLO, ROME = "I live in Oslo.", "I live in Rome."
LEARNS = {"Oslo": [{"text": "User lives in Oslo"}], "Rome": [{"text": "User lives in Rome"}]}


async def remembered(place: Server) -> list[str]:
    scope = Scope(person=f"discord:{place.ann.id}", audience=f"guild:{place.guild.id}")
    return [fact.text for fact in await place.world.system.stores.facts.current(scope)]


def said_to_us(place: Server, text: str) -> str:
    return f"<@{place.env.bot.user.id}> {text}"


async def test_an_edited_message_changes_the_fact(tmp_path: Path) -> None:
    async with server(tmp_path, COMMAND_TABLE, memory_model=learning(LEARNS)) as place:
        message = await place.ann.send(place.channel, said_to_us(place, OSLO))
        await place.world.handler.idle()
        await place.world.system.settle()
        assert await remembered(place) == ["User lives in Oslo"]
        await place.ann.edit(message, said_to_us(place, ROME))
        await place.world.system.settle()
        assert await remembered(place) == ["User lives in Rome"]
        assert "Oslo" not in str(await place.world.system.privacy.export(f"discord:{place.ann.id}"))


async def test_a_message_deleted_before_it_is_learned_from_leaves_nothing(tmp_path: Path) -> None:
    model = ScriptedModel(ModelOverloaded("busy"), default=learning(LEARNS).default)
    async with server(tmp_path, COMMAND_TABLE, memory_model=model) as place:
        message = await place.ann.send(place.channel, said_to_us(place, OSLO))
        await place.world.handler.idle()
        await place.world.system.settle()
        assert len(model.requests) == 1
        await place.ann.delete(message)
        place.world.clock.advance(minutes=1)
        await place.world.system.settle()
        scope = Scope(person=f"discord:{place.ann.id}", audience=f"guild:{place.guild.id}")
        assert await place.world.system.stores.jobs.unfinished(scope) == []
        assert "Oslo" not in str(await place.world.system.privacy.export(scope.person))


class Told:
    """What the adapter tells."""

    def __init__(self) -> None:
        self.changes: list[PlatformChange] = []
        self.messages: list[IncomingMessage] = []
        self._arrived = asyncio.Condition()

    async def store(self, message: IncomingMessage) -> bool:
        self.messages.append(message)
        return True

    async def follow(self, change: PlatformChange) -> None:
        async with self._arrived:
            self.changes.append(change)
            self._arrived.notify_all()

    async def next(self, kind: type[PlatformChange]) -> PlatformChange:
        """The first change of a kind, once it is there; it is told no more then."""
        async with asyncio.timeout(20), self._arrived:
            await self._arrived.wait_for(lambda: any(isinstance(change, kind) for change in self.changes))
            found = next(change for change in self.changes if isinstance(change, kind))
            self.changes.remove(found)
            return found


@asynccontextmanager
async def telling(discord: DiscordDouble) -> AsyncIterator[Told]:
    told = Told()
    adapter = DiscordAdapter(
        token=TOKEN,
        on_message=told.store,
        on_change=told.follow,
        api_url=discord.api_url,
        gateway_url=discord.gateway_url,
        guild_ready_timeout=0.05,
    )
    try:
        await adapter.start()
        yield told
    finally:
        await adapter.stop()


async def test_an_edit_is_told_with_its_words_and_a_preview_is_not(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with telling(discord) as told:
        message = await discord.post(chat, ann, OSLO)
        await discord.edit(chat, message, OSLO, edited=False)
        await discord.edit(chat, message, ROME)
        change = await told.next(MessageEdited)

    assert change == MessageEdited(channel=f"discord:{chat.id}", id=message, text=ROME, at=START)
    assert not any(isinstance(one, MessageEdited) for one in told.changes)


async def test_an_edit_whose_words_are_hidden_from_us_counts_as_a_deletion(discord: DiscordDouble) -> None:
    discord.gateway.message_content_allowed = False
    ann, channel = discord.add_user("Ann"), discord.add_channel(discord.add_guild("Garden"), "general")
    async with telling(discord) as told:
        message = await discord.post(channel, ann, f"{discord.bot.mention} {OSLO}")
        await discord.edit(channel, message, "not to you any more")
        change = await told.next(MessagesDeleted)

    assert change == MessagesDeleted(channel=f"discord:{channel.id}", ids=(message,))


async def test_many_messages_deleted_at_once_are_told_together(discord: DiscordDouble) -> None:
    guild = discord.add_guild("Garden")
    ann, channel = discord.add_user("Ann"), discord.add_channel(guild, "general")
    async with telling(discord) as told:
        ids = [await discord.post(channel, ann, f"{discord.bot.mention} {count}") for count in range(3)]
        deleted = {"ids": ids, "channel_id": channel.id, "guild_id": guild.id}
        await discord.gateway.dispatch("MESSAGE_DELETE_BULK", deleted)
        change = await told.next(MessagesDeleted)

    assert change == MessagesDeleted(channel=f"discord:{channel.id}", ids=tuple(ids))


async def test_a_server_that_the_bot_is_removed_from_is_left_and_one_in_an_outage_is_not(
    discord: DiscordDouble,
) -> None:
    garden, forge = discord.add_guild("Garden"), discord.add_guild("Forge")
    async with telling(discord) as told:
        known = await told.next(PlacesKnown)
        await discord.gateway.dispatch("GUILD_DELETE", {"id": forge.id, "unavailable": True})
        await discord.gateway.dispatch("GUILD_DELETE", {"id": garden.id})
        left = await told.next(PlaceLeft)

    assert known == PlacesKnown(kind="guild", places=frozenset({f"guild:{garden.id}", f"guild:{forge.id}"}))
    assert left == PlaceLeft(place=f"guild:{garden.id}")
    assert not any(isinstance(change, PlaceLeft) for change in told.changes)


async def test_deleted_channels_and_threads_are_left(discord: DiscordDouble) -> None:
    guild = discord.add_guild("Garden")
    channel = discord.add_channel(guild, "shed", hidden=True)
    thread = discord.add_thread(channel, private=True)
    async with telling(discord) as told:
        where = {"guild_id": guild.id, "parent_id": channel.id, "type": thread.kind}
        await discord.gateway.dispatch("THREAD_DELETE", {"id": thread.id, **where})
        first = await told.next(PlaceLeft)
        await discord.gateway.dispatch("CHANNEL_DELETE", channel.payload())
        second = await told.next(PlaceLeft)

    assert (first, second) == (PlaceLeft(place=f"channel:{thread.id}"), PlaceLeft(place=f"channel:{channel.id}"))
