"""The adapter, started on a Discord on loopback through the real client library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from adapters.discord_adapter import DiscordAdapter
from bot.chat import Conversation, IncomingMessage, OutgoingMessage
from bot.listener import IsForUs, plainly_for_us
from tests.doubles.discord import DiscordDouble
from tests.doubles.discord_gateway import TOKEN
from tests.doubles.discord_world import Channel


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
