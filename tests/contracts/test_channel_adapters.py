"""What every channel adapter promises: the console, Discord, Slack, and the stand-in that other tests use."""

from __future__ import annotations

import asyncio
import html
import queue
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from adapters.console import ConsoleAdapter
from adapters.discord_adapter import DiscordAdapter
from adapters.slack_adapter import SlackAdapter
from bot.changes import MessageEdited, MessagesDeleted, PlatformChange
from bot.chat import (
    AttachedFile,
    ChannelAdapter,
    DeliveryFailed,
    DeliveryRefused,
    FileUnreadable,
    HistoryUnreadable,
    IncomingMessage,
    OutgoingMessage,
    incoming_from_json,
    incoming_to_json,
)
from memory.records import check_audience, check_person
from tests.doubles import discord as discord_double
from tests.doubles import slack as slack_double
from tests.doubles.discord_gateway import TOKEN
from tests.fakes import FakeClock, RecordingChannel
from tests.world import dm

LONG = " ".join(f"word{count}" for count in range(2_000))[:10_000]


@dataclass(kw_only=True)
class Inbox:
    """Takes in what an adapter hands over, and lets a test wait for it."""

    messages: asyncio.Queue[IncomingMessage] = field(default_factory=asyncio.Queue)
    changes: asyncio.Queue[PlatformChange] = field(default_factory=asyncio.Queue)

    async def follow(self, change: PlatformChange) -> None:
        if isinstance(change, MessageEdited | MessagesDeleted):
            await self.changes.put(change)

    async def next_change(self) -> PlatformChange:
        async with asyncio.timeout(20):
            return await self.changes.get()

    async def store(self, message: IncomingMessage) -> bool:
        await self.messages.put(message)
        return True

    async def next(self) -> IncomingMessage:
        async with asyncio.timeout(20):
            return await self.messages.get()


@dataclass(frozen=True, kw_only=True)
class Stage:
    """An adapter in front of its platform.

    Attributes:
        adapter: the adapter.
        asked: says something to the bot; the message as the adapter hands it over.
        shown: what the bot said there, in order.
        posted: the ids of that; none where nothing has one.
        trouble: lets the next attempt to deliver fail like this.
        remembers: whether it can be looked up what was said there.
        edited: lets the author of what was last said put other words in its place; the change as the adapter tells it.
        deleted: lets the author delete it, likewise.
        shows_history: whether what people said can be read again.
    """

    adapter: ChannelAdapter
    asked: Callable[[str], Awaitable[IncomingMessage]]
    shown: Callable[[], list[str]]
    trouble: Callable[[type[Exception]], None]
    posted: Callable[[], list[str]] = list
    remembers: bool = True
    edited: Callable[[str], Awaitable[PlatformChange]] | None = None
    deleted: Callable[[], Awaitable[PlatformChange]] | None = None
    shows_history: bool = True

    async def answer(self, text: str = "Hello.", *, key: str = "a1") -> OutgoingMessage:
        """An answer to something that somebody said."""
        asked = await self.asked("How are you?")
        return OutgoingMessage(conversation=asked.conversation, text=text, in_reply_to=asked.id, delivery_key=key)


@asynccontextmanager
async def on_console() -> AsyncIterator[Stage]:
    typed: queue.Queue[str | None] = queue.Queue()
    shown: list[str] = []
    inbox = Inbox()
    broken: list[Exception] = []

    def write(text: str) -> None:
        if broken:
            raise broken.pop()
        shown.append(text)

    adapter = ConsoleAdapter(
        name="ann",
        audience="dm",
        on_message=inbox.store,
        settled=asyncio.Event().wait,
        clock=FakeClock(),
        read_line=typed.get,
        write=write,
    )

    async def asked(text: str) -> IncomingMessage:
        typed.put(text)
        return await inbox.next()

    reading = asyncio.create_task(adapter.run())
    yield Stage(
        adapter=adapter,
        asked=asked,
        shown=lambda: shown,
        trouble=lambda _: broken.append(BrokenPipeError()),
        remembers=False,
        shows_history=False,
    )
    typed.put(None)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


