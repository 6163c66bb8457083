"""Keeps the window small: evicts the oldest exchanges and folds them into the window summary.

Invariant: eviction and folding are two steps, each one transaction. A message evicted but not yet folded says so
in its row, and a durable job folds it, so a crash or a failing model between the two only delays the fold. No
transaction spans a model call. A session that is not to be kept leaves nothing behind when its messages leave the
window.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

import structlog

from memory.database import Database, Transaction
from memory.parameters import ParametersInForce
from memory.policy.presets import parts_of
from memory.policy.summaries import in_pieces, within_words
from memory.policy.tool_results import aged
from memory.policy.trimming import is_crowded, plan_eviction
from memory.ports import ChatModel, Clock, TokenCounter
from memory.processes.episode_writer import WRITE_EPISODE
from memory.processes.journaling import Journaling
from memory.processes.summarizer import CLOSE_SESSION
from memory.prompt.fitting import counted
from memory.prompt.memory_work import window_summary_request
from memory.records import EvictionReason, Job, Session, StoredMessage, WindowSize
from memory.stores.jobs import JobStore
from memory.stores.recall import RecallStore
from memory.stores.sessions import SessionStore
from memory.stores.working import WorkingStore

_log = structlog.get_logger(__name__)


FOLD = "fold"


class Window:
    """The windows of an installation's conversations.

    Args:
        database: for transactions over all stores.
        jobs: folding and closing are durable jobs.
        recall: holds the messages.
        sessions: hold the window summary.
        working: what a session was about, let go of when it ends.
        model: the memory model, which writes the summary.
        journaling: notes what leaves the window.
        counter: counts what is shown otherwise than it was stored.
        in_force: the limits.
        follow_ups: kinds of jobs that come last after a session that is kept.
    """

    def __init__(
        self,
        *,
        database: Database,
        jobs: JobStore,
        recall: RecallStore,
        sessions: SessionStore,
        working: WorkingStore,
        model: ChatModel,
        journaling: Journaling,
        counter: TokenCounter,
        in_force: ParametersInForce,
        clock: Clock,
        follow_ups: Sequence[str] = (),
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._recall = recall
        self._sessions = sessions
        self._working = working
        self._model = model
        self._counter = counter
        self._journaling = journaling
        self._in_force = in_force
        self._clock = clock
        self._follow_ups = tuple(follow_ups)

    async def keep_small(self, session: Session, *, fixed_tokens: Callable[[], Coroutine[Any, Any, int]]) -> bool:
        """Evict what is too much for the window after a turn.

        Args:
            session: the open session.
            fixed_tokens: reads calibrated tokens of everything in the prompt that is no message; waits for the
                database alone.

        Returns:
            Whether anything was evicted, and so a job added.
        """

        async def plan() -> tuple[Sequence[StoredMessage], EvictionReason]:
            window = await self._recall.window(session.scope, session.conversation)
            leaving, reason = plan_eviction(
                self._as_shown(window),
                fixed_tokens=await fixed_tokens(),
                calibrated=self._counter.calibrated,
                parameters=self._in_force.current,
            )
            return window[: len(leaving)], reason

        leaving, reason = await self._database.read_in_one_trip(plan)  # it counts as well, off the event loop
        if not leaving:
            return False
        ids = [message.id for message in leaving]

        async def leave(tx: Transaction) -> int:
            evicted = await self.evict(session, tx, ids, reason)
            if session.kept and evicted:
                await self._add_job(session, tx, FOLD, subject=max(ids))
                await self._journaling.note_trim(session, tx, leaving=leaving, at=self._clock.now())
            return evicted

        return bool(await self._database.write(leave))

    def is_crowded(self, size: WindowSize, *, fixed_tokens: int) -> bool:
        """Whether ``keep_small`` may have something to evict; see ``policy.trimming.is_crowded``."""
        limits = self._in_force.current
        return is_crowded(size, fixed_tokens=fixed_tokens, calibrated=self._counter.calibrated, parameters=limits)

    def _as_shown(self, window: Sequence[StoredMessage]) -> list[StoredMessage]:
        """The window as the next prompt shows it, with the sizes that its messages then have."""
        shown, _ = aged(window, (), self._in_force.current.max_tool_response_age)
        return [counted(message, self._counter) for message in shown]

    async def end_session(self, session: Session, *, at: datetime) -> bool:
        """End a session: its window goes to recall, and a job sums it up.

        Args:
            session: the session; another process may end it at the same moment.
            at: when it ended.

        Returns:
            True if it was this call that ended it.
        """
        async with self._database.transaction() as tx:
            return await self.end_within(session, tx, at=at)

    async def end_within(self, session: Session, tx: Transaction, *, at: datetime) -> bool:
        """End a session in an open transaction; see ``end_session``."""
        if not await self._sessions.claim_end(session.scope, tx, session_id=session.id, at=at):
            return False
        left = await self._empty(session, tx)
        await self._working.clear(session, tx)
        if session.kept:
            parts = parts_of(self._in_force.current.preset)
            kind = CLOSE_SESSION if parts.rolling_summary else FOLD
            await self._add_job(session, tx, kind, subject=session.id)
            if parts.experience:
                await self._add_job(session, tx, WRITE_EPISODE, subject=session.id)
            for follow_up in self._follow_ups:
                await self._add_job(session, tx, follow_up, subject=session.id)
        tx.after_commit(lambda: _log.info("session_ended", session_id=session.id, messages=left))
        return True

    async def rest(self, session: Session, *, at: datetime) -> bool:
        """End a session that has fallen silent. One off the record stays open, but its messages go.

        Only the person's own word brings a conversation back on the record, so silence must not.

        Returns:
            True if it was this call that ended it.
        """
        async with self._database.transaction() as tx:
            return await self.rest_within(session, tx, at=at)

    async def rest_within(self, session: Session, tx: Transaction, *, at: datetime) -> bool:
        """Let a session rest in an open transaction; see ``rest``."""
        if session.kept:
            return await self.end_within(session, tx, at=at)
        await self._empty(session, tx)
        await self._sessions.touch(session.scope, tx, session_id=session.id, at=at)
        return False

    async def _empty(self, session: Session, tx: Transaction) -> int:
        window = await self._recall.window(session.scope, session.conversation)
        return await self.evict(session, tx, [message.id for message in window], EvictionReason.SESSION_END)

    async def fold(self, job: Job) -> None:
        """Fold what left the window of a session into its window summary.

        Where somebody edits or deletes a message meanwhile, what left it is folded as it then is.

        Raises:
            ModelError: the model could not be asked; the job is tried again.
        """
        while not await self._folded(job):
            _log.info("folded_again", job=job.key)

    async def _folded(self, job: Job) -> bool:
        """Fold; False where a message has changed meanwhile, and nothing was written."""
        scope = job.scope
        session = await self._sessions.get(scope, int(job.payload["session"]))
        unfolded = await self._recall.unfolded(scope, session.conversation) if session else ()
        if session is None or not unfolded:
            await self._database.write(lambda tx: self._jobs.done(scope, tx, job=job))
            return True
        summary = await self._summarised(session.window_summary, unfolded)

        async def write(tx: Transaction) -> bool:
            present = await self._sessions.get(scope, session.id)
            if present is not None and present.window_summary != session.window_summary:
                return False
            if not await self._recall.unchanged(scope, unfolded):
                return False
            if await self._jobs.done(scope, tx, job=job):
                await self._sessions.set_window_summary(scope, tx, session_id=session.id, text=summary)
                await self._recall.mark_folded(scope, tx, message_ids=[message.id for message in unfolded])
                tx.after_commit(lambda: self._log_fold(session, summary, messages=len(unfolded)))
            return True

        return await self._database.write(write)

    def _log_fold(self, session: Session, summary: str, *, messages: int) -> None:
        _log.info(
            "memory_write",
            memory="window_summary",
            session_id=session.id,
            messages=messages,
            words=len(summary.split()),
            tokens_before=self._counter.count(session.window_summary),
            tokens_after=self._counter.count(summary),
        )

    async def _add_job(self, session: Session, tx: Transaction, kind: str, *, subject: int) -> None:
        await self._jobs.add(
            session.scope, tx, kind=kind, subject=subject, payload={"session": session.id}, at=self._clock.now()
        )

    async def evict(self, session: Session, tx: Transaction, message_ids: Sequence[int], reason: EvictionReason) -> int:
        """Take messages out of the window; off the record, they are gone. Returns how many."""
        if not session.kept:
            return await self._recall.remove(session.scope, tx, message_ids=message_ids)
        return await self._recall.evict(session.scope, tx, message_ids=message_ids, reason=reason, at=self._clock.now())

    async def _summarised(self, summary: str, evicted: Sequence[StoredMessage]) -> str:
        most = self._in_force.current.window_summary_max_words
        room = self._in_force.current.context_window_tokens // 2  # the rest is for the instructions and the answer
        sizes = [self._counter.calibrated(message.tokens) for message in evicted]
        for piece in in_pieces(evicted, sizes, room):
            request = window_summary_request(summary, piece, max_words=most)
            response = await self._model.complete(request)
            summary = within_words(response.message.text, most) or summary
        return summary
