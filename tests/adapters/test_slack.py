"""The Slack adapter against a workspace on loopback, through the real client library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from adapters.slack_adapter import SCOPES, SlackAdapter
from adapters.slack_events import EVENTS
from bot.chat import (
    AdapterStartFailed,
    Conversation,
    DeliveryFailed,
    DeliveryRefused,
    IncomingMessage,
    OutgoingMessage,
)
from bot.web import build_app, serve
from memory.errors import DatabaseUnavailable
from tests.doubles import slack as double
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, BOT_USER, SIGNING_SECRET, SlackDouble
from tests.fakes import FakeClock

MANIFEST = Path(__file__).parents[2] / "docs" / "slack-manifest.yaml"
MENTION = f"<@{BOT_USER}>"


class Inbox:
    """Keeps messages once each, by conversation and id, as the real inbox does."""

    def __init__(self) -> None:
        self.messages: list[IncomingMessage] = []
        self.failures: list[Exception] = []
        self.gate: asyncio.Event | None = None
        self.entered = asyncio.Event()

    async def __call__(self, message: IncomingMessage) -> bool:
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        known = {(kept.conversation.key, kept.id) for kept in self.messages}
        if (message.conversation.key, message.id) in known:
            return False
        self.messages.append(message)
        return True

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]


@pytest.fixture
async def slack() -> AsyncIterator[SlackDouble]:
    async with SlackDouble() as slack:
        slack.add_user("U1", "Ann")
        slack.add_user("U2", "Bea")
        slack.add_channel("D1", is_im=True, is_private=True)
        slack.add_channel("C1")
        slack.add_channel("G1", is_private=True)
        yield slack


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


def build(slack: SlackDouble, inbox: Inbox, **given: Any) -> SlackAdapter:
    tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_url": slack.api_url, "clock": FakeClock()}
    return SlackAdapter(on_message=inbox, **{**tokens, **given})


@asynccontextmanager
async def started(slack: SlackDouble, inbox: Inbox, **given: Any) -> AsyncIterator[SlackAdapter]:
    adapter = build(slack, inbox, **given)
    await adapter.start()
    try:
        yield adapter
    finally:
        await adapter.stop()


@asynccontextmanager
async def over_http(slack: SlackDouble, inbox: Inbox) -> AsyncIterator[str]:
    async with started(slack, inbox, app_token=None, signing_secret=SIGNING_SECRET) as adapter:
        server = await serve(build_app(health=dict, slack_events=adapter.http_handler), "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.port}/slack/events"
        finally:
            await server.close()


def answer(
    text: str, *, to: IncomingMessage | None = None, key: str = "1f", where: str = "slack:T1:D1"
) -> OutgoingMessage:
    conversation = to.conversation if to else Conversation(platform="slack", key=where, audience="dm")
    return OutgoingMessage(
        conversation=conversation, text=text, in_reply_to=to.id if to else "1.000000", delivery_key=key
    )


# --- coming in


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


async def test_messages_of_one_channel_are_stored_in_order(slack: SlackDouble, inbox: Inbox) -> None:
    hold = slack.hold("users.info")
    async with started(slack, inbox):
        first = await slack.deliver(slack.message("U1", "D1", "first", channel_type="im"))
        await hold.arrived.wait()
        second = await slack.deliver(slack.message("U1", "D1", "second", channel_type="im"))
        hold.release()
        await first.wait()
        await second.wait()
    assert inbox.texts == ["first", "second"]


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


async def test_stopping_finishes_what_is_being_stored(slack: SlackDouble, inbox: Inbox) -> None:
    inbox.gate = asyncio.Event()
    adapter = build(slack, inbox)
    await adapter.start()
    await slack.deliver(slack.message("U1", "D1", "hello", channel_type="im"))
    await inbox.entered.wait()
    stopping = asyncio.create_task(adapter.stop())
    closed = asyncio.create_task(adapter.closed())
    inbox.gate.set()
    await asyncio.gather(stopping, closed)
    await adapter.stop()
    assert inbox.texts == ["hello"]


# --- over HTTP


async def test_signed_requests_are_taken_and_others_refused(slack: SlackDouble, inbox: Inbox) -> None:
    async with over_http(slack, inbox) as url:
        body = slack.envelope(slack.message("U1", "D1", "hello", channel_type="im"))
        assert (await slack.deliver_http(url, body, **{"X-Slack-Signature": "v0=bad"}))[0] == 401
        stale = double.signed(json.dumps(body).encode(), at=1_700_000_000)
        assert (await slack.deliver_http(url, body, **stale))[0] == 401
        foreign = double.signed(json.dumps(body).encode(), secret="another")
        assert (await slack.deliver_http(url, body, **foreign))[0] == 401
        assert inbox.messages == []
        assert (await slack.deliver_http(url, body))[0] == 200
        assert (await slack.deliver_http(url, body))[0] == 200
    assert inbox.texts == ["hello"]


async def test_slack_may_verify_the_address(slack: SlackDouble, inbox: Inbox) -> None:
    async with over_http(slack, inbox) as url:
        body = {"type": "url_verification", "challenge": "c4t", "token": "x"}
        status, text = await slack.deliver_http(url, body)
    assert status == 200
    assert "c4t" in text


async def test_over_http_a_failed_store_asks_slack_to_try_again(slack: SlackDouble, inbox: Inbox) -> None:
    inbox.failures.append(DatabaseUnavailable("The database is locked."))
    async with over_http(slack, inbox) as url:
        body = slack.envelope(slack.message("U1", "D1", "hello", channel_type="im"))
        assert (await slack.deliver_http(url, body))[0] == 500
        assert (await slack.deliver_http(url, body, **{"X-Slack-Retry-Num": "1"}))[0] == 200
    assert inbox.texts == ["hello"]


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[]", b"null", b'"x"', b"", b'{"type": 1, "event": []}'])
async def test_requests_that_make_no_sense_are_refused_quietly(
    slack: SlackDouble, inbox: Inbox, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_http(slack, inbox) as url:
        assert await post_raw(url, body, {"Content-Type": "application/json"}) == 401
        assert await post_raw(url, b"{", double.signed(b"{")) == 400
    assert not [record for record in caplog.records if record.name.startswith("aiohttp")]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Slack-Request-Timestamp": "soon"},
        {"X-Slack-Request-Timestamp": "²"},
        {"X-Slack-Signature": "é"},
        {"X-Slack-Signature": ""},
    ],
    ids=str,
)
async def test_a_broken_signature_is_refused(slack: SlackDouble, inbox: Inbox, headers: dict[str, str]) -> None:
    async with over_http(slack, inbox) as url:
        assert await post_raw(url, b"{}", {**double.signed(b"{}"), **headers}) == 401


async def post_raw(url: str, body: bytes, headers: dict[str, str]) -> int:
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as response:
        return response.status


async def test_while_stopping_slack_is_told_to_come_again(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox, app_token=None, signing_secret=SIGNING_SECRET) as adapter:
        server = await serve(build_app(health=dict, slack_events=adapter.http_handler), "127.0.0.1", 0)
        await adapter.stop()
        body = slack.envelope(slack.message("U1", "D1", "late", channel_type="im"))
        status, _ = await slack.deliver_http(f"http://127.0.0.1:{server.port}/slack/events", body)
        await server.close()
    assert status == 503
    assert inbox.messages == []


# --- going out


async def test_an_answer_goes_to_its_thread_without_pinging_anybody(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        root = slack.message("U1", "C1", f"{MENTION} hi", channel_type="channel")
        await (await slack.deliver(root)).wait()
        await adapter.send(answer("**Hello** <!channel>", to=inbox.messages[0]))
    [call] = slack.called("chat.postMessage")
    assert call["text"] == "*Hello* &lt;!channel&gt;"
    assert (call["channel"], call["thread_ts"]) == ("C1", root["ts"])
    assert (call["link_names"], call["unfurl_links"], call["unfurl_media"]) == (False, False, False)


async def test_an_answer_in_a_direct_chat_stays_flat(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter, adapter.typing(answer("x").conversation):
        await adapter.send(answer("hello"))
    [post] = slack.posts()
    assert (post["channel"], post.get("thread_ts")) == ("D1", None)


async def test_a_long_answer_arrives_in_order(slack: SlackDouble, inbox: Inbox) -> None:
    words = " ".join(f"word{number}" for number in range(2_000))
    async with started(slack, inbox) as adapter:
        await adapter.send(answer(words))
    posts = slack.posts()
    assert len(posts) > 2
    assert " ".join(post["text"] for post in posts) == words


async def test_a_rate_limit_is_waited_for(slack: SlackDouble, inbox: Inbox) -> None:
    slack.script("chat.postMessage", double.rate_limited(0))
    async with started(slack, inbox) as adapter:
        await adapter.send(answer("hello"))
    assert [post["text"] for post in slack.posts()] == ["hello"]


async def test_a_long_rate_limit_is_left_for_later(slack: SlackDouble, inbox: Inbox) -> None:
    slack.script("chat.postMessage", double.rate_limited(600))
    async with started(slack, inbox) as adapter:
        with pytest.raises(DeliveryFailed, match="600"):
            await adapter.send(answer("hello"))
    assert slack.posts() == []


@pytest.mark.parametrize(
    "trouble", [double.cut, double.server_error, lambda after: double.error("internal_error", after=after)]
)
@pytest.mark.parametrize("after", [False, True])
async def test_whatever_breaks_the_answer_is_there_once(
    slack: SlackDouble, inbox: Inbox, trouble: Any, after: bool
) -> None:
    slack.script("chat.postMessage", trouble(after=after))
    async with started(slack, inbox) as adapter:
        await adapter.send(answer("hello"))
    assert [post["text"] for post in slack.posts()] == ["hello"]


async def test_a_second_attempt_posts_only_what_is_missing(slack: SlackDouble, inbox: Inbox) -> None:
    words = " ".join(f"word{number}" for number in range(2_000))
    async with started(slack, inbox) as adapter:
        await adapter.send(answer("another answer", key="aa"))
        slack.script("chat.postMessage", double.cut(after=True), double.error("team_added_to_org"))
        with pytest.raises(DeliveryFailed):
            await adapter.send(answer(words))
    async with started(slack, inbox) as adapter:
        assert not await adapter.was_delivered(answer(words))
        await adapter.send(answer(words))
        assert await adapter.was_delivered(answer(words))
    assert " ".join(post["text"] for post in slack.posts()[1:]) == words


async def test_an_answer_in_a_thread_is_found_after_a_restart(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        root = slack.message("U1", "C1", f"{MENTION} hi", channel_type="channel")
        await (await slack.deliver(root)).wait()
        sent = answer("hello", to=inbox.messages[0], key="b1")
        assert not await adapter.was_delivered(sent)
        await adapter.send(sent)
    async with started(slack, inbox) as adapter:
        assert await adapter.was_delivered(sent)
        assert not await adapter.was_delivered(answer("hello", to=inbox.messages[0], key="b2"))


async def test_a_post_of_ours_without_a_trace_counts_as_the_answer(slack: SlackDouble, inbox: Inbox) -> None:
    slack.message(BOT_USER, "D1", "hello", bot_id=double.BOT_ID)
    async with started(slack, inbox) as adapter:
        assert await adapter.was_delivered(answer("hello"))


async def test_where_slack_never_lets_us_look_the_answer_counts_as_delivered(slack: SlackDouble, inbox: Inbox) -> None:
    slack.script("conversations.history", double.error("missing_scope"))
    async with started(slack, inbox) as adapter:
        assert await adapter.was_delivered(answer("hello"))


async def test_where_slack_cannot_be_asked_just_now_the_answer_waits(slack: SlackDouble, inbox: Inbox) -> None:
    slack.script("conversations.history", double.error("internal_error"))
    async with started(slack, inbox) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.was_delivered(answer("hello"))


@pytest.mark.parametrize(
    "code", ["channel_not_found", "is_archived", "not_in_channel", "restricted_action_thread_locked"]
)
async def test_a_refusal_for_good_is_told_apart(slack: SlackDouble, inbox: Inbox, code: str) -> None:
    slack.script("chat.postMessage", double.error(code))
    async with started(slack, inbox) as adapter:
        with pytest.raises(DeliveryRefused, match=code):
            await adapter.send(answer("hello"))


async def test_a_slack_that_is_gone_leaves_the_answer_for_later(inbox: Inbox) -> None:
    async with SlackDouble() as slack:
        adapter = build(slack, inbox)
        await adapter.start()
    with pytest.raises(DeliveryFailed):
        await adapter.send(answer("hello"))
    await adapter.stop()


# --- starting


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"bot_token": APP_TOKEN, "app_token": BOT_TOKEN}, "swapped"),
        ({"bot_token": APP_TOKEN}, "SLACK_BOT_TOKEN holds an app-level token"),
        ({"bot_token": "xoxp-user"}, "SLACK_BOT_TOKEN is not a bot token"),
        ({"app_token": BOT_TOKEN}, "SLACK_APP_TOKEN is not an app-level token"),
        ({"app_token": None}, "SLACK_SIGNING_SECRET"),
        ({"bot_token": "xoxb-wrong"}, "SLACK_BOT_TOKEN: it is not valid"),
        ({"app_token": "xapp-wrong"}, "SLACK_APP_TOKEN: it is not valid"),
        ({"api_url": "http://127.0.0.1:1/api/"}, "cannot be reached"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_start_that_fails_says_what_to_do(
    slack: SlackDouble, inbox: Inbox, given: dict[str, Any], says: str
) -> None:
    adapter = build(slack, inbox, **given)
    with pytest.raises(AdapterStartFailed, match=says):
        await adapter.start()
    await adapter.stop()


@pytest.mark.parametrize("code", ["invalid_auth", "not_authed", "token_revoked", "missing_scope", "account_inactive"])
async def test_slacks_refusal_of_the_bot_token_is_put_in_words(slack: SlackDouble, inbox: Inbox, code: str) -> None:
    slack.script("auth.test", double.error(code))
    with pytest.raises(AdapterStartFailed, match="Slack refuses SLACK_BOT_TOKEN"):
        await build(slack, inbox).start()


async def test_missing_scopes_are_named_at_the_start(slack: SlackDouble, inbox: Inbox) -> None:
    slack.scopes = ",".join(sorted(SCOPES - {"chat:write"}))
    with pytest.raises(AdapterStartFailed, match="lacks scopes: chat:write"):
        await build(slack, inbox).start()
    slack.scopes = ",".join(sorted(SCOPES | {"commands"}))
    async with started(slack, inbox):
        pass


def test_the_manifest_asks_for_what_the_adapter_uses() -> None:
    manifest = yaml.safe_load(MANIFEST.read_text())
    assert set(manifest["oauth_config"]["scopes"]["bot"]) == SCOPES
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == set(EVENTS)
    assert manifest["features"]["app_home"]["messages_tab_read_only_enabled"] is False
