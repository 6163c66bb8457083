"""Lets procedures learn how well they work: from what a person says and how they react to an answer that used some.

Invariant: an answer counts once for each procedure that it was given, by the last of its person's verdicts that
stand; the verdicts, and what they move, change in one transaction. Nobody else's reaction counts. One that comes while
the answer is still being written waits in the inbox, and counts in the transaction that notes the answer as delivered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import structlog

from memory.database import Database, Transaction
from memory.policy.audience import reach_of_person
from memory.policy.feedback import WORDS, Verdict, in_force, judged, reaction, with_verdict, without_verdict
from memory.processes.sittings import may_keep
from memory.records import EarlyReaction, InboxItem, Scope, Source
from memory.stores.answer_posts import AnswerPostStore
from memory.stores.consent import ConsentStore
from memory.stores.inbox import InboxStore
from memory.stores.procedures import ProcedureStore
from memory.stores.reply_sources import ReplySources, ReplySourceStore
from memory.stores.sessions import SessionStore

_log = structlog.get_logger(__name__)


class Feedback:
    """Judges replies.

    Args:
        database: for one transaction over all stores.
        replies: what each was given, and what was made known of it.
        answer_posts: which posts show which answer.
        inbox: which answers are still being written, and what is reacted to them.
        procedures: keep the rate.
        sessions, consent: whether a reaction may be kept.
    """

    def __init__(
        self,
        *,
        database: Database,
        replies: ReplySourceStore,
        answer_posts: AnswerPostStore,
        inbox: InboxStore,
        procedures: ProcedureStore,
        sessions: SessionStore,
        consent: ConsentStore,
    ) -> None:
        self._database = database
        self._replies = replies
        self._answer_posts = answer_posts
        self._inbox = inbox
        self._procedures = procedures
        self._sessions = sessions
        self._consent = consent

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
        if last is not None and success is not None:
            verdict = Verdict(by=WORDS, success=success)
            await self._judge(scope, tx, last, with_verdict(last.verdicts, verdict))

    async def react(self, channel: str, platform_id: str, *, person: str, sign: str, taken_back: bool) -> None:
        """Take a reaction as a word on the answer it is on, where it is a good or bad sign of whom that was given to.

        Args:
            channel: the key of the channel; its threads count as part of it.
            platform_id: the platform's id of the post. One that shows no answer to the person changes nothing.
            person: who reacted.
            sign: an emoji, or its name.
            taken_back: whether the reaction was removed.
        """
        if reaction(sign) is None:
            return
        told = EarlyReaction(post=platform_id, sign=sign, taken_back=taken_back)
        if await self._inbox.is_writing(person, channel):  # afterwards it may be written to its end already
            await self._database.write(partial(self._inbox.note_reaction, person, channel, reaction=told))
        if await self._answer_posts.answer_at(reach_of_person(person), channel, platform_id) is not None:
            await self._database.write(partial(self._take, channel, person, told))

    async def answered(self, tx: Transaction, item: InboxItem, posts: Collection[str]) -> None:
        """Take the reactions that came while an answer was being written.

        Args:
            tx: the open transaction, in which the posts are noted as those that show the answer.
            item: the message that it answers.
            posts: the platform's ids of the posts.
        """
        for early in await self._inbox.reactions(item.scope, tx, item=item):
            if early.post in posts:
                await self._take(item.conversation, item.scope.person, early, tx)

    async def _take(self, channel: str, person: str, told: EarlyReaction, tx: Transaction) -> None:
        """Put a reaction on the answer that its post shows."""
        answer = await self._answer_posts.answer_at(reach_of_person(person), channel, told.post)
        given = None if answer is None else await self._replies.of_exchange(answer.scope, answer.exchange_id)
        success = reaction(told.sign)
        if answer is None or given is None or success is None:
            return
        if told.taken_back:
            verdicts = without_verdict(given.verdicts, told.sign)
        elif await may_keep(answer.scope, given.conversation, sessions=self._sessions, consent=self._consent):
            verdicts = with_verdict(given.verdicts, Verdict(by=told.sign, success=success))
        else:
            return
        await self._judge(answer.scope, tx, given, verdicts)

    async def _judge(self, scope: Scope, tx: Transaction, given: ReplySources, verdicts: Sequence[Verdict]) -> None:
        """Put verdicts on a reply, and let the procedures it was given have what comes of them."""
        before, after = in_force(given.verdicts), in_force(verdicts)
        await self._replies.judge(scope, tx, exchange_id=given.exchange_id, verdicts=verdicts)
        if before == after:
            return
        for source in given.sources:
            if source.source is not Source.PROCEDURE or source.scope.person != scope.person:
                continue
            if before is not None:
                await self._procedures.unrecord(source.scope, tx, procedure_id=source.record_id, success=before)
            if after is not None:
                await self._procedures.record(source.scope, tx, procedure_id=source.record_id, success=after)
            _log.info("procedure_judged", procedure=source.record_id, success=after)
