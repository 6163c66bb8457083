"""Slack over HTTP: only signed requests are taken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from structlog.testing import capture_logs

from adapters.slack_adapter import SlackAdapter
from bot.web import build_app, serve
from memory.errors import DatabaseUnavailable
from tests.adapters.slack.running import Inbox, started
from tests.doubles import slack as double
from tests.doubles.slack import SIGNING_SECRET, SlackDouble


@asynccontextmanager
async def over_http(slack: SlackDouble, inbox: Inbox) -> AsyncIterator[tuple[SlackAdapter, str]]:
    async with started(slack, inbox, app_token=None, signing_secret=SIGNING_SECRET) as adapter:
        server = await serve(build_app(health=dict, slack_events=adapter.http_handler), "127.0.0.1", 0)
        try:
            yield adapter, f"http://127.0.0.1:{server.port}/slack/events"
        finally:
            await server.close()


async def test_signed_requests_are_taken_and_others_refused(slack: SlackDouble, inbox: Inbox) -> None:
    async with over_http(slack, inbox) as (_, url):
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
    async with over_http(slack, inbox) as (_, url):
        body = {"type": "url_verification", "challenge": "c4t", "token": "x"}
        status, text = await slack.deliver_http(url, body)
    assert status == 200
    assert "c4t" in text


async def test_events_that_slack_withholds_are_warned_of(slack: SlackDouble, inbox: Inbox) -> None:
    with capture_logs() as logged:
        async with over_http(slack, inbox) as (_, url):
            body = {"type": "app_rate_limited", "team_id": "T1", "minute_rate_limited": 1_700_000_000}
            assert (await slack.deliver_http(url, body))[0] == 200
    assert "slack_withholds_events" in [line["event"] for line in logged]


async def test_over_http_a_failed_store_asks_slack_to_try_again(slack: SlackDouble, inbox: Inbox) -> None:
    inbox.failures.append(DatabaseUnavailable("The database is locked."))
    async with over_http(slack, inbox) as (_, url):
        body = slack.envelope(slack.message("U1", "D1", "hello", channel_type="im"))
        assert (await slack.deliver_http(url, body))[0] == 500
        assert (await slack.deliver_http(url, body, **{"X-Slack-Retry-Num": "1"}))[0] == 200
    assert inbox.texts == ["hello"]


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[]", b"null", b'"x"', b"", b'{"type": 1, "event": []}'])
async def test_requests_that_make_no_sense_are_refused_quietly(
    slack: SlackDouble, inbox: Inbox, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with over_http(slack, inbox) as (_, url):
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
    async with over_http(slack, inbox) as (_, url):
        assert await post_raw(url, b"{}", {**double.signed(b"{}"), **headers}) == 401


async def post_raw(url: str, body: bytes, headers: dict[str, str]) -> int:
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers) as response:
        return response.status


async def test_stopping_finishes_what_is_being_stored(slack: SlackDouble, inbox: Inbox) -> None:
    inbox.gate = asyncio.Event()
    async with over_http(slack, inbox) as (adapter, url):
        body = slack.envelope(slack.message("U1", "D1", "hello", channel_type="im"))
        delivery = asyncio.create_task(slack.deliver_http(url, body))
        await inbox.entered.wait()
        stopping = asyncio.create_task(adapter.stop())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not stopping.done()
        inbox.gate.set()
        await asyncio.gather(stopping, adapter.closed())
        assert (await delivery)[0] == 200
        await adapter.stop()
    assert inbox.texts == ["hello"]


async def test_while_stopping_slack_is_told_to_come_again(slack: SlackDouble, inbox: Inbox) -> None:
    async with started(slack, inbox, app_token=None, signing_secret=SIGNING_SECRET) as adapter:
        server = await serve(build_app(health=dict, slack_events=adapter.http_handler), "127.0.0.1", 0)
        await adapter.stop()
        body = slack.envelope(slack.message("U1", "D1", "late", channel_type="im"))
        status, _ = await slack.deliver_http(f"http://127.0.0.1:{server.port}/slack/events", body)
        await server.close()
    assert status == 503
    assert inbox.messages == []
