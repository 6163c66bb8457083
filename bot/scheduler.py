"""APScheduler wiring: what happens by the clock. Nothing else in the project knows the scheduler.

Invariant: a run that was missed, because the loop was busy or the process down, happens once and late, not never
and not twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apscheduler.schedulers.asyncio import AsyncIOScheduler

_MISFIRE_GRACE_SECONDS = 300

Job = Callable[[], Awaitable[object]]


class Scheduler:
    """Runs jobs at intervals while it is started."""

    def __init__(self) -> None:
        self._scheduler = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": _MISFIRE_GRACE_SECONDS},
        )

    def every(self, seconds: float, job: Job, *, name: str) -> None:
        """Run a job again and again.

        Args:
            seconds: the interval; fractions are allowed.
            job: must not raise.
            name: stands in the log.
        """
        self._scheduler.add_job(job, "interval", seconds=seconds, id=name, replace_existing=True)

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def stop(self) -> None:
        """Start no further run."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
