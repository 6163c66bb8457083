"""Answers reach Slack once, in order, and ping nobody."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat import (
    Conversation,
    DeliveryFailed,
    DeliveryRefused,
    IncomingMessage,
    OutgoingMessage,
)
from tests.adapters.slack.running import Inbox, build, started
from tests.doubles import slack as double
from tests.doubles.slack import BOT_USER, SlackDouble

MENTION = f"<@{BOT_USER}>"


def answer(text: str, *, to: IncomingMessage | None = None, key: str = "1f") -> OutgoingMessage:
    conversation = to.conversation if to else Conversation(platform="slack", key="slack:T1:D1", audience="dm")
    return OutgoingMessage(
        conversation=conversation, text=text, in_reply_to=to.id if to else "1.000000", delivery_key=key
    )


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
    async with started(slack, inbox) as adapter, adapter.typing(answer("x").conversation, "1.0"):
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
        assert await adapter.delivered_as(answer(words)) is None
        await adapter.send(answer(words))
        assert await adapter.delivered_as(answer(words)) is not None
    assert " ".join(post["text"] for post in slack.posts()[1:]) == words


async def test_an_answer_in_a_thread_is_found_after_a_restart(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        root = slack.message("U1", "C1", f"{MENTION} hi", channel_type="channel")
        await (await slack.deliver(root)).wait()
        sent = answer("hello", to=inbox.messages[0], key="b1")
        assert await adapter.delivered_as(sent) is None
        await adapter.send(sent)
    async with started(slack, inbox) as adapter:
        assert await adapter.delivered_as(sent) is not None
        assert await adapter.delivered_as(answer("hello", to=inbox.messages[0], key="b2")) is None


async def test_a_post_of_ours_without_a_trace_counts_as_the_answer(slack: SlackDouble, inbox: Inbox) -> None:
    slack.message(BOT_USER, "D1", "hello", bot_id=double.BOT_ID)
    async with started(slack, inbox) as adapter:
        assert await adapter.delivered_as(answer("hello")) is not None


async def test_an_earlier_post_of_ours_is_not_the_answer(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox) as adapter:
        slack.message(BOT_USER, "D1", "an older post", bot_id=double.BOT_ID)
        await (await slack.deliver(slack.message("U1", "D1", "and now?", channel_type="im"))).wait()
        assert await adapter.delivered_as(answer("hello", to=inbox.messages[0])) is None


async def test_where_slack_never_lets_us_look_the_answer_counts_as_delivered(slack: SlackDouble, inbox: Inbox) -> None:
    slack.script("conversations.history", double.error("missing_scope"))
    async with started(slack, inbox) as adapter:
        assert await adapter.delivered_as(answer("hello")) is not None


async def test_where_slack_cannot_be_asked_just_now_the_answer_waits(slack: SlackDouble, inbox: Inbox) -> None:
    slack.script("conversations.history", double.error("internal_error"))
    async with started(slack, inbox) as adapter:
        with pytest.raises(DeliveryFailed):
            await adapter.delivered_as(answer("hello"))


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
