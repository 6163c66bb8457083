"""Answers an accepted message: admit it, store it, ask the agent, store the answer, deliver it, look after the window.

Invariant: what a turn adds is stored, and its tokens are counted, in one transaction before any of it is sent. A
message of which memory or the model cannot make an answer is answered with a plain sentence.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import structlog

from bot import replies
from bot.agent import Agent
from bot.attachments import AttachmentLimits, read_attachments
from bot.budgets import Budgets, NotAdmitted
from bot.delivery import Answer, Delivery, Task
from bot.incoming import memory_of, stored_form
from bot.turn_state import TurnResult
from memory.database import Transaction
from memory.errors import AnsweredElsewhere, MemorySystemError
from memory.exchange import Beside, Exchange, nothing_beside
from memory.messages import FilePart
from memory.person import PersonMemory
from memory.ports import Clock
from memory.records import InboxState
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)


class Answering:
    """Answers one message after the other, each as it is owed.

    Args:
        system: the memory of everybody.
        agent: runs turns.
        clock: where the time comes from.
        budgets: what may be used in a day.
        delivery: carries the answers.
        attachment_limits: how large a file may be to be read.
    """

    def __init__(
        self,
        *,
        system: MemorySystem,
        agent: Agent,
        clock: Clock,
        budgets: Budgets,
        delivery: Delivery,
        attachment_limits: AttachmentLimits,
    ) -> None:
        self._system = system
        self._agent = agent
        self._clock = clock
        self._budgets = budgets
        self._delivery = delivery
        self._attachment_limits = attachment_limits

    async def answer(self, task: Task) -> None:
        """Answer a message, or go on with the answer that an earlier process began.

        Raises:
            DeliveryFailed: the platform did not take the answer; it stays in the inbox.
            AnsweredElsewhere: the message has another answer, or is done with.
            MemorySystemError: what became of it cannot be stored.
        """
        if self._clock.now() - task.item.accepted_at > self._system.parameters.answer_within:
            await self._give_up(task)
        elif task.item.reply is not None:
            await self._delivery.deliver(task, task.item.reply)
        elif not task.incoming.text:
            await self._delivery.deliver(task, replies.EMPTY_MESSAGE)
        else:
            try:
                await self._take_turn(task)
            except NotAdmitted as full:
                await self._turn_away(task, str(full))

    async def _begun(
        self, task: Task, memory: PersonMemory, files: tuple[FilePart, ...]
    ) -> tuple[PersonMemory, Exchange]:
        """Admit the turn and store its message; the memory, now with that of linked accounts, and the exchange.

        Raises:
            NotAdmitted: a limit leaves no room for the turn.
        """
        linked: list[PersonMemory] = []

        async def admit(tx: Transaction) -> None:
            if task.item.message_id is None:  # otherwise an earlier process has counted the turn, and died
                await self._budgets.admit(tx, task.incoming)
            linked.append(await memory.with_links())

        exchange = await memory.begin(stored_form(task.incoming, files), task.item, before=admit)
        return linked[-1], exchange

    async def _take_turn(self, task: Task) -> None:
        memory = memory_of(self._system, task.incoming)
        exchange: Exchange | None = None
        answer: Answer | None = None
        crowded = True
        try:
            async with task.channel.typing(task.incoming.conversation, task.incoming.id):
                if task.incoming.attachments and task.item.message_id is None:
                    await self._system.write(partial(self._budgets.check, message=task.incoming))
                read = await read_attachments(task.channel, task.incoming, self._attachment_limits)
                memory, exchange = await self._begun(task, memory, read.files)
                now = max(self._clock.now(), task.incoming.sent_at)
                async with self._delivery.drafting(task) as begin_call:
                    result = await self._agent.run_turn(
                        memory, exchange, now=now, images=read.images, begin_call=begin_call
                    )
                noted = replies.with_notes(result.reply, read.report, late=task.incoming.late)
                result = replace(result, reply=noted)
                answer, crowded = await self._stored(task, memory, exchange, result)
        except AnsweredElsewhere:
            raise
        except MemorySystemError as error:
            _log.warning("turn_failed", inbox_id=task.item.id, error=str(error), kind=type(error).__name__)
            if exchange is not None:
                await self._learn_all_the_same(memory, exchange)
            await self._delivery.deliver(task, replies.trouble(error))
        if answer is not None:
            await self._delivery.send(task, answer)
        if exchange is not None:
            await memory.keep_small(exchange, tools=self._agent.tools, crowded=crowded)

    async def _learn_all_the_same(self, memory: PersonMemory, exchange: Exchange) -> None:
        # Before the answer is out: nobody comes back to a message that is answered, should the process die.
        try:
            await memory.learn_unanswered(exchange)
        except MemorySystemError as error:
            _log.warning("not_learned", exchange=exchange.user.id, error=str(error), kind=type(error).__name__)

    async def _stored(
        self, task: Task, memory: PersonMemory, exchange: Exchange, result: TurnResult
    ) -> tuple[Answer, bool]:
        """Store what the turn adds, with its answer and its tokens; whether the window may hold too much by now."""
        begun: list[Answer] = []

        async def beside(tx: Transaction) -> None:
            begun.append(await self._delivery.begin(tx, task, result.reply))
            await self._budgets.spend(tx, task.incoming, result.tokens)

        if result.refused:
            await memory.drop(exchange, beside=beside)
            return begun[0], True
        crowded = await memory.finish(
            exchange,
            result.messages,
            reply=result.reply,
            model=self._agent.model.name,
            given=result.given,
            held=result.held,
            beside=beside,
        )
        return begun[0], crowded

    async def _give_up(self, task: Task) -> None:
        if task.incoming.text and task.item.message_id is None:
            await self._keep_unanswered(task)
        if task.draft is None:
            await self._system.outbox.mark(task.item, InboxState.DROPPED)
        else:
            await self._delivery.deliver(task, replies.BROKEN_OFF)
        _log.warning("too_late_to_answer", inbox_id=task.item.id)

    async def _turn_away(self, task: Task, reason: str) -> None:
        """Keep a message for which there is no room, and say why it has no answer."""
        begun: list[Answer] = []

        async def beside(tx: Transaction) -> None:
            begun.append(await self._delivery.begin(tx, task, reason))

        await self._keep_unanswered(task, beside=beside)
        await self._delivery.send(task, begun[0])

    async def _keep_unanswered(self, task: Task, *, beside: Beside = nothing_beside) -> None:
        memory = memory_of(self._system, task.incoming)
        await memory.keep_unanswered(stored_form(task.incoming), task.item, beside=beside)
