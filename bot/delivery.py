"""From a reply to the platform: drafts while it is written, the whole of it once, and what is known of that on disk.

Invariant: before the first draft of an answer is shown, its inbox item says that one may be there; before the answer
is sent, that it is being sent. So whatever stops the process, the next attempt looks for what is on the platform
and completes it; it never adds a second answer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from bot import replies
from bot.chat import ChannelAdapter, DeliveryRefused, IncomingMessage, OutgoingMessage
from bot.measures import Measures
from bot.refusals import Refusals
from bot.reply_stream import ReplyStream
from memory.database import Transaction
from memory.ports import OnText, Sleep
from memory.records import InboxItem, InboxState
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Task:
    """An accepted message and the way its answer travels.

    Attributes:
        draft: where a draft of the answer can be seen, as ``InboxItem.draft`` has it.
        is_new: it was accepted just now, so that nothing can be on the platform yet.
    """

    item: InboxItem
    incoming: IncomingMessage
    channel: ChannelAdapter
    is_new: bool
    draft: tuple[str, ...] | None

    def outgoing(self, text: str, *, notice: str | None = None) -> OutgoingMessage:
        """The answer, as it stands."""
        return OutgoingMessage(
            conversation=self.incoming.conversation,
            text=text,
            in_reply_to=self.incoming.id,
            delivery_key=f"{self.item.id:x}",
            notice=notice,
            recipient=self.incoming.person,
            draft=self.draft,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply of which it is noted that it is about to be sent.

    Attributes:
        is_first: with it the person is to be told what is remembered.
    """

    text: str
    is_first: bool


class Delivery:
    """Carries answers.

    Args:
        system: notes in the inbox how far they are.
        admin_reads_dms: SLACK_ADMIN_READS_DMS, of which people are told.
        drafts: STREAM_REPLIES, whether an answer is shown while it is written.
        sleep: waits between two drafts.
        refusals: notes which channels take no answers.
        measures: times how long sending takes.
    """

    def __init__(
        self,
        *,
        system: MemorySystem,
        admin_reads_dms: bool,
        drafts: bool,
        sleep: Sleep,
        refusals: Refusals,
        measures: Measures,
    ) -> None:
        self._system = system
        self._admin_reads_dms = admin_reads_dms
        self._drafts = drafts
        self._sleep = sleep
        self._refusals = refusals
        self._measures = measures

    @asynccontextmanager
    async def drafting(self, task: Task) -> AsyncIterator[Callable[[], OnText] | None]:
        """While the context is open, show what the model writes.

        An answer of which an earlier process may have shown something is only sent as a whole.

        Yields:
            What gives each model call its listener; None where nothing is shown.
        """
        if not (self._drafts and task.channel.shows_drafts and task.is_new):
            yield None
            return

        async def show(text: str) -> None:
            if task.draft is None:
                await self._note(task, ())
            ids = await task.channel.draft(task.outgoing(text))
            if ids != task.draft:
                await self._note(task, ids)

        stream = ReplyStream(show, sleep=self._sleep)
        async with stream.growing():
            yield stream.begin_call

    async def _note(self, task: Task, ids: tuple[str, ...]) -> None:
        task.draft = ids
        await self._system.outbox.note_draft(task.item, ids)

    async def deliver(self, task: Task, reply: str) -> None:
        """Send a reply, or what is missing of it where an earlier attempt was made.

        Raises:
            DeliveryFailed: the platform did not take it; it stays in the inbox.
            AnsweredElsewhere: the message has another answer, or is done with.
        """
        await self.send(task, await self._system.write(lambda tx: self.begin(tx, task, reply)))

    async def begin(self, tx: Transaction, task: Task, reply: str) -> Answer:
        """Note that a reply is about to be sent, in the transaction in which all of its turn is stored.

        Raises:
            AnsweredElsewhere: the message has another answer, or is done with.
        """
        return Answer(text=reply, is_first=await self._system.outbox.begin(tx, task.item, reply))

    async def send(self, task: Task, answer: Answer) -> None:
        """Send a reply of which that is noted, as ``deliver`` does.

        Raises:
            DeliveryFailed: the platform did not take it; it stays in the inbox.
        """
        notice = replies.notice(task.incoming.conversation, admin_reads_dms=self._admin_reads_dms)
        outgoing = task.outgoing(answer.text, notice=notice if answer.is_first else None)
        state = InboxState.DELIVERED
        posts = await task.channel.delivered_as(outgoing) if self._is_in_doubt(task) else None
        if posts is None:
            try:
                with self._measures.phase("delivery"):
                    posts = await task.channel.send(outgoing)
            except DeliveryRefused as error:
                _log.warning("delivery_refused", inbox_id=task.item.id, error=str(error))
                state, posts = InboxState.DROPPED, ()
            self._refusals.note(outgoing.conversation, refused=state is InboxState.DROPPED)
        await self._system.write(partial(self._end, task, state, posts))

    async def _end(self, task: Task, state: InboxState, posts: tuple[str, ...], tx: Transaction) -> None:
        """Note that an answer is done with, and the posts that show it."""
        stores, item = self._system.stores, task.item
        await stores.answer_posts.note(item.scope, tx, item=item, posts=posts)
        if task.draft is not None:  # which people may have reacted to
            await self._system.feedback.answered(tx, item, posts)
        await stores.inbox.mark(item.scope, tx, item=item, state=state)

    @staticmethod
    def _is_in_doubt(task: Task) -> bool:
        """Whether an earlier attempt may have shown the answer, or a part of it."""
        return not task.is_new and (task.item.state is InboxState.SENDING or task.item.draft is not None)
