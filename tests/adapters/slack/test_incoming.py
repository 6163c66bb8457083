"""What people write in Slack reaches the bot once, whole, and with its real audience."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from bot.chat import (
    Conversation,
    IncomingMessage,
)
from bot.speaking import Addressed, Heard, Speaker
from memory.errors import DatabaseUnavailable
from tests.adapters.slack.running import Inbox, started
from tests.doubles import slack as double
from tests.doubles.slack import BOT_USER, SlackDouble
from tests.fakes import FakeClock

MENTION = f"<@{BOT_USER}>"


@pytest.mark.parametrize(
    "bent",
    [
        {"ts": "yesterday"},
        {"ts": 17},
        {"ts": "9" * 400},
        {"text": ["I", "like"]},
        {"files": "tea.txt"},
        {"files": [None]},
        {"subtype": {}},
        {"subtype": "message_changed", "message": {"ts": "1.1", "text": "a", "files": 3}},
        {"type": "reaction_added", "reaction": "+1", "item": "C1"},
    ],
)
async def test_an_event_of_another_form_is_left_out_and_the_next_one_arrives(
    slack: SlackDouble, inbox: Inbox, bent: dict[str, Any]
) -> None:
    async with started(slack, inbox):
        with capture_logs() as logs:
            event = slack.message("U1", "D1", "I like tea", channel_type="im")
            await (await slack.deliver(event | bent)).wait()
        assert [line["event"] for line in logs] == ["slack_event_unreadable"]
        await (await slack.deliver(slack.message("U1", "D1", "And coffee", channel_type="im"))).wait()
    assert inbox.texts == ["And coffee"]


async def test_a_direct_message_arrives_whole(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox):
        event = slack.message("U1", "D1", "I like &lt;tea&gt;", channel_type="im", ts="1772442001.000250")
        await (await slack.deliver(event)).wait()
    assert inbox.messages == [
        IncomingMessage(
            id="1772442001.000250",
            conversation=Conversation(platform="slack", key="slack:T1:D1", audience="dm"),
            person="slack:T1:U1",
            author_name="Ann",
            text="I like <tea>",
            sent_at=datetime(2026, 3, 2, 9, 0, 1, 250, tzinfo=UTC),
        )
    ]


@pytest.mark.parametrize(
    ("channel", "fields", "heard_by"),
    [
        ("D1", {"channel_type": "im"}, ("dm", None)),
        ("C1", {"channel_type": "channel"}, ("team:T1", None)),
        ("G1", {"channel_type": "group"}, ("channel:G1", "team:T1")),
        ("G2", {"channel_type": "mpim"}, ("channel:G2", None)),
        ("C1", {}, ("team:T1", None)),
        ("G1", {}, ("channel:G1", "team:T1")),
        ("C9", {}, ("channel:C9", None)),
    ],
    ids=["dm", "public", "private", "group-dm", "looked-up-public", "looked-up-private", "unknown"],
)
async def test_the_audience_is_who_really_hears_it(
    slack: SlackDouble, inbox: Inbox, channel: str, fields: dict[str, Any], heard_by: tuple[str, str | None]
) -> None:
    async with started(slack, inbox):
        event = slack.message("U1", channel, f"{MENTION} hello", **fields)
        await (await slack.deliver(event)).wait()
    [message] = inbox.messages
    assert (message.conversation.audience, message.conversation.community) == heard_by


@pytest.mark.parametrize("channel_type", ["channel", "group", None])
async def test_what_another_organisation_hears_is_never_shared_with_the_team(
    slack: SlackDouble, inbox: Inbox, channel_type: str | None
) -> None:
    slack.add_channel("C5", is_ext_shared=True)
    async with started(slack, inbox):
        fields = {"channel_type": channel_type} if channel_type else {}
        event = slack.message("U1", "C5", f"{MENTION} hello", **fields)
        shared = {"is_ext_shared_channel": True} if channel_type else {}
        await (await slack.deliver(event, **shared)).wait()
    [message] = inbox.messages
    assert (message.conversation.audience, message.conversation.community) == ("channel:C5", None)


async def test_a_channel_made_private_is_noticed(slack: SlackDouble, inbox: Inbox) -> None:
    clock = FakeClock()
    async with started(slack, inbox, clock=clock):
        await (await slack.deliver(slack.message("U1", "C1", f"{MENTION} one", type="app_mention"))).wait()
        await (await slack.deliver(slack.message("U1", "C1", f"{MENTION} two", type="app_mention"))).wait()
        assert len(slack.called("conversations.info")) == 1
        slack.add_channel("C1", is_private=True)
        clock.advance(minutes=2)
        await (await slack.deliver(slack.message("U1", "C1", f"{MENTION} three", type="app_mention"))).wait()
    assert [message.conversation.audience for message in inbox.messages] == ["team:T1", "team:T1", "channel:C1"]


async def test_each_thread_is_its_own_conversation_and_a_direct_chat_is_one(slack: SlackDouble, inbox: Inbox) -> None:
    events = [
        slack.message("U1", "D1", "flat", channel_type="im"),
        slack.message("U1", "D1", "in a thread", channel_type="im", thread_ts="1772442000.000100"),
        slack.message("U1", "C1", f"{MENTION} root", channel_type="channel", ts="1772442009.000100"),
        slack.message("U1", "C1", f"{MENTION} reply", channel_type="channel", thread_ts="1772442009.000100"),
    ]
    async with started(slack, inbox):
        for event in events:
            await (await slack.deliver(event)).wait()
    assert [message.conversation.key for message in inbox.messages] == [
        "slack:T1:D1",
        "slack:T1:D1:1772442000.000100",
        "slack:T1:C1:1772442009.000100",
        "slack:T1:C1:1772442009.000100",
    ]


async def test_a_mention_that_comes_as_two_events_is_one_message(slack: SlackDouble, inbox: Inbox) -> None:
    event = slack.message("U1", "G2", f"{MENTION} hello", channel_type="mpim")
    async with started(slack, inbox):
        first = await slack.deliver(event)
        second = await slack.deliver({**event, "type": "app_mention"})
        await first.wait()
        await second.wait()
    assert inbox.texts == ["hello"]


async def test_a_repeated_event_is_acknowledged_and_stored_once(slack: SlackDouble, inbox: Inbox) -> None:
    event = slack.message("U1", "D1", "hello", channel_type="im")
    async with started(slack, inbox):
        await (await slack.deliver(event, event_id="Ev77")).wait()
        await (await slack.deliver(event, event_id="Ev77", retry_attempt=1, retry_reason="timeout")).wait()
    assert inbox.texts == ["hello"]


async def test_an_event_is_acknowledged_only_once_it_is_stored(slack: SlackDouble, inbox: Inbox) -> None:
    inbox.gate = asyncio.Event()
    async with started(slack, inbox):
        delivery = await slack.deliver(slack.message("U1", "D1", "hello", channel_type="im"))
        await inbox.entered.wait()
        assert not delivery.acked.is_set()
        inbox.gate.set()
        await delivery.wait()
    assert inbox.texts == ["hello"]


async def test_an_event_that_could_not_be_stored_is_not_acknowledged_and_taken_when_it_comes_again(
    slack: SlackDouble, inbox: Inbox
) -> None:
    inbox.failures.append(DatabaseUnavailable("The database is locked."))
    event = slack.message("U1", "D1", "hello", channel_type="im")
    async with started(slack, inbox):
        lost = await slack.deliver(event)
        await inbox.entered.wait()
        await (await slack.deliver(event, retry_attempt=1)).wait()
        assert not lost.acked.is_set()
    assert inbox.texts == ["hello"]


@pytest.mark.parametrize(
    "fields",
    [
        {"bot_id": "B9"},
        {"subtype": "bot_message", "bot_id": "B9", "user": None},
        {"user": BOT_USER},
        {"user": "USLACKBOT"},
        {"subtype": "message_changed", "message": {"text": "edited"}},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join"},
        {"type": "reaction_added"},
        {"channel": "C1", "channel_type": "channel"},
        {"channel": "G2", "channel_type": "mpim", "text": "not for the bot <@U2>"},
    ],
    ids=str,
)
async def test_what_is_not_meant_for_the_bot_is_acknowledged_and_ignored(
    slack: SlackDouble, inbox: Inbox, fields: dict[str, Any]
) -> None:
    event = {**slack.message("U1", "D1", "hello", channel_type="im"), **fields}
    async with started(slack, inbox):
        await (await slack.deliver(event)).wait()
    assert inbox.messages == []


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
async def test_shared_files_and_broadcast_replies_are_messages(slack: SlackDouble, inbox: Inbox, subtype: str) -> None:
    event = slack.message("U1", "D1", "look", channel_type="im", subtype=subtype)
    async with started(slack, inbox):
        await (await slack.deliver(event)).wait()
    assert inbox.texts == ["look"]


async def test_a_file_without_words_is_named(slack: SlackDouble, inbox: Inbox) -> None:
    event = slack.message("U1", "D1", "", channel_type="im", subtype="file_share", files=[{"name": "plan.pdf"}])
    async with started(slack, inbox):
        await (await slack.deliver(event)).wait()
    assert inbox.texts == ["[attached: plan.pdf]"]
    assert [file.name for file in inbox.messages[0].attachments] == ["plan.pdf"]


async def test_a_bare_mention_is_a_message(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox):
        await (await slack.deliver(slack.message("U1", "C1", MENTION, channel_type="channel"))).wait()
    assert inbox.texts == ["@keepsake"]


async def test_people_are_named_where_slack_knows_them(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox):
        event = slack.message("U1", "D1", "ask <@U2> or <@U3>", channel_type="im")
        await (await slack.deliver(event)).wait()
        await (await slack.deliver(slack.message("U3", "D1", "hi", channel_type="im"))).wait()
    assert inbox.texts == ["ask @Bea or @U3", "hi"]
    assert [message.author_name for message in inbox.messages] == ["Ann", "U3"]


async def test_a_name_is_asked_for_once(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox):
        for text in ("one", "two", "three"):
            await (await slack.deliver(slack.message("U1", "D1", text, channel_type="im"))).wait()
    assert len(slack.called("users.info")) == 1


async def test_a_directory_in_trouble_delays_nothing_and_loses_nothing(slack: SlackDouble, inbox: Inbox) -> None:
    slack.script("users.info", double.server_error())
    slack.script("conversations.info", double.error("fatal_error"))
    async with started(slack, inbox):
        await (await slack.deliver(slack.message("U1", "C1", f"{MENTION} hello", type="app_mention"))).wait()
    [message] = inbox.messages
    assert (message.author_name, message.conversation.audience) == ("U1", "channel:C1")


async def test_the_same_user_id_in_two_teams_is_two_people(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox):
        for team in ("T1", "T2"):
            event = slack.message("U1", "C1", f"{MENTION} hi", channel_type="channel", user_team=team)
            await (await slack.deliver(event, is_ext_shared_channel=True)).wait()
    assert [message.person for message in inbox.messages] == ["slack:T1:U1", "slack:T2:U1"]


async def test_a_directory_that_hangs_is_not_waited_for_and_does_not_change_the_order(
    slack: SlackDouble, inbox: Inbox
) -> None:
    async with started(slack, inbox):
        await (await slack.deliver(slack.message("U2", "D1", "warm", channel_type="im"))).wait()
        slack.hold("users.info")
        first = await slack.deliver(slack.message("U1", "D1", "first", channel_type="im"))
        second = await slack.deliver(slack.message("U2", "D1", "second", channel_type="im"))
        await first.wait()
        await second.wait()
    assert inbox.texts == ["warm", "first", "second"]


async def test_a_refreshed_and_a_broken_connection_come_back(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        await slack.disconnect()
        await slack.connected(2)
        await (await slack.deliver(slack.message("U1", "D1", "after refresh", channel_type="im"))).wait()
        await slack.drop()
        await slack.connected(3)
        await (await slack.deliver(slack.message("U1", "D1", "after drop", channel_type="im"))).wait()
        assert adapter.state() == {"mode": "socket", "connected": True}
    assert inbox.texts == ["after refresh", "after drop"]
    assert adapter.state()["connected"] is False


async def heard_by(slack: SlackDouble, event: dict[str, Any]) -> Heard:
    """What the application is asked about when this event arrives."""
    asked: list[Heard] = []

    async def listen(heard: Heard) -> bool:
        asked.append(heard)
        return False

    async with started(slack, Inbox(), is_for_us=listen):
        await (await slack.deliver(event)).wait()
    [heard] = asked
    return heard


@pytest.mark.parametrize(
    ("text", "fields", "addressed"),
    [
        (f"hello {MENTION}", {}, Addressed.US),
        (f"<@U2> ask {MENTION}", {}, Addressed.US),
        ("<@U2> what do you think?", {}, Addressed.OTHERS),
        ("<!subteam^S1|@ops> look", {}, Addressed.OTHERS),
        ("ask <@U2>", {}, Addressed.NOBODY),
        ("and then?", {"thread_ts": "1772442000.000100", "parent_user_id": "U2"}, Addressed.NOBODY),
        ("and then?", {"thread_ts": "1772442000.000100", "parent_user_id": BOT_USER}, Addressed.US),
        ("<@U2> look", {"thread_ts": "1772442000.000100", "parent_user_id": BOT_USER}, Addressed.OTHERS),
    ],
)
async def test_it_is_told_whom_a_message_is_addressed_to(
    slack: SlackDouble, text: str, fields: dict[str, Any], addressed: Addressed
) -> None:
    heard = await heard_by(slack, slack.message("U1", "C1", text, channel_type="channel", **fields))
    assert heard.addressed is addressed
    assert heard.in_thread is ("thread_ts" in fields)
    assert (heard.server, heard.channels) == ("T1", {"C1"})


async def test_a_thread_knows_its_channel(slack: SlackDouble) -> None:
    heard = await heard_by(slack, slack.message("U1", "C1", "x", channel_type="channel", thread_ts="1772442000.000100"))
    assert heard.message.conversation.parent == "slack:T1:C1"


async def test_another_bot_is_told_from_a_person(slack: SlackDouble) -> None:
    heard = await heard_by(slack, slack.message("UBOT2", "C1", f"{MENTION} beep", channel_type="channel", bot_id="B9"))
    assert heard.speaker is Speaker.BOT


async def test_a_mention_in_a_channel_that_comes_as_two_events_is_one_message(slack: SlackDouble, inbox: Inbox) -> None:
    event = slack.message("U1", "C1", f"{MENTION} hello", channel_type="channel")
    async with started(slack, inbox):
        named = {key: value for key, value in event.items() if key != "channel_type"}
        await (await slack.deliver({**named, "type": "app_mention"})).wait()
        await (await slack.deliver(event)).wait()
    assert inbox.texts == ["hello"]
