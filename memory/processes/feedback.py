"""Lets procedures learn how well they work: from what a person says next of an answer that was given one.

Invariant: a reply is judged once, by the message that follows it, and only the procedures it was given are.
"""

from __future__ import annotations

import structlog

from memory.database import Transaction
from memory.policy.feedback import judged
from memory.records import Scope, Source
from memory.stores.procedures import ProcedureStore
from memory.stores.reply_sources import ReplySourceStore

_log = structlog.get_logger(__name__)


class Feedback:
    """Judges replies.

    Args:
        replies: what each was given.
        procedures: keep the rate.
    """

    def __init__(self, replies: ReplySourceStore, procedures: ProcedureStore) -> None:
        self._replies = replies
        self._procedures = procedures

    async def hear(self, scope: Scope, tx: Transaction, *, conversation: str, text: str) -> None:
        """Take a message as a word on the reply before it, where it praises or corrects.

        Args:
            scope: whose conversation.
            tx: the open transaction, before what the message's own reply was given is noted.
            conversation: where.
            text: the message.
        """
        success = judged(text)
        last = await self._replies.latest(scope, conversation) if success is not None else None
        if last is None or success is None:
            return
        for source in last.sources:
            if source.source is Source.PROCEDURE and source.scope.person == scope.person:
                await self._procedures.record(source.scope, tx, procedure_id=source.record_id, success=success)
                _log.info("procedure_judged", procedure=source.record_id, success=success)
