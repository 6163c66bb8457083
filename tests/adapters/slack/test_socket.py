"""The Socket Mode connection when the library alone would never come back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_socket import SocketConnection
from bot.chat import AdapterStartFailed
from tests.doubles import slack as double
from tests.doubles.library_log import first_line
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, SlackDouble


class Returns:
    """Counts how often the connection said that it is there."""

    def __init__(self) -> None:
        self.count = 0
        self.lost = asyncio.Event()

    def __call__(self) -> None:
        self.count += 1


class Gate:
    """Where events wait before they are acknowledged; it is open until a test closes it."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()
        self.open.set()


@pytest.fixture
def returns() -> Returns:
    return Returns()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def connection(slack: SlackDouble, returns: Returns, gate: Gate) -> AsyncIterator[SocketConnection]:
    logger = logging.getLogger("tests.slack_socket")
    logger.setLevel(logging.ERROR)
    client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, retry_handlers=[], logger=logger)
    app = AsyncApp(client=client, logger=logger)

    @app.use
    async def acknowledge() -> BoltResponse:
        gate.reached.set()
        await gate.open.wait()
        return BoltResponse(status=200)

    connection = SocketConnection(
        app,
        client,
        APP_TOKEN,
        logger=logger,
        on_return=returns,
        on_loss=returns.lost.set,
        check_every=0.02,
        give_up_after=0.1,
    )
    await connection.open()
    yield connection
    await connection.close()


async def test_an_address_that_slack_no_longer_accepts_is_replaced(
    slack: SlackDouble, connection: SocketConnection, returns: Returns, caplog: pytest.LogCaptureFixture
) -> None:
    watch = asyncio.create_task(connection.watch())
    await slack.connected(1)
    slack.refuse_sockets(1)
    await slack.drop()
    await slack.connected(2)
    await (await slack.deliver({"type": "reaction_added"})).wait()
    assert connection.connected
    assert returns.count == 2
    assert [record.exc_info for record in caplog.records if record.name == "tests.slack_socket"] == [None]
    watch.cancel()


async def test_a_renewal_that_slack_announces_counts_as_no_break(
    slack: SlackDouble, connection: SocketConnection, returns: Returns
) -> None:
    await slack.connected(1)
    await slack.disconnect()
    await slack.connected(2)
    await (await slack.deliver({"type": "reaction_added"})).wait()
    assert returns.count == 1


async def test_a_renewal_that_takes_long_counts_as_a_break(
    slack: SlackDouble, connection: SocketConnection, returns: Returns
) -> None:
    watch = asyncio.create_task(connection.watch())
    await slack.connected(1)
    slack.refuse_sockets(1)
    await slack.disconnect()
    await slack.drop()
    await returns.lost.wait()
    await slack.connected(2)
    await (await slack.deliver({"type": "reaction_added"})).wait()
    assert returns.count == 2
    watch.cancel()


async def test_a_token_withdrawn_while_running_ends_the_watch_with_the_reason(
    slack: SlackDouble, connection: SocketConnection
) -> None:
    await slack.connected(1)
    slack.script("apps.connections.open", *[double.error("token_revoked")] * 20)
    await slack.drop()
    async with asyncio.timeout(10):
        with pytest.raises(AdapterStartFailed, match="SLACK_APP_TOKEN: it was revoked"):
            await connection.watch()


async def test_trouble_on_slacks_side_is_waited_out(slack: SlackDouble, connection: SocketConnection) -> None:
    watch = asyncio.create_task(connection.watch())
    await slack.connected(1)
    slack.script("apps.connections.open", *[double.server_error()] * 3)
    await slack.drop()
    await slack.connected(2)
    assert not watch.done()
    watch.cancel()


async def test_what_can_be_acknowledged_no_more_is_told_of_in_one_line(
    slack: SlackDouble, connection: SocketConnection, gate: Gate
) -> None:
    gate.open.clear()
    await slack.connected(1)
    await slack.deliver({"type": "reaction_added"})
    await gate.reached.wait()
    slack.refuse_sockets(9)
    await slack.drop()
    with first_line("tests.slack_socket", "Failed to run a request listener") as line:
        gate.open.set()
        await connection.close()  # until then the library hopes for another connection
        assert (await line).exc_info is None
