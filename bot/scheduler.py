"""APScheduler wiring: what happens by the clock. Nothing else in the project knows the scheduler.

Invariant: a run that was missed, because the loop was busy or the process down, happens once and late, not never
and not twice. While a run goes on, the next one of the same job is passed over, without a word to anybody. A run
that fails for a known reason is one line in the log, and the next one is made when it is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import tzinfo

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from memory.errors import MemorySystemError

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
            job: may raise a MemorySystemError.
            name: stands in the log.
        """
        self._scheduler.add_job(
            _one_at_a_time(_told(job, name)), "interval", seconds=seconds, id=name, replace_existing=True
        )

    def at_midnight(self, job: Job, *, zone: tzinfo, name: str) -> None:
        """Run a job whenever a day begins.

        Args:
            job: may raise a MemorySystemError.
            zone: in which the days are meant.
            name: stands in the log.
        """
        self._scheduler.add_job(
            _told(job, name), "cron", hour=0, minute=0, timezone=zone, id=name, replace_existing=True
        )

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def stop(self) -> None:
        """Start no further run."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)


def _told(job: Job, name: str) -> Job:
    """The job, of which it is told in one line why it failed."""

    async def run() -> None:
        try:
            await job()
        except MemorySystemError as error:
            _log.warning("scheduled_work_failed", job=name, error=str(error))

    return run


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
