"""The adapter, started on a workspace on loopback through the real client library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from adapters.slack_adapter import SlackAdapter
from bot.chat import IncomingMessage, OnMessage
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, SlackDouble
from tests.fakes import FakeClock


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


def build(slack: SlackDouble, inbox: OnMessage, **given: Any) -> SlackAdapter:
    tokens = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN, "api_url": slack.api_url, "clock": FakeClock()}
    return SlackAdapter(on_message=inbox, **{**tokens, **given})


@asynccontextmanager
async def started(slack: SlackDouble, inbox: OnMessage, **given: Any) -> AsyncIterator[SlackAdapter]:
    adapter = build(slack, inbox, **given)
    await adapter.start()
    try:
        yield adapter
    finally:
        await adapter.stop()
