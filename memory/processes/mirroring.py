"""Keeps the mirror and this database alike: takes in what other devices changed, tells it what changed here.

What changed is noted beside the rows (``stores.mirror_changes``) and stays noted until the mirror has it, so a mirror
that is slow, gone for a day or cut off in the middle only lags behind. After a failure it is left alone for 5, 10, 20
and 40 seconds, then for a minute at a time.

Invariant: nobody waits for the mirror but who asks for a restore. What is taken in is one transaction for each step,
together with the note of how far it came; a step that is done twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from memory.database import Database, Transaction
from memory.errors import MemorySystemError, MirrorUnavailable
from memory.mirror.process import MirrorProcess
from memory.mirror.replica import follows
from memory.ports import Clock
from memory.processes.mirror_register import MirrorRegister
from memory.processes.mirror_taking import EraseDue, MirrorTaking
from memory.processes.mirror_telling import MirrorTelling
from memory.records import Job
from memory.stores.jobs import JobStore
from memory.stores.mirror_changes import MirrorChangeStore
from memory.stores.mirrored import COLD, ERASED, MESSAGES, Mirrored, tables_of

_log = structlog.get_logger(__name__)

MIRROR = "mirror"
"""The kind of the job that follows a conversation."""

_TAKEN_AT_ONCE = 200  # in one transaction, for which whoever writes meanwhile waits
_PAUSES = (5, 10, 20, 40, 60)  # seconds
_ERASING_SECONDS = 15  # for which somebody waits who has asked to be erased
_LOOK = timedelta(minutes=1)  # at what other devices changed

OnRestored = Callable[[int, int], None]
"""Told of the rows that are back and of those there are in all."""


class Mirroring:
    """The mirror of an installation.

    Args:
        process: talks to the mirror's worker.
        database: for transactions over all stores.
        changes: what the mirror has to be told.
        register: registers this device.
        telling: tells it.
        taking: takes in what other devices changed.
        jobs: the durable jobs.
        clock: says what is due.
        stores: what is mirrored row by row.
    """

    def __init__(
        self,
        process: MirrorProcess,
        *,
        database: Database,
        changes: MirrorChangeStore,
        register: MirrorRegister,
        telling: MirrorTelling,
        taking: MirrorTaking,
        jobs: JobStore,
        clock: Clock,
        stores: Sequence[Mirrored],
    ) -> None:
        self._process = process
        self._database = database
        self._changes = changes
        self._register = register
        self._telling = telling
        self._taking = taking
        self._jobs = jobs
        self._clock = clock
        self._stores = {store.name: store for store in stores}
        self._failures = 0
        self._due: datetime | None = None
        self._to_forget = False  # whether the copy holds words of somebody who is erased
        self._exchanging = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def watch(self, *, erase_due: EraseDue) -> None:
        """From now on note every change.

        Args:
            erase_due: erases scopes for good, as many as it is given.
        """
        self._taking.erase_by(erase_due)
        device = await self._changes.watch(tuple(self._stores.values()))
        self._telling.as_device(device)
        self._register.as_device(device)

    async def after_conversation(self, job: Job) -> None:
        """Do the job that follows a conversation: have the mirror told soon."""
        async with self._database.transaction() as tx:
            await self._jobs.done(job.scope, tx, job=job)
        self.kick()

    def kick(self) -> None:
        """Something changed: exchange it soon, unless the mirror is left alone after a failure."""
        resting = self._failures and self._due is not None and self._clock.now() < self._due
        if not resting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._in_background(), name="mirror")
            self._task.add_done_callback(_tell_of_breakdown)

    async def run_due(self) -> None:
        """Exchange what is due by the clock; what goes wrong is logged, and tried again when it is due."""
        if self._due is None or self._clock.now() >= self._due:
            self.kick()
            await self.settle()

    async def settle(self) -> None:
        """Wait until the exchange that goes on is over."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def exchange(self) -> None:
        """Take in what other devices changed, and tell the mirror everything that changed here.

        Raises:
            MirrorUnavailable: it cannot be reached. What it was not told stays noted.
        """
        async with self._exchanging:
            try:
                await self._process.exchange(push=False)
                was_away = await self._register.enter()
                await self._take_in((ERASED,), None)
                await self._tell_of_erasures()  # first, lest what others said of somebody erased here comes back
                await self._take_in(self._tables, None)
                if was_away:
                    await self._register.compare()
                while await self._telling.tell_some():
                    await self._tell_of_erasures()
                await self._register.renew(compared=was_away)
            except MemorySystemError:
                self._failures += 1
                pause = _PAUSES[min(self._failures, len(_PAUSES)) - 1]
                self._due = self._clock.now() + timedelta(seconds=pause)
                raise
            if self._to_forget:
                await self._process.forget_copy()
                self._to_forget = False
            self._failures = 0
            self._due = self._clock.now() + _LOOK
            async with self._database.transaction() as tx:
                await self._changes.note_mirrored(tx, at=self._clock.now())

    async def restore(self, *, archive: bool = True, on_progress: OnRestored | None = None) -> int:
        """Bring back what the mirror holds and this database does not; how many rows.

        Args:
            archive: whether to wait for the archive and for what was said too; without, the next exchange brings them.
            on_progress: told how far it is.

        Raises:
            MirrorUnavailable: it cannot be reached; what came so far stays, and the next try goes on from there.
        """
        async with self._exchanging:
            await self._process.exchange(push=False)
            await self._register.enter()  # who was away compares with the next exchange
            await self._tell_of_erasures()  # first, as above
            late = {COLD, MESSAGES.remote}
            tables = [table for table in self._tables if archive or table not in late]
            return await self._take_in(tables, on_progress)

    async def is_new_here(self) -> bool:
        """Whether this database has never exchanged anything with the mirror."""
        return not await self._changes.seen()

    async def tell_rest(self, *, seconds: float) -> None:
        """Tell the mirror what it does not have yet, before the process ends; what takes longer stays noted."""
        if (await self._changes.progress()).waiting:
            with suppress(MemorySystemError, TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.exchange()

    async def note_erased(self, person: str, tx: Transaction) -> None:
        """Note, in the transaction of an erasure here, that all of a person is to be erased there."""
        await self._changes.erase_person(person, tx)

    async def erased(self) -> bool:
        """After an erasure here: erase there too; whether that is done already. What is not is done later."""
        await self._process.forget_copy()  # it holds the words that are to be nowhere
        try:
            async with asyncio.timeout(_ERASING_SECONDS):
                await self.exchange()
        except (MirrorUnavailable, TimeoutError) as error:
            _log.warning("mirror_not_erased_yet", error=str(error))
            return False
        return True

    async def close(self) -> None:
        """End the exchange that goes on, and the worker. What the mirror was not told stays noted."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._process.close()

    @property
    def _tables(self) -> tuple[str, ...]:
        return (ERASED, *tables_of(tuple(self._stores.values())))

    async def _in_background(self) -> None:
        try:
            await self.exchange()
        except MemorySystemError as error:
            _log.warning("mirror_postponed", error=str(error), failures=self._failures)

    async def _take_in(self, tables: Sequence[str], on_progress: OnRestored | None) -> int:
        """Take in what is new in some tables; how many rows."""
        done, total = 0, 0
        seen = await self._changes.seen()
        if on_progress is not None:
            counts = await self._process.unseen(seen)
            total = sum(counts.get(table, 0) for table in tables)
        for table in tables:
            known = seen.get(table, {})
            while rows := await self._process.since(table, known, limit=_TAKEN_AT_ONCE):
                known = known | {row["device"]: row["seq"] for row in rows}  # they come in the order of their numbers
                await self._taking.take(table, rows, known, self._stores)
                self._to_forget |= table == ERASED and not all(map(follows, rows))
                done += len(rows)
                if on_progress is not None:
                    on_progress(done, max(done, total))
        await self._taking.finish()
        if done:
            _log.info("mirror_taken_in", rows=done)
        return done

    async def _tell_of_erasures(self) -> None:
        self._to_forget |= await self._telling.tell_of_erasures() > 0


def without_mirror(database: Database, jobs: JobStore) -> Callable[[Job], Awaitable[None]]:
    """What does the jobs of conversations where there is no mirror any more: nothing."""

    async def let_go(job: Job) -> None:
        async with database.transaction() as tx:
            await jobs.done(job.scope, tx, job=job)

    return let_go


def _tell_of_breakdown(task: asyncio.Task[None]) -> None:
    """An exchange that broke down is a mistake of ours; the next one goes on from what is noted."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("mirror_broke", exc_info=error)
