"""The first signal asks the process to end; the second, or too long an end, ends it."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest
from structlog.testing import capture_logs

from bot.stop_signals import stop_signals

A_DAY = 86_400.0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_asks_and_a_second_ends_the_process_at_once(number: signal.Signals) -> None:
    ends: list[int] = []
    ended = asyncio.Event()

    def end(code: int) -> None:
        ends.append(code)
        ended.set()

    async with stop_signals(longest_end=A_DAY, apart=0, end=end) as stop:
        signal.raise_signal(number)
        await asyncio.wait_for(stop.wait(), 10)
        assert ends == []
        signal.raise_signal(number)
        await asyncio.wait_for(ended.wait(), 10)
    assert ends == [128 + number]


async def test_a_signal_that_is_sent_twice_at_once_is_one() -> None:
    ends: list[int] = []
    async with stop_signals(longest_end=A_DAY, apart=A_DAY, end=ends.append) as stop:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
            await asyncio.wait_for(stop.wait(), 10)
            await asyncio.sleep(0)
    assert ends == []


async def test_a_process_that_does_not_come_to_its_end_is_ended() -> None:
    ends: list[int] = []
    ended = threading.Event()

    def end(code: int) -> None:
        ends.append(code)
        ended.set()

    with capture_logs() as logs:
        async with stop_signals(longest_end=0.01, end=end) as stop:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(stop.wait(), 10)
        assert await asyncio.to_thread(ended.wait, 10)
    assert ends == [1]
    assert [entry["event"] for entry in logs] == ["not_stopped_in_time"]
