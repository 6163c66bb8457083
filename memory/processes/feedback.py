"""Lets procedures learn how well they work: from what a person says and how they react to an answer that used some.

Invariant: an answer counts once for each procedure that it was given, by the last of its person's verdicts that
stand; the verdicts, and what they move, change in one transaction. Nobody else's reaction counts. One that comes while
the answer is still being written waits, in this process alone, until that is there.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from memory.database import Database, Transaction
from memory.policy.audience import reach_of_person
from memory.policy.feedback import WORDS, Verdict, in_force, judged, reaction, with_verdict, without_verdict
from memory.processes.sittings import may_keep
from memory.records import Scope, Source
from memory.stores.answer_posts import AnswerPostStore
from memory.stores.consent import ConsentStore
from memory.stores.inbox import InboxStore
from memory.stores.procedures import ProcedureStore
from memory.stores.reply_sources import ReplySources, ReplySourceStore
from memory.stores.sessions import SessionStore

_log = structlog.get_logger(__name__)

_EARLY_POSTS = 1_000
_EARLY_REACTIONS = 20  # on one post


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reaction:
    """What ``react`` was told."""

    channel: str
    person: str
    sign: str
    taken_back: bool


class Feedback:
    """Judges replies.

    Args:
        database: for one transaction over all stores.
        replies: what each was given, and what was made known of it.
        answer_posts: which posts show which answer.
        inbox: which answers are still being written.
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
        self._early: OrderedDict[str, deque[_Reaction]] = OrderedDict()

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
        success = reaction(sign)
        if success is None:
            return
        if await self._inbox.is_writing(person, channel):
            self._keep_early(platform_id, _Reaction(channel=channel, person=person, sign=sign, taken_back=taken_back))
        answer = await self._answer_posts.answer_at(reach_of_person(person), channel, platform_id)
        if answer is None:
            return
        self._early.pop(platform_id, None)
        scope = answer.scope
        async with self._database.transaction() as tx:
            given = await self._replies.of_exchange(scope, answer.exchange_id)
            if given is None:
                return
            if taken_back:
                verdicts = without_verdict(given.verdicts, sign)
            elif await may_keep(scope, given.conversation, sessions=self._sessions, consent=self._consent):
                verdicts = with_verdict(given.verdicts, Verdict(by=sign, success=success))
            else:
                return
            await self._judge(scope, tx, given, verdicts)

    async def answered(self, posts: Sequence[str]) -> None:
        """Take the reactions that came while an answer was being written, now that it is there.

        Args:
            posts: the platform's ids of the posts that show it.
        """
        for post in posts:
            for early in self._early.pop(post, ()):
                await self.react(early.channel, post, person=early.person, sign=early.sign, taken_back=early.taken_back)

    def _keep_early(self, platform_id: str, early: _Reaction) -> None:
        self._early.setdefault(platform_id, deque(maxlen=_EARLY_REACTIONS)).append(early)
        self._early.move_to_end(platform_id)
        if len(self._early) > _EARLY_POSTS:
            self._early.popitem(last=False)

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
