"""What happens by the clock."""

from __future__ import annotations

import asyncio
import logging

import pytest
from structlog.testing import capture_logs

from bot.scheduler import Scheduler
from memory.errors import DatabaseUnavailable


async def test_a_run_that_takes_longer_than_its_interval_is_not_doubled_and_nobody_is_warned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, passed, may_end, ticks = 0, asyncio.Event(), asyncio.Event(), 0

    async def slow() -> None:
        nonlocal begun
        begun += 1
        await may_end.wait()

    async def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 5:
            passed.set()

    scheduler = Scheduler()
    scheduler.every(0.01, slow, name="slow")
    scheduler.every(0.02, tick, name="tick")
    with caplog.at_level(logging.WARNING):
        scheduler.start()
        await passed.wait()
    scheduler.stop()
    may_end.set()
    assert begun == 1
    assert caplog.records == []


async def test_a_run_that_fails_is_told_of_in_one_line_and_made_again(caplog: pytest.LogCaptureFixture) -> None:
    runs, again = 0, asyncio.Event()

    async def fails() -> None:
        nonlocal runs
        runs += 1
        if runs == 2:
            again.set()
        raise DatabaseUnavailable("The disk is full.")

    scheduler = Scheduler()
    scheduler.every(0.01, fails, name="sweep")
    with capture_logs() as logs:
        scheduler.start()
        await again.wait()
    scheduler.stop()
    failed = {"event": "scheduled_work_failed", "log_level": "warning", "job": "sweep", "error": "The disk is full."}
    assert logs[0] == failed
    assert caplog.records == []  # neither APScheduler's


async def test_a_run_that_a_busy_process_delays_by_minutes_is_still_made() -> None:
    async def job() -> None:
        pass

    scheduler = Scheduler()
    scheduler.every(60.0, job, name="job")
    scheduler.start()
    [scheduled] = scheduler._scheduler.get_jobs()  # what the library does with it takes minutes to see
    scheduler.stop()
    assert scheduled.misfire_grace_time >= 60
    assert scheduled.coalesce
