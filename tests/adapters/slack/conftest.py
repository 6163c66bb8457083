"""A Slack workspace on loopback, and an inbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.adapters.slack.running import Inbox
from tests.doubles.slack import SlackDouble


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
