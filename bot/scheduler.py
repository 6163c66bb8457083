"""APScheduler wiring: what happens by the clock. Nothing else in the project knows the scheduler.

Invariant: a run that was missed, because the loop was busy or the process down, happens once and late, not never
and not twice. While a run goes on, the next one of the same job is passed over, without a word to anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import tzinfo

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

_log = structlog.get_logger(__name__)

_MISFIRE_GRACE_SECONDS = 300

Job = Callable[[], Awaitable[object]]


class Scheduler:
    """Runs jobs at intervals while it is started."""

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={"coalesce": True, "max_instances": 2, "misfire_grace_time": _MISFIRE_GRACE_SECONDS},
        )

    def every(self, seconds: float, job: Job, *, name: str) -> None:
        """Run a job again and again.

        Args:
            seconds: the interval; fractions are allowed.
            job: must not raise.
            name: stands in the log.
        """
        self._scheduler.add_job(_one_at_a_time(job), "interval", seconds=seconds, id=name, replace_existing=True)

    def at_midnight(self, job: Job, *, zone: tzinfo, name: str) -> None:
        """Run a job whenever a day begins.

        Args:
            job: must not raise.
            zone: in which the days are meant.
            name: stands in the log.
        """
        self._scheduler.add_job(job, "cron", hour=0, minute=0, timezone=zone, id=name, replace_existing=True)

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def stop(self) -> None:
        """Start no further run."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)


def _one_at_a_time(job: Job) -> Job:
    """The job, which returns at once while it still runs: APScheduler itself would warn whoever reads the terminal."""
    running = asyncio.Lock()

    async def run() -> None:
        if running.locked():
            _log.debug("run_passed_over")
            return
        async with running:
            await job()

    return run
