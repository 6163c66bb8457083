"""The loopback Discord, used by a plain discord.py client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import discord
import pytest
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.doubles.discord import DiscordDouble, Scripted
from tests.doubles.discord_gateway import TOKEN


class Listener(discord.Client):
    """Keeps what it hears."""

    def __init__(self) -> None:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        super().__init__(intents=intents, guild_ready_timeout=0.05)
        self.heard: asyncio.Queue[discord.Message] = asyncio.Queue()

    async def on_message(self, message: discord.Message) -> None:
        await self.heard.put(message)

    async def next_text(self) -> str:
        async with asyncio.timeout(20):
            return (await self.heard.get()).content


@pytest.fixture
async def double() -> AsyncIterator[DiscordDouble]:
    async with DiscordDouble().running() as running:
        yield running


@asynccontextmanager
async def connected(double: DiscordDouble, token: str = TOKEN) -> AsyncIterator[Listener]:
    Route.BASE = double.api_url
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(double.gateway_url)
    client = Listener()
    async with client:
        await client.login(token)
        connection = asyncio.create_task(client.connect())
        ready = asyncio.create_task(client.wait_until_ready())
        await asyncio.wait({connection, ready}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if connection.done():
                connection.result()
            yield client
        finally:
            ready.cancel()
            await client.close()
            await asyncio.wait({connection})


async def test_a_client_sees_the_servers_and_hears_what_users_say(double: DiscordDouble) -> None:
    ann = double.add_user("Ann")
    guild = double.add_guild("Garden")
    channel = double.add_channel(guild, "general")
    double.add_thread(channel, "roses")
    async with connected(double) as client:
        (seen,) = client.guilds
        await double.post(channel, ann, "hello")
        message = await client.heard.get()

    assert (seen.name, [c.name for c in seen.channels], [t.name for t in seen.threads]) == (
        "Garden",
        ["general"],
        ["roses"],
    )
    assert (message.author.display_name, message.content, message.guild) == ("Ann", "hello", seen)


async def test_a_message_can_be_delivered_twice(double: DiscordDouble) -> None:
    ann, chat = double.add_user("Ann"), double.add_dm()
    async with connected(double) as client:
        await double.post(chat, ann, "hello", times=2)
        first, second = await client.heard.get(), await client.heard.get()

    assert first.id == second.id


async def test_what_the_bot_sends_is_kept_and_comes_back_to_it(double: DiscordDouble) -> None:
    chat = double.add_dm()
    async with connected(double) as client:
        await client.get_partial_messageable(int(chat.id)).send("hello", nonce="n-1")
        assert await client.next_text() == "hello"

    assert [(sent["content"], sent["nonce"]) for sent in await double.until_sent(1)] == [("hello", "n-1")]


async def test_a_text_over_two_thousand_characters_is_refused(double: DiscordDouble) -> None:
    chat = double.add_dm()
    async with connected(double) as client:
        with pytest.raises(discord.HTTPException) as refused:
            await client.get_partial_messageable(int(chat.id)).send("x" * 2_001)

    assert refused.value.code == 50035


async def test_a_repeated_nonce_makes_no_second_message_while_it_is_remembered(double: DiscordDouble) -> None:
    chat = double.add_dm()
    async with connected(double) as client:
        channel = client.get_partial_messageable(int(chat.id))
        first = await channel.send("hello", nonce="n-1")
        assert (await channel.send("hello", nonce="n-1")).id == first.id
        double.remembers_nonces = False
        assert (await channel.send("hello", nonce="n-1")).id != first.id


async def test_history_is_paged_as_discord_does(double: DiscordDouble) -> None:
    ann, chat = double.add_user("Ann"), double.add_dm()
    async with connected(double) as client:
        ids = [await double.post(chat, ann, str(number)) for number in range(5)]
        channel = client.get_partial_messageable(int(chat.id))
        middle = discord.Object(int(ids[2]))
        newest = [message.content async for message in channel.history(limit=2)]
        before = [message.content async for message in channel.history(before=middle, limit=5)]
        after = [message.content async for message in channel.history(after=middle, limit=5)]
        around = [message.content async for message in channel.history(around=middle, limit=3)]

    assert (newest, before, after, around) == (["4", "3"], ["1", "0"], ["3", "4"], ["3", "2", "1"])


async def test_an_unknown_message_cannot_be_replied_to_unless_that_is_allowed(double: DiscordDouble) -> None:
    chat = double.add_dm()
    async with connected(double) as client:
        channel = client.get_partial_messageable(int(chat.id))
        gone = channel.get_partial_message(1)
        with pytest.raises(discord.HTTPException):
            await channel.send("hello", reference=gone)
        sent = await channel.send("hello", reference=gone.to_reference(fail_if_not_exists=False))

    assert sent.reference is None


async def test_a_wrong_token_is_refused(double: DiscordDouble) -> None:
    with pytest.raises(discord.LoginFailure):
        async with connected(double, token="wrong"):
            pass


async def test_the_message_content_intent_must_be_switched_on(double: DiscordDouble) -> None:
    double.gateway.message_content_allowed = False
    with pytest.raises(discord.PrivilegedIntentsRequired):
        async with connected(double):
            pass


async def test_a_dropped_session_is_resumed_and_misses_nothing(double: DiscordDouble) -> None:
    ann, chat = double.add_user("Ann"), double.add_dm()
    async with connected(double) as client:
        await double.gateway.drop()
        await double.post(chat, ann, "meanwhile")
        assert await client.next_text() == "meanwhile"

    assert double.gateway.resumed == 1
    assert len(double.gateway.identified) == 1


async def test_a_scripted_answer_is_given_once(double: DiscordDouble) -> None:
    chat = double.add_dm()
    double.script("POST", "/messages$", Scripted(status=403))
    async with connected(double) as client:
        channel = client.get_partial_messageable(int(chat.id))
        with pytest.raises(discord.Forbidden):
            await channel.send("hello")
        await channel.send("hello")

    assert (double.posts, len(double.sent)) == (2, 1)


async def test_a_held_message_is_kept_before_its_sender_knows(double: DiscordDouble) -> None:
    chat = double.add_dm()
    double.hold_messages()
    async with connected(double) as client:
        sending = asyncio.create_task(client.get_partial_messageable(int(chat.id)).send("hello"))
        await double.until_sent(1)
        assert not sending.done()
        double.release_messages()
        assert (await sending).content == "hello"
