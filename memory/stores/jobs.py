"""Durable jobs: work that is done after the process that asked for it may be gone.

Invariants: a scope's jobs run in the order they were added and one at a time, in whatever process; the effect of a
job and the note that it is done are one transaction, so the effect happens once. A job that is done keeps its key,
so that adding it again is nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Row, Update, and_, bindparam, delete, exists, func, or_, select, tuple_, update
from sqlalchemy.dialects.sqlite import insert

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.records import Job, JobState, Scope
from memory.schema import jobs
from memory.stores.scoped import delete_scope, in_any_scope, in_scope, rows_of_scope, scope_of_row, scope_values

# Made once, since making a statement takes longer than running it.
_THIS = and_(in_any_scope(jobs), jobs.c.key == bindparam("of_key"))
_ADD = insert(jobs).on_conflict_do_nothing(index_elements=[jobs.c.person, jobs.c.audience, jobs.c.key])
_PENDING = and_(_THIS, jobs.c.state == JobState.PENDING)
_DONE = update(jobs).where(_PENDING).values(state=JobState.DONE, claimed_until=None, last_error=None)
_older = jobs.alias("older")
_is_first_of_its_scope = ~exists().where(
    _older.c.person == jobs.c.person,
    _older.c.audience == jobs.c.audience,
    _older.c.state == JobState.PENDING,
    _older.c.id < jobs.c.id,
)
_due = (
    select(jobs.c.person, jobs.c.audience, jobs.c.key)
    .where(
        jobs.c.state == JobState.PENDING,
        jobs.c.due_at <= bindparam("now"),
        or_(jobs.c.claimed_until.is_(None), jobs.c.claimed_until <= bindparam("now")),
        _is_first_of_its_scope,
    )
    .order_by(jobs.c.due_at, jobs.c.id)
    .limit(bindparam("most"))
)
_CLAIM = (
    update(jobs)
    .where(tuple_(jobs.c.person, jobs.c.audience, jobs.c.key).in_(_due))
    .values(claimed_until=bindparam("until"), attempts=jobs.c.attempts + 1)
    .returning(jobs)
)


class JobStore:
    """The table of jobs.

    Args:
        database: where the rows are.
        ids: draws the jobs' ids, which give their order.
    """

    name = "jobs"

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._database = database
        self._ids = ids

    async def add(
        self, scope: Scope, tx: Transaction, *, kind: str, subject: int, payload: Mapping[str, Any], at: datetime
    ) -> bool:
        """Add a job, in the transaction of what makes it necessary.

        Args:
            scope: whose.
            tx: the open transaction.
            kind: which handler does it.
            subject: the session or exchange it is about; with ``kind`` it is the job's key.
            payload: what the handler needs, as JSON values; ids and numbers, no text.
            at: now.

        Returns:
            False if the same job was added before, whatever became of it.
        """
        row = {
            "person": scope.person,
            "audience": scope.audience,
            "key": f"{kind}:{subject}",
            "id": self._ids.next(),
            "kind": kind,
            "payload": dict(payload),
            "state": JobState.PENDING,
            "attempts": 0,
            "due_at": at,
            "created_at": at,
        }
        return (await tx.connection.execute(_ADD, row)).rowcount == 1

    async def again(
        self, scope: Scope, tx: Transaction, *, kind: str, subject: int, payload: Mapping[str, Any], at: datetime
    ) -> None:
        """Have a job done once more, or for the first time; see ``add``. One still to be done stays as it is."""
        mine = in_scope(jobs, scope) & (jobs.c.key == f"{kind}:{subject}") & (jobs.c.state != JobState.PENDING)
        await tx.connection.execute(delete(jobs).where(mine))
        await self.add(scope, tx, kind=kind, subject=subject, payload=payload, at=at)

    async def claim(self, *, now: datetime, lease: timedelta, most: int = 1) -> list[Job]:
        """Take the oldest jobs that are due, over everybody, each of another scope; none where nothing is due.

        A scope with a claimed job, or with an older job still pending, waits. A claim runs out after the lease, so
        that the job of a process that died is taken up by another.

        Args:
            now: the present moment.
            lease: longer than any attempt takes.
            most: jobs at most.
        """

        async def take(tx: Transaction) -> list[Job]:
            claim = {"now": now, "until": now + lease, "most": most}
            claimed = (await tx.connection.execute(_CLAIM, claim)).all()
            return sorted(map(_job, claimed), key=lambda job: (job.due_at, job.id))  # SQLite returns them in any order

        return await self._database.write(take)

    async def done(self, scope: Scope, tx: Transaction, *, job: Job) -> bool:
        """Note that a job is done, in the transaction of its effect.

        Returns:
            False if another process was faster; the caller then rolls its effect back.
        """
        changed = await tx.connection.execute(_DONE, _key(scope, job))
        return changed.rowcount == 1

    async def failed(self, scope: Scope, tx: Transaction, *, job: Job, error: str, due_at: datetime | None) -> None:
        """Note that an attempt failed; with no further time to try, set the job aside for the operator."""
        state = JobState.DEAD if due_at is None else JobState.PENDING
        await self._set(tx, job, state=state, claimed_until=None, last_error=error, due_at=due_at or job.due_at)

    async def release(self, scope: Scope, tx: Transaction, *, job: Job, due_at: datetime | None = None) -> None:
        """Give a claimed job back untried, for the next start or for a later time."""
        attempts = max(0, job.attempts - 1)
        await self._set(tx, job, claimed_until=None, attempts=attempts, due_at=due_at or job.due_at)

    async def release_left(self) -> int:
        """Give back what processes have claimed that are all gone; how many jobs of everybody. For a start.

        Should another process claim one meanwhile, it is done twice and takes effect once, as after any lease.
        """
        left = update(jobs).where(jobs.c.state == JobState.PENDING, jobs.c.claimed_until.is_not(None))
        async with self._database.transaction() as tx:
            return (await tx.connection.execute(left.values(claimed_until=None))).rowcount

    async def unfinished(self, scope: Scope) -> list[Job]:
        """The pending and dead jobs of a scope, oldest first."""
        return await self._found(and_(in_scope(jobs, scope), jobs.c.state != JobState.DONE))

    async def by_state(self) -> dict[str, int]:
        """How many jobs of everybody there are, by state."""
        query = select(jobs.c.state, func.count().label("jobs")).group_by(jobs.c.state)
        async with self._database.read() as connection:
            counted = {row.state: row.jobs for row in await connection.execute(query)}
        return {state.value: counted.get(state.value, 0) for state in JobState}

    async def oldest_pending(self) -> datetime | None:
        """When the oldest job of everybody that is still to be done was added; None where there is none."""
        query = select(func.min(jobs.c.created_at)).where(jobs.c.state == JobState.PENDING)
        async with self._database.read() as connection:
            added: datetime | None = (await connection.execute(query)).scalar()
        return added

    async def dead(self) -> list[Job]:
        """The dead jobs of everybody, for the operator: they hold no text."""
        return await self._found(jobs.c.state == JobState.DEAD)

    async def retry(self, scope: Scope, tx: Transaction, *, key: str, at: datetime) -> None:
        """Let a dead job be tried again.

        Raises:
            InvalidInput: the scope has no dead job of that key.
        """
        changed = await tx.connection.execute(
            update(jobs)
            .where(in_scope(jobs, scope), jobs.c.key == key, jobs.c.state == JobState.DEAD)
            .values(state=JobState.PENDING, attempts=0, due_at=at, claimed_until=None)
        )
        if changed.rowcount == 0:
            raise InvalidInput(f"There is no dead job {key!r}. See: keepsake jobs list.")

    async def prune(self, before: datetime) -> int:
        """Delete the jobs of everybody that were added before a moment and are done; how many."""
        old = delete(jobs).where(jobs.c.state == JobState.DONE, jobs.c.created_at < before)
        async with self._database.transaction() as tx:
            return (await tx.connection.execute(old)).rowcount

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every job of a scope."""
        return await rows_of_scope(self._database, jobs, scope)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every job of a scope."""
        return {jobs.name: await delete_scope(tx, jobs, scope)}

    async def _set(self, tx: Transaction, job: Job, **values: Any) -> None:
        """Change a pending job, unless it was claimed anew: an attempt that outlived its lease has no say any more."""
        new = {f"new_{column}": value for column, value in values.items()}
        still = {"of_attempts": job.attempts}
        await tx.connection.execute(_change_of(tuple(values)), {**_key(job.scope, job), **still, **new})

    async def _found(self, condition: Any) -> list[Job]:
        async with self._database.read() as connection:
            rows = (await connection.execute(select(jobs).where(condition).order_by(jobs.c.id))).all()
        return [_job(row) for row in rows]


def _key(scope: Scope, job: Job) -> dict[str, str]:
    """The values of ``_PENDING``."""
    return {**scope_values(scope), "of_key": job.key}


@cache
def _change_of(columns: tuple[str, ...]) -> Update:
    new: dict[Any, Any] = {getattr(jobs.c, column): bindparam(f"new_{column}") for column in columns}
    return update(jobs).where(_PENDING, jobs.c.attempts == bindparam("of_attempts")).values(new)


def _job(row: Row[Any]) -> Job:
    return Job(
        id=row.id,
        scope=scope_of_row(row),
        key=row.key,
        kind=row.kind,
        payload=row.payload,
        state=JobState(row.state),
        attempts=row.attempts,
        due_at=row.due_at,
        created_at=row.created_at,
        claimed_until=row.claimed_until,
        last_error=row.last_error,
    )
