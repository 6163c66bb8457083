"""The Slack double behaves towards the real client library as Slack does."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.doubles import slack as double
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, BOT_USER, SlackDouble


@pytest.fixture
async def slack() -> AsyncIterator[SlackDouble]:
    async with SlackDouble() as slack:
        slack.add_channel("D1", is_im=True)
        yield slack


@pytest.fixture
def client(slack: SlackDouble) -> AsyncWebClient:
    return AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[])


async def test_bolt_listens_and_answers_through_it(slack: SlackDouble, client: AsyncWebClient) -> None:
    app = AsyncApp(client=client)

    @app.event("message")
    async def echo(event, say) -> None:  # type: ignore[no-untyped-def]
        await say(f"you said {event['text']}")

    handler = AsyncSocketModeHandler(app, APP_TOKEN)
    await handler.connect_async()
    await slack.connected()
    delivery = await slack.deliver(slack.message("U1", "D1", "hello", channel_type="im"))
    await delivery.wait()
    [post] = await slack.wait_for_posts(1)
    assert (post["user"], post["text"]) == (BOT_USER, "you said hello")
    await handler.close_async()


@pytest.mark.parametrize(("token", "code"), [("xoxb-wrong", "invalid_auth"), ("", "not_authed")])
async def test_it_checks_the_token(slack: SlackDouble, token: str, code: str) -> None:
    with pytest.raises(SlackApiError) as refused:
        await AsyncWebClient(token=token, base_url=slack.api_url).auth_test()
    assert refused.value.response["error"] == code


async def test_history_is_newest_first_and_shows_metadata_only_when_asked(
    slack: SlackDouble, client: AsyncWebClient
) -> None:
    metadata = {"event_type": "mark", "event_payload": {"n": 1}}
    slack.message("U1", "D1", "one")
    await client.chat_postMessage(channel="D1", text="two", metadata=metadata)
    await client.chat_postMessage(channel="D1", text="in a thread", thread_ts="1.0")
    plain = await client.conversations_history(channel="D1")
    full = await client.conversations_history(channel="D1", include_all_metadata=True)
    assert [message["text"] for message in plain["messages"]] == ["two", "one"]
    assert "metadata" not in plain["messages"][0]
    assert full["messages"][0]["metadata"] == metadata


async def test_replies_come_in_pages_with_the_root_first(slack: SlackDouble, client: AsyncWebClient) -> None:
    root = slack.message("U1", "D1", "root")["ts"]
    for number in range(3):
        slack.message("U1", "D1", f"reply {number}", thread_ts=root)
    pages = [page["messages"] async for page in await client.conversations_replies(channel="D1", ts=root, limit=2)]
    assert [[message["text"] for message in page] for page in pages] == [
        ["root", "reply 0"],
        ["reply 1", "reply 2"],
    ]


async def test_scripted_trouble_happens_once(slack: SlackDouble, client: AsyncWebClient) -> None:
    slack.script("chat.postMessage", double.rate_limited(7), double.cut(after=True))
    with pytest.raises(SlackApiError) as limited:
        await client.chat_postMessage(channel="D1", text="one")
    assert limited.value.response.headers["Retry-After"] == "7"
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel="D1", text="two")
    await client.chat_postMessage(channel="D1", text="three")
    assert [post["text"] for post in slack.posts()] == ["two", "three"]