@asynccontextmanager
async def on_discord() -> AsyncIterator[Stage]:
    async with discord_double.DiscordDouble().running() as discord:
        ann, chat = discord.add_user("Ann"), discord.add_dm()
        inbox = Inbox()
        adapter = DiscordAdapter(
            token=TOKEN,
            on_message=inbox.store,
            on_change=inbox.follow,
            api_url=discord.api_url,
            gateway_url=discord.gateway_url,
            guild_ready_timeout=0.05,
        )

        async def asked(text: str) -> IncomingMessage:
            await discord.post(chat, ann, text)
            return await inbox.next()

        async def edited(text: str) -> PlatformChange:
            await discord.edit(chat, chat.messages[-1]["id"], text)
            return await inbox.next_change()

        async def deleted() -> PlatformChange:
            gone = {"id": chat.messages.pop()["id"], "channel_id": chat.id}
            await discord.gateway.dispatch("MESSAGE_DELETE", gone)
            return await inbox.next_change()

        def trouble(kind: type[Exception]) -> None:
            status = 403 if kind is DeliveryRefused else 503
            discord.script("POST", "/messages$", discord_double.Scripted(status=status))
            discord.script("POST", "/typing$", discord_double.Scripted(status=status))

        try:
            await adapter.start()
            yield Stage(
                adapter=adapter,
                asked=asked,
                shown=lambda: discord.shown(chat),
                posted=lambda: [str(post["id"]) for post in chat.messages if post["author"]["id"] == discord.bot.id],
                trouble=trouble,
                edited=edited,
                deleted=deleted,
            )
        finally:
            await adapter.stop()


@asynccontextmanager
async def on_slack() -> AsyncIterator[Stage]:
    async with slack_double.SlackDouble() as slack:
        slack.add_user("U1", "Ann")
        slack.add_channel("D1", is_im=True)
        inbox = Inbox()
        adapter = SlackAdapter(
            bot_token=slack_double.BOT_TOKEN,
            app_token=slack_double.APP_TOKEN,
            on_message=inbox.store,
            on_change=inbox.follow,
            api_url=slack.api_url,
            clock=FakeClock(),
        )

        async def asked(text: str) -> IncomingMessage:
            as_slack_writes = html.escape(text, quote=False)
            await slack.deliver(slack.message("U1", "D1", as_slack_writes, channel_type="im"))
            return await inbox.next()

        async def edited(text: str) -> PlatformChange:
            await slack.deliver(slack.edit(slack.messages["D1"][-1], html.escape(text, quote=False)))
            return await inbox.next_change()

        async def deleted() -> PlatformChange:
            await slack.deliver(slack.delete(slack.messages["D1"][-1]))
            return await inbox.next_change()

        def trouble(kind: type[Exception]) -> None:
            refused = slack_double.error("is_archived")
            slack.script("chat.postMessage", refused if kind is DeliveryRefused else slack_double.rate_limited(600))

        try:
            await adapter.start()
            yield Stage(
                adapter=adapter,
                asked=asked,
                shown=lambda: [post["text"] for post in slack.posts()],
                posted=lambda: [post["ts"] for post in slack.posts()],
                trouble=trouble,
                edited=edited,
                deleted=deleted,
            )
        finally:
            await adapter.stop()


@asynccontextmanager
async def on_stand_in() -> AsyncIterator[Stage]:
    channel = RecordingChannel()

    async def asked(text: str) -> IncomingMessage:
        message = IncomingMessage(
            id="m1",
            conversation=dm("ann"),
            person="console:ann",
            author_name="Ann",
            text=text,
            sent_at=FakeClock().now(),
        )
        channel.said.append(message)
        return message

    yield Stage(
        adapter=channel,
        asked=asked,
        shown=lambda: channel.texts,
        posted=lambda: [channel.post_of(sent) for sent in channel.sent],
        trouble=lambda kind: channel.failures.append(kind("scripted")),
    )


STAGES = (on_console, on_discord, on_slack, on_stand_in)


@pytest.fixture(params=STAGES, ids=lambda stage: stage.__name__)
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    enter: Callable[[], AbstractAsyncContextManager[Stage]] = request.param
    async with enter() as entered:
        yield entered


async def test_a_message_is_handed_over_with_all_that_memory_needs(stage: Stage) -> None:
    message = await stage.asked("I live in Oslo & like <tea>.")

    assert message.text == "I live in Oslo & like <tea>."
    assert message.id
    assert message.author_name.lower() == "ann"
    assert check_person(message.person).startswith(f"{stage.adapter.platform}:")
    assert check_audience(message.conversation.audience) == "dm"
    assert message.conversation.platform == stage.adapter.platform
    assert message.conversation.key.startswith(f"{stage.adapter.platform}:")
    assert message.sent_at.utcoffset() == timedelta(0)


async def test_a_message_and_its_conversation_survive_the_inbox(stage: Stage) -> None:
    message = await stage.asked("Zażółć gęślą jaźń 🦊")

    assert incoming_from_json(incoming_to_json(message)) == message


async def test_a_whole_answer_arrives(stage: Stage) -> None:
    await stage.adapter.send(await stage.answer("Two lines.\nAnd the second."))

    assert stage.shown() == ["Two lines.\nAnd the second."]


async def test_a_long_answer_arrives_whole_and_in_order(stage: Stage) -> None:
    await stage.adapter.send(await stage.answer(LONG))

    assert " ".join(stage.shown()) == LONG


async def test_sending_tells_the_ids_of_the_posts_that_show_the_answer(stage: Stage) -> None:
    answer = await stage.answer(LONG)
    draft = await stage.adapter.draft(replace(answer, text="A")) if stage.adapter.shows_drafts else None
    posted = await stage.adapter.send(replace(answer, draft=draft))

    assert list(posted) == stage.posted()


