"""Runs durable jobs in the background: in order within a scope, side by side over scopes, with backoff.

Invariant: a failing job never breaks a chat and never stops other jobs. What is running when the process ends is
given back and done after the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import timedelta

import structlog

from memory.database import Database
from memory.errors import MemorySystemError, ModelResting, StorageError
from memory.ports import Clock
from memory.process_lock import ProcessLock
from memory.records import Job, JobState, Scope
from memory.stores.jobs import JobStore

_log = structlog.get_logger(__name__)

JobHandler = Callable[[Job], Awaitable[None]]
"""Does a job: model calls first, then one transaction with its effect in which it also calls ``JobStore.done``."""

_SIDE_BY_SIDE = 4
# Longer than an attempt: a long session is summed up in pieces, each within a model call's own deadline.
_LEASE = timedelta(minutes=5)
_FIRST_DELAY = timedelta(seconds=5)


class JobRunner:
    """Runs the jobs of an installation.

    Args:
        database: for transactions.
        jobs: the durable jobs.
        handlers: what does each kind of job.
        clock: says what is due.
        attempts: tries before a job is set aside.
        process: tells whether others may be at work.
    """

    def __init__(
        self,
        *,
        database: Database,
        jobs: JobStore,
        handlers: Mapping[str, JobHandler],
        clock: Clock,
        attempts: int,
        process: ProcessLock,
    ) -> None:
        self._process = process
        self._database = database
        self._jobs = jobs
        self._handlers = handlers
        self._clock = clock
        self._attempts = attempts
        self._looking: asyncio.Task[bool] | None = None
        self._look_again = False
        self._running: dict[asyncio.Task[bool], str] = {}  # with the key of each job
        self._stopped = False

    def kick(self) -> None:
        """A job was added, or may have become due: see to it soon."""
        self._look_again = True
        if not self._stopped and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._take_up(), name="jobs")

    async def take_over(self) -> None:
        """After a start: begin, also with what a process was at that is gone by now."""
        if await asyncio.to_thread(self._process.is_alone) and (left := await self._jobs.release_left()):
            _log.info("jobs_taken_over", jobs=left)
        self.kick()

    async def settle(self) -> None:
        """Wait until no job is due any more."""
        self.kick()
        while at_work := self._at_work():
            await asyncio.wait(at_work)

    async def settle_scope(self, scope: Scope, *, timeout: float, besides: Collection[str] = ()) -> bool:
        """Wait until none of a scope's jobs is due any more.

        Args:
            scope: whose jobs.
            timeout: longest wait, in seconds.
            besides: kinds of jobs that are not waited for where they come last.

        Returns:
            False if the time ran out, or the database cannot be used.
        """
        try:
            async with asyncio.timeout(timeout):
                while await self._is_due(scope, besides) and not self._stopped:
                    self.kick()
                    ended, _ = await asyncio.wait(self._at_work(), return_when=asyncio.FIRST_COMPLETED)
                    if not all(task.cancelled() or task.result() for task in ended):
                        return False
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Stop; running jobs are given back."""
        self._stopped = True
        at_work = self._at_work()
        for task in at_work:
            task.cancel()
        await asyncio.gather(*at_work, return_exceptions=True)

    def _at_work(self) -> set[asyncio.Task[bool]]:
        looking = {self._looking} if self._looking is not None and not self._looking.done() else set()
        return looking | set(self._running)

    async def _is_due(self, scope: Scope, besides: Collection[str]) -> bool:
        """Whether the scope's next job can be run now, or is running here; all others wait for that one.

        One that another process has claimed is not waited for.
        """
        now = self._clock.now()
        pending = [job for job in await self._jobs.unfinished(scope) if job.state is JobState.PENDING]
        if not any(job.kind not in besides for job in pending) or pending[0].due_at > now:
            return False
        job = pending[0]
        return job.key in self._running.values() or job.claimed_until is None or job.claimed_until <= now

    async def _take_up(self) -> bool:
        """Begin what is due, as far as there are places for it; False where the database cannot be used."""
        try:
            while self._look_again and not self._stopped:
                self._look_again = False
                if places := _SIDE_BY_SIDE - len(self._running):
                    for job in await self._claimed(places):
                        self._begin(job)
        except StorageError as error:
            _log.warning("jobs_postponed", error=str(error))
            return False
        return True

    def _begin(self, job: Job) -> None:
        """Do a job beside the others; once it has ended, its scope's next one may be due."""

        def ended(task: asyncio.Task[bool]) -> None:
            del self._running[task]
            self.kick()

        task = asyncio.create_task(self._do(job), name="job")
        self._running[task] = job.key
        task.add_done_callback(ended)

    async def _do(self, job: Job) -> bool:
        """Do a job; False where the database cannot be used."""
        try:
            await self._attempt(job)
        except StorageError as error:
            _log.warning("jobs_postponed", error=str(error))
            return False
        return True

    async def _claimed(self, places: int) -> list[Job]:
        """The next jobs, claimed. Those claimed while we are stopped are given back: their lease would keep them."""
        claiming = asyncio.ensure_future(self._jobs.claim(now=self._clock.now(), lease=_LEASE, most=places))
        try:
            return await asyncio.shield(claiming)
        except asyncio.CancelledError:
            for job in await claiming:
                await self._give_back(job)
            raise

    async def _attempt(self, job: Job) -> None:
        log = _log.bind(job=job.key, attempt=job.attempts)
        try:
            await self._handlers[job.kind](job)
        except asyncio.CancelledError:
            await asyncio.shield(self._give_back(job))
            raise
        except ModelResting as error:
            await self._postpone(job, error, log)
        except MemorySystemError as error:
            await self._failed(job, f"{type(error).__name__}: {error}", log)
        except Exception as error:  # the outermost handler of background work: other jobs must go on
            log.exception("job_broke")
            await self._failed(job, type(error).__name__, log)
        else:
            log.info("job_done")

    async def _failed(self, job: Job, error: str, log: structlog.stdlib.BoundLogger) -> None:
        again = job.attempts < self._attempts
        delay = _FIRST_DELAY * 2 ** (job.attempts - 1)
        async with self._database.transaction() as tx:
            due_at = self._clock.now() + delay if again else None
            await self._jobs.failed(job.scope, tx, job=job, error=error, due_at=due_at)
        if again:
            log.warning("job_failed", error=error, retry_seconds=delay.total_seconds())
        else:
            log.error("job_set_aside", error=error)

    async def _postpone(self, job: Job, error: ModelResting, log: structlog.stdlib.BoundLogger) -> None:
        """Wait until the model is asked again; that it rests is not the job's fault, so it costs it no try."""
        async with self._database.transaction() as tx:
            due_at = self._clock.now() + max(_FIRST_DELAY, timedelta(seconds=error.retry_after))
            await self._jobs.release(job.scope, tx, job=job, due_at=due_at)
        log.info("job_postponed", seconds=error.retry_after)

    async def _give_back(self, job: Job) -> None:
        async with self._database.transaction() as tx:
            await self._jobs.release(job.scope, tx, job=job)
