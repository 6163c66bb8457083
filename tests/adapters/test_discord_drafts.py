"""Answers that grow by edits on Discord, and end as the one answer, whatever breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from adapters.discord_adapter import DiscordAdapter
from bot.chat import Conversation, DeliveryFailed, DeliveryRefused, IncomingMessage, OutgoingMessage
from tests.doubles.discord import DiscordDouble, Scripted
from tests.doubles.discord_gateway import TOKEN
from tests.doubles.discord_world import Channel

CODE = "```python\n" + "print('hello')\n" * 200 + "```"
PING_NOBODY = {"parse": [], "replied_user": True}


@dataclass(kw_only=True)
class Chat:
    """A direct chat in which something was asked."""

    discord: DiscordDouble
    adapter: DiscordAdapter
    channel: Channel
    asked: str

    def answer(self, text: str, draft: tuple[str, ...] | None = None) -> OutgoingMessage:
        conversation = Conversation(platform="discord", key=f"discord:{self.channel.id}", audience="dm")
        return OutgoingMessage(
            conversation=conversation, text=text, in_reply_to=self.asked, delivery_key="a1", draft=draft
        )

    @property
    def shown(self) -> list[str]:
        return self.discord.shown(self.channel)


async def ignore(_: IncomingMessage) -> bool:
    return True


@asynccontextmanager
async def connected(discord: DiscordDouble) -> AsyncIterator[DiscordAdapter]:
    adapter = DiscordAdapter(
        token=TOKEN,
        on_message=ignore,
        api_url=discord.api_url,
        gateway_url=discord.gateway_url,
        guild_ready_timeout=0.05,
    )
    try:
        await adapter.start()
        yield adapter
    finally:
        await adapter.stop()


@pytest.fixture
async def chat() -> AsyncIterator[Chat]:
    async with DiscordDouble().running() as discord:
        ann, channel = discord.add_user("Ann"), discord.add_dm()
        async with connected(discord) as adapter:
            asked = await discord.post(channel, ann, "Tell me")
            yield Chat(discord=discord, adapter=adapter, channel=channel, asked=asked)


async def test_a_draft_is_posted_once_as_a_reply_then_edited_and_pings_nobody(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer("Hello @everyone"))
    assert chat.shown == ["Hello @everyone …"]
    assert await chat.adapter.draft(chat.answer("Hello @everyone and <@1>", ids)) == ids
    await chat.adapter.send(chat.answer("Hello @everyone and <@1>.", ids))

    assert chat.shown == ["Hello @everyone and <@1>."]
    [post] = chat.discord.sent
    assert str(post["message_reference"]["message_id"]) == chat.asked
    assert [payload["allowed_mentions"] for payload in (post, *chat.discord.edits)] == [PING_NOBODY] * 3


async def test_an_answer_that_outgrows_a_message_goes_on_in_the_next_with_its_code_block_open(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer(CODE[:1_500]))
    ids = await chat.adapter.draft(chat.answer(CODE[:2_600], ids))
    assert len(ids) == 2
    assert all(part.count("```") == 2 and len(part) <= 2_000 for part in chat.shown)

    await chat.adapter.send(chat.answer(CODE, ids))

    assert len(chat.discord.sent) == 2
    assert [part.startswith("```python\n") and part.endswith("\n```") for part in chat.shown] == [True, True]
    assert sum(part.count("print('hello')") for part in chat.shown) == 200


async def test_an_answer_shorter_than_its_draft_leaves_nothing_of_it(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer("word " * 700))
    assert len(chat.shown) == 2
    await chat.adapter.send(chat.answer("My answer broke off.", ids))
    assert chat.shown == ["My answer broke off."]


async def test_an_unchanged_draft_is_not_edited_again(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer("Hello"))
    await chat.adapter.draft(chat.answer("Hello", ids))
    assert chat.discord.edits == []


async def test_a_draft_whose_response_was_lost_is_not_posted_again(chat: Chat) -> None:
    chat.discord.script("POST", "/messages$", Scripted(cut=True, served=True))
    ids = await chat.adapter.draft(chat.answer("Hello"))
    await chat.adapter.send(chat.answer("Hello there.", ids))
    assert chat.shown == ["Hello there."]


async def test_edits_that_discord_limits_are_left_for_later(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer("Hello"))
    chat.discord.script("PATCH", "/messages/", Scripted(status=429, body={"retry_after": 3, "global": False}))
    with pytest.raises(DeliveryFailed):
        await chat.adapter.draft(chat.answer("Hello you", ids))
    await chat.adapter.send(chat.answer("Hello you.", ids))
    assert chat.shown == ["Hello you."]


async def test_a_draft_that_somebody_deleted_is_given_up(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer("Hello"))
    chat.channel.messages.pop()
    with pytest.raises(DeliveryRefused):
        await chat.adapter.draft(chat.answer("Hello you", ids))
    with pytest.raises(DeliveryRefused):
        await chat.adapter.send(chat.answer("Hello you.", ids))
    assert chat.shown == []


@pytest.mark.parametrize("is_known", [True, False], ids=["its ids are known", "its ids were not noted"])
async def test_after_a_crash_a_draft_becomes_the_answer(chat: Chat, is_known: bool) -> None:
    ids = await chat.adapter.draft(chat.answer("The first words"))
    chat.discord.remembers_nonces = False  # it forgets them after some minutes
    again = chat.answer("Other words than before.", ids if is_known else ())
    async with connected(chat.discord) as adapter:
        assert await adapter.delivered_as(again) is None
        await adapter.send(again)
        assert await adapter.delivered_as(again) is not None
    assert chat.shown == ["Other words than before."]


async def test_after_a_crash_a_draft_of_two_messages_becomes_the_answer(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer("early words " * 250))
    chat.discord.remembers_nonces = False
    again = chat.answer("later words " * 250, ids)
    async with connected(chat.discord) as adapter:
        assert await adapter.delivered_as(again) is None
        await adapter.send(again)
    assert " ".join(chat.shown) == again.text.strip()
    assert len(chat.discord.sent) == 2


async def test_a_draft_can_be_ended_where_the_channel_cannot_be_read(chat: Chat) -> None:
    ids = await chat.adapter.draft(chat.answer("The first words"))
    async with connected(chat.discord) as adapter:
        chat.discord.script("GET", "/messages$", Scripted(status=403))
        assert await adapter.delivered_as(chat.answer("All words.", ids)) is None
        await adapter.send(replace(chat.answer("All words."), draft=ids))
    assert chat.shown == ["All words."]


async def test_a_short_rate_limit_is_waited_for_and_a_long_one_is_told(chat: Chat) -> None:
    def limited(seconds: float) -> Scripted:
        body = {"message": "You are being rate limited.", "retry_after": seconds, "global": False}
        return Scripted(status=429, body=body, headers={"Via": "1.1 google"})

    chat.discord.script("POST", "/messages$", limited(0.01), limited(600.0))
    with pytest.raises(DeliveryFailed) as failed:
        await chat.adapter.draft(chat.answer("Hello"))
    assert failed.value.retry_after == 600.0
    await chat.adapter.send(chat.answer("Hello."))
    assert chat.shown == ["Hello."]
    assert chat.discord.posts == 3