async def test_an_answer_that_arrived_before_a_crash_is_not_sent_again(stage: Stage) -> None:
    answer = await stage.answer()
    await stage.adapter.send(answer)

    assert await stage.adapter.delivered_as(answer) is not None


async def test_an_answer_that_never_arrived_is_not_taken_for_another(stage: Stage) -> None:
    await stage.adapter.send(await stage.answer("Hello.", key="a1"))
    never_sent = await stage.answer("Good evening.", key="a2")

    # On a terminal nobody can look, and a doubled answer cannot be taken back.
    assert (await stage.adapter.delivered_as(never_sent) is None) is stage.remembers


async def test_what_is_said_again_to_the_same_message_is_told_apart_from_the_answer_to_it(stage: Stage) -> None:
    answer = await stage.answer("I will remind you.", key="a1")
    await stage.adapter.send(answer)
    since = (await stage.asked("Thanks!")).sent_at - timedelta(minutes=1)
    reminder = replace(answer, text="Reminder: tea", delivery_key="r1", tried_since=since)
    assert (await stage.adapter.delivered_as(reminder) is None) is stage.remembers

    await stage.adapter.send(reminder)

    assert await stage.adapter.delivered_as(reminder) is not None
    assert stage.shown() == ["I will remind you.", "Reminder: tea"]


async def test_an_answer_that_was_not_taken_arrives_once_when_it_is_sent_again(stage: Stage) -> None:
    answer = await stage.answer()
    stage.trouble(DeliveryFailed)
    with pytest.raises(DeliveryFailed):
        await stage.adapter.send(answer)
    assert stage.shown() == []

    await stage.adapter.send(answer)

    assert stage.shown() == ["Hello."]


@pytest.mark.parametrize("stage", [on_discord, on_slack, on_stand_in], indirect=True)
async def test_an_answer_that_will_never_be_taken_is_refused(stage: Stage) -> None:
    answer = await stage.answer()
    stage.trouble(DeliveryRefused)
    with pytest.raises(DeliveryRefused):
        await stage.adapter.send(answer)

    assert stage.shown() == []


async def test_what_was_shown_of_an_answer_becomes_the_answer(stage: Stage) -> None:
    answer = await stage.answer("Hello, how are you?")
    draft = None
    for text in ("Hello", "Hello, how"):
        if stage.adapter.shows_drafts:
            draft = await stage.adapter.draft(replace(answer, text=text, draft=draft))

    await stage.adapter.send(replace(answer, draft=draft))

    assert stage.shown() == ["Hello, how are you?"]


async def test_what_was_said_lately_is_read_in_order_or_refused_with_a_sentence(stage: Stage) -> None:
    first = await stage.asked("I like <tea>.")
    if not stage.shows_history:
        with pytest.raises(HistoryUnreadable, match=r"\.$"):
            await stage.adapter.recent(first.conversation, limit=9)
        return
    second = await stage.asked("And coffee.")

    assert await stage.adapter.recent(first.conversation, limit=9) == [first, second]
    assert await stage.adapter.recent(first.conversation, limit=1) == [second]


async def test_showing_that_one_writes_never_fails_a_turn(stage: Stage) -> None:
    answer = await stage.answer()
    stage.trouble(DeliveryRefused)
    async with stage.adapter.typing(answer.conversation, answer.in_reply_to):
        pass
    async with stage.adapter.typing(answer.conversation, answer.in_reply_to):
        with pytest.raises((DeliveryRefused, DeliveryFailed)):
            await stage.adapter.send(answer)


async def test_a_file_that_is_not_there_is_unreadable_in_words(stage: Stage) -> None:
    message = await stage.asked("Look!")
    with pytest.raises(FileUnreadable) as refused:
        await stage.adapter.fetch_file(message, AttachedFile(id="F404", name="gone.txt"), limit=100)
    assert str(refused.value)


@pytest.mark.parametrize("stage", [on_discord, on_slack], indirect=True)
async def test_an_edit_names_the_message_and_says_its_new_words_as_they_would_have_been_said(stage: Stage) -> None:
    message = await stage.asked("I live in Oslo.")
    assert stage.edited is not None
    change = await stage.edited("I live in Rome & like <tea>.")

    assert isinstance(change, MessageEdited)
    assert (change.channel, change.id, change.text) == (
        message.conversation.key,
        message.id,
        "I live in Rome & like <tea>.",
    )
    assert change.at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("stage", [on_discord, on_slack], indirect=True)
async def test_a_deletion_names_the_message(stage: Stage) -> None:
    message = await stage.asked("I live in Oslo.")
    assert stage.deleted is not None

    assert await stage.deleted() == MessagesDeleted(channel=message.conversation.key, ids=(message.id,))
