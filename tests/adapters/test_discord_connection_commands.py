"""Slash commands of the whole Discord adapter, over a Discord on loopback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord_adapter import DiscordAdapter
from bot.actions import Action, Actions
from bot.chat import IncomingMessage
from bot.commands import Command, CommandReply, Commands, Group, Invocation, Services
from memory.database import open_database
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.policy.audience import reach_of_person
from memory.ports import Vectors
from memory.records import Scope, Source
from memory.stores.search import SearchStore
from tests.desk import usual_settings
from tests.doubles.discord import DiscordDouble, Scripted
from tests.doubles.discord_gateway import TOKEN
from tests.fakes import HashEmbedder
from tests.world import World, running

_COMMANDS = r"/applications/\d+/commands$"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path) as world:
        yield world


async def ignored(message: IncomingMessage) -> bool:
    return True


async def here(invocation: Invocation) -> CommandReply:
    return CommandReply(text="Here.")


@asynccontextmanager
async def started(
    discord: DiscordDouble, world: World, reply: Callable[[Invocation], Awaitable[CommandReply]] = here
) -> AsyncIterator[DiscordAdapter]:
    async def run(services: Services, invocation: Invocation) -> CommandReply:
        return await reply(invocation)

    table = [Command(group=Group.MYDATA, name="show", help="Show it.", run=run)]
    commands = Commands(table, Services(system=world.system, settings=usual_settings(), clock=world.clock))
    adapter = DiscordAdapter(
        token=TOKEN,
        on_message=ignored,
        commands=commands,
        actions=Actions([Action(name="show", label="Show", command=table[0])], commands),
        api_url=discord.api_url,
        gateway_url=discord.gateway_url,
        guild_ready_timeout=0.05,
    )
    try:
        await adapter.start()
        yield adapter
    finally:
        await adapter.stop()


async def test_a_command_is_acknowledged_and_answered(discord: DiscordDouble, world: World) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, world):
        call = await discord.interactions.call(chat, ann, "mydata show")
        await discord.until(lambda: bool(call.answers))

    assert (call.acknowledged, call.ephemeral, call.answers) == (5, True, ["Here."])


class HeldIndex(FaissIndex):
    """An index whose searches last until a test lets them end."""

    begun = threading.Event()
    may_end = threading.Event()

    def search(self, vector: Vectors, limit: int) -> list[tuple[int, float]]:
        self.begun.set()
        self.may_end.wait(20)
        return super().search(vector, limit)


async def test_a_command_is_acknowledged_and_answered_while_a_search_takes_long(
    discord: DiscordDouble, world: World, tmp_path: Path
) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    scope = Scope(person="console:ann", audience="dm")
    database = await open_database(f"sqlite:///{tmp_path}/other.db")
    async with started(discord, world):
        store = SearchStore(database, SqliteTextIndex(), HashEmbedder(), IdSource(world.clock), new_index=HeldIndex)
        async with database.transaction() as tx:
            await store.put(scope, tx, source=Source.RECALL, items=[(1, "I live in Oslo.")])
        await store.embed_pending()
        searching = asyncio.create_task(
            store.search(reach_of_person("console:ann"), source=Source.RECALL, query="Oslo", limit=5)
        )
        await asyncio.to_thread(HeldIndex.begun.wait, 20)
        call = await discord.interactions.call(chat, ann, "mydata show")
        await discord.until(lambda: bool(call.answers))
        assert not searching.done()
        HeldIndex.may_end.set()
        assert len(await searching) == 1
    await database.close()


async def test_commands_are_registered_once_however_often_the_bot_connects(
    discord: DiscordDouble, world: World
) -> None:
    async with started(discord, world):
        await discord.gateway.repeat_ready()
    async with started(discord, world):
        pass

    assert discord.interactions.registrations == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("description", "Old."), ("contexts", [0]), ("default_member_permissions", "8"), ("options", [])],
)
async def test_commands_are_registered_anew_where_discord_knows_another_form_of_them(
    discord: DiscordDouble, world: World, name: str, value: object
) -> None:
    async with started(discord, world):
        pass
    [registered] = discord.interactions.registered
    wanted, registered[name] = registered[name], value
    async with started(discord, world):
        pass

    assert discord.interactions.registrations == 2
    assert discord.interactions.registered[0][name] == wanted


async def test_a_bot_refused_the_message_content_intent_registers_once_too(
    discord: DiscordDouble, world: World
) -> None:
    discord.gateway.message_content_allowed = False
    async with started(discord, world):
        pass

    assert discord.interactions.registrations == 1


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_a_bot_whose_commands_cannot_be_registered_still_connects(
    discord: DiscordDouble, world: World, method: str
) -> None:
    discord.script(method, _COMMANDS, Scripted(status=403))
    async with started(discord, world) as adapter:
        assert adapter.state()["connected"] is True

    assert discord.interactions.registrations == 0


async def test_stopping_waits_for_the_answer_of_a_running_command(discord: DiscordDouble, world: World) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def slow(invocation: Invocation) -> CommandReply:
        begun.set()
        await may_end.wait()
        return CommandReply(text="Just in time.")

    async with started(discord, world, slow) as adapter:
        call = await discord.interactions.call(chat, ann, "mydata show")
        await begun.wait()
        stopping = asyncio.create_task(adapter.stop())
        stopped_early, _ = await asyncio.wait({stopping}, timeout=0.1)
        may_end.set()
        await stopping

    assert not stopped_early
    assert call.answers == ["Just in time."]


async def test_a_command_that_does_not_end_is_broken_off_and_its_caller_told(
    discord: DiscordDouble, world: World
) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    begun = asyncio.Event()

    async def endless(invocation: Invocation) -> CommandReply:
        begun.set()
        await asyncio.Event().wait()
        return CommandReply(text="Never.")

    async with started(discord, world, endless) as adapter:
        call = await discord.interactions.call(chat, ann, "mydata show")
        await begun.wait()
        await adapter.stop()

    assert ["I was stopped before this was done" in answer for answer in call.answers] == [True]


async def test_a_click_on_a_button_of_an_earlier_process_is_acknowledged_and_answered(
    discord: DiscordDouble, world: World
) -> None:
    ann, bob, chat = discord.add_user("Ann"), discord.add_user("Bob"), discord.add_dm()
    async with started(discord, world):
        call = await discord.interactions.click(chat, ann, f"keepsake/show//n/discord:{ann.id}")
        await discord.until(lambda: bool(call.answers))
        refused = await discord.interactions.click(chat, bob, f"keepsake/show//n/discord:{ann.id}")
        await discord.until(lambda: refused.acknowledged is not None)

    assert (call.acknowledged, call.ephemeral, call.answers) == (5, True, ["Here."])
    assert (refused.acknowledged, refused.ephemeral) == (4, True)


async def test_a_command_whose_acknowledgement_is_lost_is_not_run(discord: DiscordDouble, world: World) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    calls: list[Invocation] = []

    async def counting(invocation: Invocation) -> CommandReply:
        calls.append(invocation)
        return CommandReply(text="Here.")

    discord.script("POST", "/callback$", Scripted(cut=True))
    async with started(discord, world, counting):
        await discord.interactions.call(chat, ann, "mydata show")
        await discord.until_scripts_are_used()
        again = await discord.interactions.call(chat, ann, "mydata show")
        await discord.until(lambda: bool(again.answers))

    assert len(calls) == 1
