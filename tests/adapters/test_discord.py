"""The Discord adapter, with the real discord.py, against a Discord on loopback."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from discord import Permissions
from structlog.testing import capture_logs

from adapters.discord_adapter import DiscordAdapter
from bot.chat import (
    AdapterStartFailed,
    Conversation,
    DeliveryFailed,
    DeliveryRefused,
    FileUnreadable,
    HistoryUnreadable,
    IncomingMessage,
    OutgoingMessage,
)
from bot.listener import IsForUs, plainly_for_us
from bot.speaking import Addressed, Heard, Speaker
from memory.errors import DatabaseUnavailable
from tests.doubles.discord import DiscordDouble, Scripted
from tests.doubles.discord_gateway import TOKEN
from tests.doubles.discord_world import FORUM, START, TEXT, VIEW_CHANNEL, VOICE, Channel, Member
from tests.doubles.library_log import first_line
from tests.fakes import RecordingChannel
from tests.world import running


class Inbox:
    """Keeps what it is handed, and lets a test wait for it."""

    def __init__(self) -> None:
        self.messages: list[IncomingMessage] = []
        self._arrived = asyncio.Condition()

    async def store(self, message: IncomingMessage) -> bool:
        async with self._arrived:
            self.messages.append(message)
            self._arrived.notify_all()
        return True

    async def until(self, count: int) -> list[IncomingMessage]:
        async with asyncio.timeout(20), self._arrived:
            await self._arrived.wait_for(lambda: len(self.messages) >= count)
        return self.messages


@pytest.fixture
async def discord() -> AsyncIterator[DiscordDouble]:
    async with DiscordDouble().running() as double:
        yield double


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@asynccontextmanager
async def started(
    discord: DiscordDouble,
    on_message: Callable[[IncomingMessage], object] | None = None,
    *,
    token: str = TOKEN,
    is_for_us: IsForUs = plainly_for_us,
    heartbeat_timeout: float = 60.0,
) -> AsyncIterator[DiscordAdapter]:
    adapter = DiscordAdapter(
        token=token,
        is_for_us=is_for_us,
        on_message=on_message or Inbox().store,  # type: ignore[arg-type]  # some tests store in their own way
        api_url=discord.api_url,
        gateway_url=discord.gateway_url,
        guild_ready_timeout=0.05,
        heartbeat_timeout=heartbeat_timeout,
    )
    try:
        await adapter.start()
        yield adapter
    finally:
        await adapter.stop()


def answer(channel: Channel, asked: str, text: str = "Hello.", key: str = "answer-1") -> OutgoingMessage:
    conversation = Conversation(platform="discord", key=f"discord:{channel.id}", audience="dm")
    return OutgoingMessage(conversation=conversation, text=text, in_reply_to=asked, delivery_key=key)


# what comes in


async def test_a_direct_message_is_handed_over(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store):
        asked = await discord.post(chat, ann, "I live in Oslo.")
        await inbox.until(1)

    assert inbox.messages == [
        IncomingMessage(
            id=asked,
            conversation=Conversation(platform="discord", key=f"discord:{chat.id}", audience="dm"),
            person=f"discord:{ann.id}",
            author_name="Ann",
            text="I live in Oslo.",
            sent_at=START,
        )
    ]


async def test_in_a_server_only_mentions_and_replies_are_for_the_bot(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, bob = discord.add_user("Ann"), discord.add_user("Bob")
    guild = discord.add_guild("Garden")
    channel = discord.add_channel(guild, "general")
    role = guild.roles[-1]["id"]
    async with started(discord, inbox.store) as adapter:
        asked = await discord.post(channel, ann, f"{discord.bot.mention} hello")
        await adapter.send(answer(channel, asked, "Hi Ann."))
        reply_to = discord.sent[0]["id"]
        await discord.post(channel, ann, "just talking")
        await discord.post(channel, ann, f"{bob.mention} look")
        await discord.post(channel, bob, "I answer Ann", reply_to=asked)
        await discord.post(channel, ann, "quietly replied", reply_to=reply_to, mentions=[])
        await discord.post(channel, ann, f"<@&{role}> by role")
        await inbox.until(3)

    assert [message.text for message in inbox.messages] == ["hello", "quietly replied", "by role"]


async def test_bots_webhooks_and_system_messages_are_ignored(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, other_bot, chat = discord.add_user("Ann"), discord.add_user("Robot", bot=True), discord.add_dm()
    async with started(discord, inbox.store) as adapter:
        asked = await discord.post(chat, ann, "first")
        await adapter.send(answer(chat, asked, "my own words"))
        await discord.post(chat, other_bot, "beep")
        await discord.post(chat, ann, "from a webhook", webhook_id=discord.snowflake())
        await discord.post(chat, ann, "pinned a message", type=6)
        await discord.post(chat, ann, "last")
        await inbox.until(2)

    assert [message.text for message in inbox.messages] == ["first", "last"]


async def test_mentions_read_as_people_see_them(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, bob = discord.add_user("Ann"), discord.add_user("Bob")
    guild = discord.add_guild("Garden")
    channel = discord.add_channel(guild, "general")
    me = discord.bot.mention
    async with started(discord, inbox.store):
        await discord.post(channel, ann, f"Hey {me} ask {bob.mention} in <#{channel.id}> `if  x:`")
        await discord.post(channel, ann, f"<@!{discord.bot.id}>")
        await discord.post(channel, ann, me, attachments=[_attachment("cat.png")])
        await inbox.until(3)

    assert [message.text for message in inbox.messages] == [
        "Hey ask @Bob in #general `if  x:`",
        "@Keepsake",
        "[attached: cat.png, 1 byte]",
    ]


async def heard_by(discord: DiscordDouble, channel: Channel, author: Member, text: str, **extra: Any) -> Heard:
    """What the application is asked about when somebody says this."""
    asked: asyncio.Queue[Heard] = asyncio.Queue()

    async def listen(heard: Heard) -> bool:
        await asked.put(heard)
        return False

    async with started(discord, is_for_us=listen):
        await discord.post(channel, author, text, **extra)
        async with asyncio.timeout(20):
            return await asked.get()


async def test_it_is_told_whom_a_message_is_addressed_to(discord: DiscordDouble) -> None:
    ann, bob = discord.add_user("Ann"), discord.add_user("Bob")
    guild = discord.add_guild("Garden")
    channel = discord.add_channel(guild, "general")
    asked = await discord.post(channel, bob, "who knows?")
    me = discord.bot.mention
    cases: list[tuple[str, dict[str, Any], Addressed]] = [
        ("just talking", {}, Addressed.NOBODY),
        (f"ask {bob.mention}", {}, Addressed.NOBODY),
        (f"{bob.mention} look", {}, Addressed.OTHERS),
        ("I do", {"reply_to": asked, "mentions": []}, Addressed.OTHERS),
        (f"I do, {me} too", {"reply_to": asked}, Addressed.US),
        (f"{bob.mention} ask {me}", {}, Addressed.US),
    ]
    for text, extra, addressed in cases:
        heard = await heard_by(discord, channel, ann, text, **extra)
        assert heard.addressed is addressed, text
        assert (heard.server, heard.channels, heard.in_thread) == (guild.id, {channel.id}, False)


async def test_a_thread_is_under_its_channel_and_a_forum_post_under_its_forum(discord: DiscordDouble) -> None:
    ann, guild = discord.add_user("Ann"), discord.add_guild("Garden")
    for kind in (TEXT, FORUM):
        parent = discord.add_channel(guild, "parent", kind=kind)
        thread = discord.add_thread(parent)
        heard = await heard_by(discord, thread, ann, "hello")
        assert heard.in_thread
        assert heard.channels == {thread.id, parent.id}
        assert heard.message.conversation.key == f"discord:{thread.id}"
        assert heard.message.conversation.parent == f"discord:{parent.id}"


async def test_bots_and_webhooks_are_told_from_people(discord: DiscordDouble) -> None:
    robot, chat = discord.add_user("Robot", bot=True), discord.add_dm()
    assert (await heard_by(discord, chat, robot, "beep")).speaker is Speaker.BOT
    hooked = await heard_by(discord, chat, discord.add_user("Ann"), "x", webhook_id=discord.snowflake())
    assert hooked.speaker is Speaker.WEBHOOK


def _attachment(name: str) -> dict[str, object]:
    return {"id": "1", "filename": name, "size": 1, "url": "http://127.0.0.1/1", "proxy_url": "http://127.0.0.1/1"}


async def test_a_channel_that_discord_does_not_show_is_a_sentence(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store) as adapter:
        await discord.post(chat, ann, "hello")
        [message] = await inbox.until(1)
        for status, sentence in ((403, "Read Message History"), (404, "just now")):
            discord.script("GET", "/messages$", Scripted(status=status))
            with pytest.raises(HistoryUnreadable, match=sentence):
                await adapter.recent(message.conversation, limit=5)
    with pytest.raises(HistoryUnreadable, match="not connected"):
        await adapter.recent(message.conversation, limit=5)


async def test_a_file_is_asked_for_anew_when_it_is_read(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store) as adapter:
        cat = discord.attachment("cat.png", b"bytes", content_type="image/png", width=30, height=20)
        expired = cat | {"url": "http://127.0.0.1:9/expired"}
        said = await discord.post(chat, ann, "look", attachments=[cat])
        [message] = await inbox.until(1)
        [file] = message.attachments
        assert (file.name, file.media_type, file.size, file.width, file.height) == ("cat.png", "image/png", 5, 30, 20)
        assert message.text == "look\n[attached: cat.png, image/png, 5 bytes]"
        assert await adapter.fetch_file(message, file, limit=5) == b"bytes"
        with pytest.raises(FileUnreadable, match="larger"):
            await adapter.fetch_file(message, file, limit=4)
        chat.messages[-1]["attachments"] = [expired]
        with pytest.raises(FileUnreadable, match="in time"):
            await adapter.fetch_file(message, file, limit=5)
        chat.messages[-1]["attachments"] = []
        with pytest.raises(FileUnreadable, match="removed"):
            await adapter.fetch_file(message, file, limit=5)
        discord.script("GET", f"/messages/{said}$", Scripted(status=403))
        with pytest.raises(FileUnreadable, match="not allowed"):
            await adapter.fetch_file(message, file, limit=5)
        chat.messages.clear()
        with pytest.raises(FileUnreadable, match="deleted"):
            await adapter.fetch_file(message, file, limit=5)
    with pytest.raises(FileUnreadable, match="not connected"):
        await adapter.fetch_file(message, file, limit=5)


async def test_what_cannot_be_stored_is_told_of_in_one_line(
    discord: DiscordDouble, caplog: pytest.LogCaptureFixture
) -> None:
    ann, chat, inbox = discord.add_user("Ann"), discord.add_dm(), Inbox()

    async def store(message: IncomingMessage) -> bool:
        if message.text == "tea":
            raise DatabaseUnavailable("The disk is full.")
        return await inbox.store(message)

    with capture_logs() as logs:
        async with started(discord, store):
            await discord.post(chat, ann, "tea")
            await discord.post(chat, ann, "coffee")
            await inbox.until(1)
    failed = [line for line in logs if line["event"] == "discord_event_failed"]
    assert [(line["what"], line["error"]) for line in failed] == [("on_message", "The disk is full.")]
    assert not [record for record in caplog.records if record.exc_info]


async def test_messages_are_handed_over_in_the_order_they_came(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store):
        for number in range(20):
            await discord.post(chat, ann, str(number))
        await inbox.until(20)

    assert [message.text for message in inbox.messages] == [str(number) for number in range(20)]


async def test_stopping_waits_until_what_arrived_is_stored(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    arrived, may_store = asyncio.Event(), asyncio.Event()
    stored: list[str] = []

    async def store_late(message: IncomingMessage) -> bool:
        arrived.set()
        await may_store.wait()
        stored.append(message.text)
        return True

    async with started(discord, store_late) as adapter:
        await discord.post(chat, ann, "just in time")
        await arrived.wait()
        stopping = asyncio.create_task(adapter.stop())
        stopped_early, _ = await asyncio.wait({stopping}, timeout=0.1)
        may_store.set()
        await stopping

    assert not stopped_early
    assert stored == ["just in time"]


# who hears it


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (lambda d, g: d.add_channel(g, "general"), "guild"),
        (lambda d, g: d.add_channel(g, "staff", hidden=True), "channel"),
        (lambda d, g: d.add_channel(g, "no-newcomers", hidden_from=d.add_user("Eve").id), "channel"),
        (lambda d, g: d.add_channel(g, "no-other-bots", hidden_from=g.roles[-1]["id"]), "guild"),
        (lambda d, g: d.add_channel(g, "voice", kind=VOICE), "guild"),
        (lambda d, g: d.add_thread(d.add_channel(g, "general")), "guild"),
        (lambda d, g: d.add_thread(d.add_channel(g, "forum", kind=FORUM)), "guild"),
        (lambda d, g: d.add_thread(d.add_channel(g, "staff", hidden=True)), "parent"),
        (lambda d, g: d.add_thread(d.add_channel(g, "general"), private=True), "channel"),
    ],
    ids=[
        "public channel",
        "hidden channel",
        "hidden from a member",
        "hidden from a bot's role",
        "voice channel",
        "public thread",
        "forum post",
        "thread in a hidden channel",
        "private thread",
    ],
)
async def test_the_audience_is_who_may_read_the_channel(
    discord: DiscordDouble, inbox: Inbox, place: Callable[..., Channel], expected: str
) -> None:
    ann = discord.add_user("Ann")
    guild = discord.add_guild("Garden")
    channel = place(discord, guild)
    async with started(discord, inbox.store):
        await discord.post(channel, ann, f"{discord.bot.mention} hello")
        (message,) = await inbox.until(1)

    community = f"guild:{guild.id}"
    assert message.conversation.key == f"discord:{channel.id}"
    if expected == "guild":
        assert (message.conversation.audience, message.conversation.community) == (community, None)
    else:
        heard_in = channel.parent if expected == "parent" else channel
        assert heard_in is not None
        assert message.conversation.audience == f"channel:{heard_in.id}"
        assert message.conversation.community == community


async def test_a_server_that_shows_nothing_to_everyone_has_no_public_channel(
    discord: DiscordDouble, inbox: Inbox
) -> None:
    ann = discord.add_user("Ann")
    channel = discord.add_channel(discord.add_guild("Gated", permissions=0), "general")
    async with started(discord, inbox.store):
        await discord.post(channel, ann, f"{discord.bot.mention} hello")
        (message,) = await inbox.until(1)

    assert message.conversation.audience == f"channel:{channel.id}"


async def test_a_voice_channel_that_not_everyone_may_join_is_private(discord: DiscordDouble, inbox: Inbox) -> None:
    ann = discord.add_user("Ann")
    channel = discord.add_channel(discord.add_guild("Stage", permissions=VIEW_CHANNEL), "voice", kind=VOICE)
    async with started(discord, inbox.store):
        await discord.post(channel, ann, f"{discord.bot.mention} hello")
        (message,) = await inbox.until(1)

    assert message.conversation.audience == f"channel:{channel.id}"


async def test_a_channel_that_is_not_known_counts_as_private(discord: DiscordDouble, inbox: Inbox) -> None:
    ann = discord.add_user("Ann")
    guild = discord.add_guild("Garden")
    async with started(discord, inbox.store):
        unknown = discord.add_channel(guild, "made while the bot looked away")
        await discord.post(unknown, ann, f"{discord.bot.mention} hello")
        (message,) = await inbox.until(1)

    assert message.conversation.audience == f"channel:{unknown.id}"
    assert message.conversation.community == f"guild:{guild.id}"


# what goes out


async def test_an_answer_is_a_reply_that_pings_nobody_else(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked, "@everyone <@&1> <@2> hi"))

    (sent,) = discord.sent
    assert sent["content"] == "@everyone <@&1> <@2> hi"
    assert sent["allowed_mentions"] == {"parse": [], "replied_user": True}
    assert str(sent["message_reference"]["message_id"]) == asked
    assert len(sent["nonce"]) == 25
    assert sent["enforce_nonce"] is True


async def test_a_long_answer_comes_in_parts_and_only_the_first_is_a_reply(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    text = "\n".join(f"line {number}" for number in range(1_000))
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "count")
        await adapter.send(answer(chat, asked, text))

    assert "\n".join(sent["content"] for sent in discord.sent) == text
    assert ["message_reference" in sent for sent in discord.sent] == [True] + [False] * (len(discord.sent) - 1)
    assert len({sent["nonce"] for sent in discord.sent}) == len(discord.sent) > 1


async def test_the_same_answer_sent_again_appears_once(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked))
        await adapter.send(answer(chat, asked))

    assert discord.posts == 2
    assert len(discord.sent) == 1


@pytest.mark.parametrize(
    "trouble",
    [Scripted(cut=True), Scripted(cut=True, served=True), Scripted(status=500, served=True)],
    ids=["before it was taken", "after it was taken", "after it was taken, with an error"],
)
async def test_trouble_while_sending_leaves_one_answer(discord: DiscordDouble, trouble: Scripted) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    discord.script("POST", "/messages$", trouble)
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked))

    assert discord.posts == 2
    assert [sent["content"] for sent in discord.sent] == ["Hello."]


async def test_an_answer_to_a_deleted_message_still_arrives(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    async with started(discord) as adapter:
        await adapter.send(answer(chat, discord.snowflake()))

    assert [sent["content"] for sent in discord.sent] == ["Hello."]


@pytest.mark.parametrize("status", [403, 404])
async def test_a_closed_channel_refuses_the_answer_for_good(discord: DiscordDouble, status: int) -> None:
    chat = discord.add_dm()
    discord.script("POST", "/messages$", Scripted(status=status))
    async with started(discord) as adapter:
        with pytest.raises(DeliveryRefused):
            await adapter.send(answer(chat, discord.snowflake()))

    assert discord.posts == 1


@pytest.mark.parametrize("status", [401, 429, 503])
async def test_another_failure_may_be_tried_again(discord: DiscordDouble, status: int) -> None:
    chat = discord.add_dm()
    discord.script("POST", "/messages$", Scripted(status=status))
    async with started(discord) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.send(answer(chat, discord.snowflake()))
        await adapter.send(answer(chat, discord.snowflake()))

    assert len(discord.sent) == 1


async def test_sending_goes_on_with_the_part_that_failed(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    long = answer(chat, discord.snowflake(), "\n".join(["x" * 1_500] * 3))
    discord.script("POST", "/messages$", Scripted(status=200, served=True), Scripted(status=503))
    async with started(discord) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.send(long)
        await adapter.send(long)

    assert discord.posts == 4
    assert len(discord.sent) == 3


async def test_after_a_stop_nothing_is_sent(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    async with started(discord) as adapter:
        await adapter.stop()
        with pytest.raises(DeliveryFailed):
            await adapter.send(answer(chat, discord.snowflake()))


# what an earlier process sent


async def test_an_answer_sent_before_a_crash_is_recognised(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked))
    async with started(discord) as adapter:
        assert await adapter.delivered_as(answer(chat, asked)) is not None


async def test_an_answer_never_sent_is_not_taken_for_another(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        first = await discord.post(chat, ann, "hello")
        second = await discord.post(chat, ann, "hello?")
        await adapter.send(answer(chat, second, key="answer-2"))
        await discord.post(chat, ann, "Hello.")

        assert await adapter.delivered_as(answer(chat, first)) is None


async def test_an_answer_cut_off_between_its_parts_is_completed(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    parts = [letter * 1_500 for letter in "abc"]
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        await adapter.send(answer(chat, asked, parts[0]))
    discord.remembers_nonces = False
    async with started(discord) as adapter:
        whole = answer(chat, asked, "\n".join(parts))
        assert await adapter.delivered_as(whole) is None
        await adapter.send(whole)
        assert await adapter.delivered_as(whole) is not None

    assert [sent["content"] for sent in discord.sent] == parts


@pytest.mark.parametrize("status", [403, 404])
async def test_where_discord_never_lets_us_look_the_answer_counts_as_delivered(
    discord: DiscordDouble, status: int
) -> None:
    chat = discord.add_dm()
    discord.script("GET", "/messages$", Scripted(status=status))
    async with started(discord) as adapter:
        assert await adapter.delivered_as(answer(chat, discord.snowflake())) is not None


@pytest.mark.parametrize("trouble", [Scripted(cut=True), Scripted(status=401)])
async def test_where_discord_cannot_be_asked_just_now_the_answer_waits(
    discord: DiscordDouble, trouble: Scripted
) -> None:
    chat = discord.add_dm()
    discord.script("GET", "/messages$", trouble, trouble)  # aiohttp repeats what a cut connection lost
    async with started(discord) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.delivered_as(answer(chat, discord.snowflake()))


async def test_once_disconnected_discord_cannot_be_asked(discord: DiscordDouble) -> None:
    chat = discord.add_dm()
    async with started(discord) as adapter:
        await adapter.stop()
        with pytest.raises(DeliveryFailed):
            await adapter.delivered_as(answer(chat, discord.snowflake()))


# typing


async def test_typing_shows_without_delaying_or_failing_the_turn(discord: DiscordDouble) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord) as adapter:
        asked = await discord.post(chat, ann, "hello")
        message = answer(chat, asked)
        async with adapter.typing(message.conversation, "m1"):
            await discord.until(lambda: discord.typing == [chat.id])
            await adapter.send(message)
        for failure in (Scripted(status=403), Scripted(cut=True)):
            discord.script("POST", "/typing$", failure)
            async with adapter.typing(message.conversation, "m1"):
                await discord.until_scripts_are_used()
    async with adapter.typing(message.conversation, "m1"):
        pass


# the connection


async def test_start_returns_when_the_servers_are_known(discord: DiscordDouble) -> None:
    async with started(discord) as adapter:
        assert adapter.state()["connected"] is True
    assert adapter.state()["connected"] is False


async def test_a_refused_token_says_where_to_get_another(discord: DiscordDouble) -> None:
    with pytest.raises(AdapterStartFailed, match="DISCORD_TOKEN"):
        async with started(discord, token="wrong"):
            pass


async def test_no_network_is_said_plainly() -> None:
    async with DiscordDouble().running() as gone:
        pass
    with pytest.raises(AdapterStartFailed, match="cannot be reached"):
        async with started(gone):
            pass


async def test_without_the_message_content_intent_mentions_and_direct_chats_still_work(
    discord: DiscordDouble, inbox: Inbox
) -> None:
    discord.gateway.message_content_allowed = False
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    channel = discord.add_channel(discord.add_guild("Garden"), "general")
    async with started(discord, inbox.store):
        await discord.post(channel, ann, f"{discord.bot.mention} hello")
        await discord.post(channel, ann, "unseen")
        await discord.post(chat, ann, "direct")
        await inbox.until(2)

    assert [message.text for message in inbox.messages] == ["hello", "direct"]


@pytest.mark.parametrize(
    ("code", "sentence"), [(4004, "DISCORD_TOKEN"), (4013, "newer version"), (4014, "Message Content Intent")]
)
async def test_a_fatal_close_ends_the_connection_with_a_sentence(
    discord: DiscordDouble, code: int, sentence: str
) -> None:
    async with started(discord) as adapter:
        await discord.gateway.drop(code)
        with pytest.raises(AdapterStartFailed, match=sentence):
            await adapter.closed()


async def test_a_fatal_close_at_the_start_fails_the_start(discord: DiscordDouble) -> None:
    discord.gateway.close_identify_with = 4013
    with pytest.raises(AdapterStartFailed, match="newer version"):
        async with started(discord):
            pass


async def test_a_message_missed_while_disconnected_is_handed_over_on_resume(
    discord: DiscordDouble, inbox: Inbox
) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store):
        await discord.gateway.drop()
        await discord.post(chat, ann, "are you there?")
        await inbox.until(1)

    assert discord.gateway.resumed == 1
    assert [message.text for message in inbox.messages] == ["are you there?"]


async def test_why_the_connection_is_made_anew_is_logged_in_one_line(discord: DiscordDouble) -> None:
    async with started(discord):
        with first_line("discord", "Attempting a reconnect for shard ID 0") as line:
            discord.gateway.refuses = 1
            await discord.gateway.drop()
            told = await line
    assert "503" in told.getMessage()
    assert told.exc_info is None


async def test_a_gateway_that_shows_no_life_is_connected_to_anew_and_nothing_is_missed(
    discord: DiscordDouble, inbox: Inbox
) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    discord.gateway.heartbeat_interval, discord.gateway.answers_heartbeats = 20, False
    async with started(discord, inbox.store, heartbeat_timeout=0.2) as adapter:
        await discord.until(lambda: discord.gateway.resumed > 0)
        discord.gateway.answers_heartbeats = True
        await discord.post(chat, ann, "are you there?")
        await inbox.until(1)
        assert adapter.state()["connected"]

    assert [message.text for message in inbox.messages] == ["are you there?"]


async def test_a_second_ready_changes_nothing(discord: DiscordDouble, inbox: Inbox) -> None:
    ann, chat = discord.add_user("Ann"), discord.add_dm()
    async with started(discord, inbox.store):
        await discord.gateway.repeat_ready()
        await discord.post(chat, ann, "once")
        await discord.post(chat, ann, "more")
        await inbox.until(2)

    assert [message.text for message in inbox.messages] == ["once", "more"]


# the set-up guide


def test_the_invitation_asks_for_what_the_bot_needs() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "discord.md").read_text(encoding="utf-8")
    permissions = re.search(r"permissions=(\d+)", guide)

    assert permissions is not None
    assert Permissions(int(permissions[1])) == Permissions(
        view_channel=True, send_messages=True, send_messages_in_threads=True, read_message_history=True
    )


async def test_a_forbidden_channel_is_not_asked_again_with_every_message(
    discord: DiscordDouble, tmp_path: Path
) -> None:
    ann, guild = discord.add_user("Ann"), discord.add_guild("Garden")
    channel, open_channel = discord.add_channel(guild, "locked"), discord.add_channel(guild, "general")
    discord.script("POST", f"/channels/{channel.id}/messages$", *[Scripted(status=403)] * 100)
    discord.script("POST", f"/channels/{channel.id}/typing$", *[Scripted(status=403)] * 100)
    async with (
        running(tmp_path, channel=RecordingChannel("discord")) as world,
        started(discord, world.handler.accept, is_for_us=world.listener.is_for_us) as adapter,
    ):
        world.handler.attach({"discord": adapter})
        for _ in range(100):
            await discord.post(channel, ann, f"{discord.bot.mention} hello")
            if discord.posts < 3:
                refused = discord.posts
                await discord.until(lambda refused=refused: discord.posts > refused)
                await world.handler.idle()
        await discord.post(open_channel, ann, f"{discord.bot.mention} hello")
        await discord.until_sent(1)

    assert discord.posts < 10
