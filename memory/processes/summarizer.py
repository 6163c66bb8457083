"""Writes the rolling summary when a session has ended.

Invariant: one update for each session. A summary that fails or is too long is refused: the old one stays, and the
sessions it should have covered are summed up together with the next one. No transaction spans a model call.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from memory.database import Database
from memory.parameters import MemoryParameters
from memory.policy.summaries import in_pieces
from memory.ports import ChatModel, Clock, TokenCounter
from memory.prompt.memory_work import session_summary_request
from memory.records import Change, Job, Session, StoredMessage
from memory.stores.jobs import JobStore
from memory.stores.recall import RecallStore
from memory.stores.sessions import SessionStore
from memory.stores.summaries import SummaryStore

_log = structlog.get_logger(__name__)

CLOSE_SESSION = "close_session"


class Summarizer:
    """Does the jobs that follow from the end of a session.

    Args:
        database: for the transaction over all stores.
        jobs: the durable jobs.
        sessions: which sessions no summary covers yet.
        recall: what was said in them.
        summaries: where the summary is kept.
        model: the memory model.
        counter: sizes the pieces that a long session is folded in.
    """

    def __init__(
        self,
        *,
        database: Database,
        jobs: JobStore,
        sessions: SessionStore,
        recall: RecallStore,
        summaries: SummaryStore,
        model: ChatModel,
        counter: TokenCounter,
        parameters: MemoryParameters,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._sessions = sessions
        self._recall = recall
        self._summaries = summaries
        self._model = model
        self._counter = counter
        self._parameters = parameters
        self._clock = clock

    async def close_session(self, job: Job) -> None:
        """Sum up the session that the job is about, and those before it that are not summed up yet.

        Where somebody edits or deletes a message meanwhile, they are summed up as they then are.

        Raises:
            ModelError: the model could not be asked; the job is tried again.
        """
        while not await self._closed(job):
            _log.info("summed_up_again", job=job.key)

    async def _closed(self, job: Job) -> bool:
        """Sum up; False where a message has changed meanwhile, and nothing was written."""
        scope = job.scope
        session_id = int(job.payload["session"])
        sessions = [session for session in await self._sessions.unsummarised(scope) if session.id <= session_id]
        log = [message for message in await self._recall.log(scope, [s.id for s in sessions]) if message.text.strip()]
        latest = await self._summaries.latest(scope)
        summary = await self._summarised(latest.text if latest else "", log) if log else None
        if log and summary is None:
            _log.warning("summary_refused", session_id=session_id, sessions=len(sessions), messages=len(log))
        async with self._database.transaction() as tx:
            if await self._summaries.latest(scope) != latest or not await self._recall.unchanged(scope, log):
                return False
            if not await self._jobs.done(scope, tx, job=job) or summary is None:
                return True
            version = await self._summaries.append(
                scope,
                tx,
                text=summary,
                change=Change(actor="system", reason=_reason(sessions), session_id=session_id, job=job.key),
                at=self._clock.now(),
                first_message=log[0].id,
                last_message=log[-1].id,
            )
            covered = [session.id for session in sessions]
            await self._sessions.summarised(scope, tx, session_ids=covered, version=version.version)
            await self._recall.mark_folded(scope, tx, message_ids=[message.id for message in log])
        return True

    async def _summarised(self, summary: str, log: Sequence[StoredMessage]) -> str | None:
        """The summary with the log folded in, in pieces that fit the model; None where it must be refused."""
        most = self._parameters.summary_max_words
        room = self._parameters.context_window_tokens // 2  # the rest is for the instructions and the answer
        sizes = [self._counter.calibrated(message.tokens) for message in log]
        for piece in in_pieces(log, sizes, room):
            response = await self._model.complete(session_summary_request(summary, piece, max_words=most))
            summary = response.message.text.strip()
            if not summary or len(summary.split()) > most:
                return None
        return summary


def _reason(sessions: Sequence[Session]) -> str:
    return "end of a session" if len(sessions) == 1 else f"end of {len(sessions)} sessions"
