"""A Discord on loopback, and an inbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.adapters.discord_running import Inbox
from tests.doubles.discord import DiscordDouble


@pytest.fixture
async def discord() -> AsyncIterator[DiscordDouble]:
    async with DiscordDouble().running() as double:
        yield double


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()
