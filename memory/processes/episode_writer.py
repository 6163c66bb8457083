"""Writes the episode of a session that has ended, and takes from it what single exchanges could not show.

Invariant: one episode for each session, from one kind of model call, asked again once where its answer cannot be
read. The episode, the facts and the proposed procedures are one transaction with the end of the job; no transaction
spans a model call. Nothing is written of a session that is not to be kept, and nothing proposed here is followed
before somebody approves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from memory.database import Database
from memory.messages import Role
from memory.parameters import MemoryParameters
from memory.policy.episode_answers import SessionStory, is_worth_telling, story_from
from memory.ports import ChatModel, Clock, TokenCounter
from memory.processes.reconciler import Found, Reconciler
from memory.prompt.episode import TASK, episode_request
from memory.records import Change, Job, Scope, StoredMessage
from memory.stores.episodes import EpisodeStore
from memory.stores.facts import FactStore
from memory.stores.jobs import JobStore
from memory.stores.procedures import ProcedureStore
from memory.stores.recall import RecallStore
from memory.stores.sessions import SessionStore

_log = structlog.get_logger(__name__)

WRITE_EPISODE = TASK


class EpisodeWriter:
    """Does the job that follows from the end of a session, after its summary.

    Args:
        database: for the transaction over all stores.
        jobs: the durable jobs.
        sessions: whether it is to be kept.
        recall: what was said in it.
        facts: what its exchanges taught already.
        episodes, procedures: where the story and the proposals are kept.
        reconciler: takes in what the session taught.
        model: the memory model.
        counter: bounds what it is shown.
    """

    def __init__(
        self,
        *,
        database: Database,
        jobs: JobStore,
        sessions: SessionStore,
        recall: RecallStore,
        facts: FactStore,
        episodes: EpisodeStore,
        procedures: ProcedureStore,
        reconciler: Reconciler,
        model: ChatModel,
        counter: TokenCounter,
        parameters: MemoryParameters,
        clock: Clock,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._sessions = sessions
        self._recall = recall
        self._facts = facts
        self._episodes = episodes
        self._procedures = procedures
        self._reconciler = reconciler
        self._model = model
        self._counter = counter
        self._parameters = parameters
        self._clock = clock

    async def write(self, job: Job) -> None:
        """Write the episode of the session that the job is about.

        Where somebody edits or deletes a message of it while the model is asked, it is told as it then is.

        Raises:
            ModelError: the model could not be asked; the job is tried again.
        """
        while not await self._written(job):
            _log.info("told_again", job=job.key)

    async def _written(self, job: Job) -> bool:
        """Write the episode; False where a message has changed meanwhile, and nothing was written."""
        scope, session_id = job.scope, int(job.payload["session"])
        log = await self._worth_telling(scope, session_id)
        story = await self._story(scope, log) if log else None
        if log and story is None:
            _log.warning("episode_unreadable", session_id=session_id, model=self._model.name)
        found = _found(story, log) if story else []
        lessons = await self._reconciler.compared(scope, found, asked_to_forget=False)
        async with self._database.transaction() as tx:
            if log and not await self._recall.unchanged(scope, log):
                return False
            if not await self._jobs.done(scope, tx, job=job) or story is None:
                return True
            change = Change(actor="system", reason="end of a session", session_id=session_id, job=job.key)
            now = self._clock.now()
            await self._episodes.add(scope, tx, messages=log, narrative=story.narrative, change=change, at=now)
            await self._reconciler.apply(scope, tx, lessons, found=found, change=change)
            proposed = replace(change, reason="learned from a session")
            for how_to in story.procedures:
                await self._procedures.propose(scope, tx, how_to=how_to, change=proposed, at=now)
        return True

    async def _worth_telling(self, scope: Scope, session_id: int) -> Sequence[StoredMessage]:
        """What was said in the session; nothing where it is gone, off the record, or too little for a story."""
        session = await self._sessions.get(scope, session_id)
        if session is None or not session.kept:
            return ()
        log = [message for message in await self._recall.log(scope, [session_id]) if message.text.strip()]
        own = [message.text for message in log if message.message.role is Role.USER]
        return log if is_worth_telling(own) else ()

    async def _story(self, scope: Scope, log: Sequence[StoredMessage]) -> SessionStory | None:
        ended_at = log[-1].sent_at.astimezone(self._parameters.zone)
        request = episode_request(
            now=ended_at,
            log=log,
            agent_name=self._parameters.agent_name,
            known=await self._facts.learned_from(scope, [message.id for message in log]),
            room=self._parameters.context_window_tokens // 2,  # the rest is for the instructions and the answer
            count=self._counter.count,
        )
        own = [number for number, message in enumerate(log) if message.message.role is Role.USER]
        for _ in range(2):
            answer = (await self._model.complete(request)).message.text
            story = story_from(answer, own=own, messages=len(log), now=ended_at, zone=self._parameters.zone)
            if story is not None:
                return story
        return None


def _found(story: SessionStory, log: Sequence[StoredMessage]) -> list[Found]:
    return [
        Found(candidate=candidate, source_message=log[number].id, said_at=log[number].sent_at)
        for candidate, number in story.facts
    ]
