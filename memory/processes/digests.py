"""Has digests and episodes written anew that cover a message which was edited or deleted.

The rolling summary is written again from the version before the first that covers the message, the window summary
from the session before. Where the version before is not kept any more, the summary stays as it is: it was written
over many times since, and cannot be made again without what it was made from.

Invariant: a digest that still covers the old words is gone when the transaction ends; its successor comes by a
durable job.
"""

from __future__ import annotations

from datetime import datetime

from memory.database import Transaction
from memory.processes.episode_writer import WRITE_EPISODE
from memory.processes.summarizer import CLOSE_SESSION
from memory.processes.window import FOLD
from memory.records import Session, StoredMessage
from memory.stores.episodes import EpisodeStore
from memory.stores.jobs import JobStore
from memory.stores.procedures import ProcedureStore
from memory.stores.recall import RecallStore
from memory.stores.sessions import SessionStore
from memory.stores.summaries import SummaryStore


class Digests:
    """The rolling and the window summaries and the episodes, as far as they cover a message.

    Args:
        sessions: hold the window summary, and know which version covers them.
        summaries: the rolling summaries.
        recall: knows what is folded.
        episodes, procedures: the stories of sessions, and what was proposed because of them.
        jobs: write digests.
    """

    def __init__(
        self,
        *,
        sessions: SessionStore,
        summaries: SummaryStore,
        recall: RecallStore,
        episodes: EpisodeStore,
        procedures: ProcedureStore,
        jobs: JobStore,
    ) -> None:
        self._sessions = sessions
        self._summaries = summaries
        self._recall = recall
        self._episodes = episodes
        self._procedures = procedures
        self._jobs = jobs

    async def renew_without(self, session: Session, tx: Transaction, *, message: StoredMessage, at: datetime) -> None:
        """Delete the digests that cover a message, and have them written anew.

        Args:
            session: the message's.
            tx: the open transaction.
            message: as it was.
            at: now.
        """
        version = session.summary_version
        if version is not None and await self._summaries.drop_from(session.scope, tx, version=version):
            newest = await self._sessions.uncover(session.scope, tx, since=version)
            await self._again(session, tx, CLOSE_SESSION, subject=newest, session_id=newest, at=at)
        if message.folded:
            await self._fold_again(session, tx, message, at)
        if await self._episodes.remove_of_session(session.scope, tx, session_id=session.id):
            await self._procedures.withdraw_of_session(session.scope, tx, session_id=session.id)
            await self._again(session, tx, WRITE_EPISODE, subject=session.id, session_id=session.id, at=at)

    async def _fold_again(self, session: Session, tx: Transaction, message: StoredMessage, at: datetime) -> None:
        following = await self._sessions.following(tx, session)
        if not any(later.window_summary for later in following):
            return
        preceding = await self._sessions.preceding(tx, session)
        text = preceding.window_summary if preceding is not None else ""
        for later in following:
            await self._sessions.set_window_summary(session.scope, tx, session_id=later.id, text=text)
        await self._recall.unfold(session.scope, tx, session_ids=[later.id for later in following])
        await self._again(session, tx, FOLD, subject=message.id, session_id=following[-1].id, at=at)

    async def _again(
        self, session: Session, tx: Transaction, kind: str, *, subject: int, session_id: int, at: datetime
    ) -> None:
        await self._jobs.again(session.scope, tx, kind=kind, subject=subject, payload={"session": session_id}, at=at)
