"""What the Discord adapter hands over, and who hears it, with the real discord.py against a Discord on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat import Conversation, FileUnreadable, HistoryUnreadable, IncomingMessage
from bot.speaking import Addressed, Heard, Speaker
from memory.errors import DatabaseUnavailable
from tests.adapters.discord_running import Inbox, answer, started
from tests.doubles.discord import DiscordDouble, Scripted
from tests.doubles.discord_world import FORUM, START, TEXT, VIEW_CHANNEL, VOICE, Channel, Member


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
