"""Keeps the window small: evicts the oldest exchanges and folds them into the window summary.

Invariant: eviction and folding are two steps, each one transaction. A message evicted but not yet folded says so
in its row, so a crash or a failing model between the two only delays the fold. No transaction spans a model call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import structlog

from memory.database import Database
from memory.errors import ModelError
from memory.parameters import MemoryParameters
from memory.policy.summaries import in_pieces, within_words
from memory.policy.trimming import plan_eviction
from memory.ports import ChatModel, Clock, TokenCounter
from memory.prompt.memory_work import window_summary_request
from memory.records import EvictionReason, Scope, Session, StoredMessage
from memory.stores.recall import RecallStore
from memory.stores.sessions import SessionStore

_log = structlog.get_logger(__name__)


class Window:
    """The window of one installation's conversations.

    Args:
        database: for transactions over both stores.
        recall: holds the messages.
        sessions: hold the window summary.
        model: the memory model, which writes the summary.
    """

    def __init__(
        self,
        *,
        database: Database,
        recall: RecallStore,
        sessions: SessionStore,
        model: ChatModel,
        counter: TokenCounter,
        parameters: MemoryParameters,
        clock: Clock,
    ) -> None:
        self._database = database
        self._recall = recall
        self._sessions = sessions
        self._model = model
        self._counter = counter
        self._parameters = parameters
        self._clock = clock

    async def keep_small(self, session: Session, *, fixed_tokens: int) -> bool:
        """Evict what is too much for the window after a turn, then fold what is unfolded.

        Args:
            session: the open session.
            fixed_tokens: calibrated tokens of everything in the prompt that is no message.

        Returns:
            Whether anything was evicted.
        """
        scope = session.scope
        window = await self._recall.window(scope, session.conversation)
        leaving, reason = plan_eviction(
            window,
            fixed_tokens=fixed_tokens,
            calibrated=self._counter.calibrated,
            parameters=self._parameters,
        )
        if leaving:
            await self._evict(scope, leaving, reason)
        await self.fold(session)
        return bool(leaving)

    async def end_session(self, session: Session, *, at: datetime, wait: float | None = None) -> bool:
        """End a session: its window goes to recall and into the window summary.

        Args:
            session: the session; another process may end it at the same moment.
            at: when it ended.
            wait: longest wait for the summary, in seconds; what is not folded by then is folded later.

        Returns:
            True if it was this call that ended it.
        """
        async with self._database.transaction() as tx:
            if not await self._sessions.claim_end(session.scope, tx, session_id=session.id, at=at):
                return False
        window = await self._recall.window(session.scope, session.conversation)
        if window:
            await self._evict(session.scope, [message.id for message in window], EvictionReason.SESSION_END)
        try:
            async with asyncio.timeout(wait):
                await self.fold(session)
        except TimeoutError:
            _log.warning("fold_postponed", session_id=session.id, reason="no answer in time")
        _log.info("session_ended", session_id=session.id, messages=len(window))
        return True

    async def fold(self, session: Session) -> None:
        """Fold evicted messages into the window summary. A failing model leaves them for the next time."""
        scope = session.scope
        unfolded = await self._recall.unfolded(scope, session.conversation)
        if not unfolded:
            return
        try:
            summary = await self._summarised(session.window_summary, unfolded)
        except ModelError as error:
            _log.warning("fold_postponed", session_id=session.id, messages=len(unfolded), reason=str(error))
            return
        async with self._database.transaction() as tx:
            await self._sessions.set_window_summary(scope, tx, session_id=session.id, text=summary)
            await self._recall.mark_folded(scope, tx, message_ids=[message.id for message in unfolded])
        _log.info(
            "memory_write",
            memory="window_summary",
            session_id=session.id,
            messages=len(unfolded),
            words=len(summary.split()),
            tokens_before=self._counter.count(session.window_summary),
            tokens_after=self._counter.count(summary),
        )

    async def _evict(self, scope: Scope, message_ids: Sequence[int], reason: EvictionReason) -> None:
        async with self._database.transaction() as tx:
            await self._recall.evict(scope, tx, message_ids=message_ids, reason=reason, at=self._clock.now())

    async def _summarised(self, summary: str, evicted: Sequence[StoredMessage]) -> str:
        most = self._parameters.window_summary_max_words
        room = self._parameters.context_window_tokens // 2  # the rest is for the instructions and the answer
        sizes = [self._counter.calibrated(message.tokens) for message in evicted]
        for piece in in_pieces(evicted, sizes, room):
            request = window_summary_request(summary, piece, max_words=most)
            response = await self._model.complete(request)
            summary = within_words(response.message.text, most) or summary
        return summary
