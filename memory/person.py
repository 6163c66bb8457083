"""The memory of one person in one conversation: begin an exchange, gather, finish, keep the window small.

Invariant: the person's message is stored before memory is asked about it, and everything an exchange added
is stored in one transaction with the reply that is about to be sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory.beginning import Beginning
from memory.channel_talk import Line
from memory.counting import counted
from memory.database import Transaction
from memory.exchange import Beside, Exchange, Place, nothing_beside, present_session, touched_session
from memory.experience import Experience
from memory.gathering import Gathering
from memory.messages import Message, Role, TextPart, ToolSpec
from memory.notes import Notes
from memory.paging import Paging
from memory.parameters import MemoryParameters
from memory.policy.audience import with_linked
from memory.policy.presets import parts_of
from memory.policy.tree_search import entries_among
from memory.processes.journaling import without_secrets
from memory.processes.learner import LEARN
from memory.processes.prompt_sizes import PromptSize
from memory.prompt.assembler import Prompt, fixed_tokens
from memory.records import EvictionReason, NewMessage, PromptHeld, SearchHit, Session, StoredMessage, WindowSize
from memory.reminding import Reminding
from memory.services import Services
from memory.working import Working


class PersonMemory:
    """The per-user orchestrator. Obtained from ``MemorySystem.conversation``.

    Attributes:
        place: the conversation.
        paging: what the agent's tools do.
        experience: the same for episodes and procedures.
        working: what the agent is doing just now.
        reminding: what the person is to be reminded of.
        notes: the journal as the agent's tool uses it.
        begin: stores what the person said; see ``Beginning.begin``.
        keep_unanswered: the same where no answer is to come; see ``Beginning.keep_unanswered``.
        gather: reads what the prompt is made of; see ``Gathering.gather``.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self.place = place
        self.paging = Paging(place, services)
        self.working = Working(place, services)
        self.experience = Experience(place, services)
        self.reminding = Reminding(place, services)
        self.notes = Notes(place, services)
        self._gathering = Gathering(place, services)
        self.gather = self._gathering.gather
        beginning = Beginning(place, services)
        self.begin = beginning.begin
        self.keep_unanswered = beginning.keep_unanswered
        self._services = services
        self._stores = services.stores

    async def with_links(self) -> PersonMemory:
        """The same memory, reading as well what is kept of other accounts that the person linked."""
        linked = await self._stores.links.linked_to(self.place.scope.person)
        reach = with_linked(self.place.reach, linked)
        return self if reach == self.place.reach else PersonMemory(replace(self.place, reach=reach), self._services)

    @property
    def parameters(self) -> MemoryParameters:
        """The numbers in force now."""
        return self._services.parameters

    def note_prompt(self, prompt: Prompt) -> None:
        """Note how large a prompt of this conversation is, for statistics."""
        size = PromptSize(sections=prompt.report, tokens=prompt.tokens, messages=prompt.request.cached_messages)
        self._services.prompt_sizes.note(self.place.scope, size)

    async def finish(
        self,
        exchange: Exchange,
        messages: Sequence[Message],
        *,
        reply: str,
        model: str,
        given: Sequence[SearchHit] = (),
        held: PromptHeld | None = None,
        beside: Beside = nothing_beside,
    ) -> bool:
        """Store what the exchange added, together with the reply that is to be sent.

        Args:
            exchange: from ``begin``.
            messages: the assistant's messages and tool results, in order.
            reply: the text for the person.
            model: whose token calibration to keep.
            given: what the reply was given from memory.
            held: what the prompt was made from, where the next one holds that as well.
            beside: writes something else in the same transaction; what it raises undoes all of it.

        Returns:
            Whether the window may hold too much by now, and so is to be kept small.

        Raises:
            PersonErased: the person was erased meanwhile.
        """
        scope, services = self.place.scope, self._services
        now = services.clock.now()
        at = max(now, exchange.user.sent_at)
        added = await self._added(exchange, messages, at=at)
        in_words = _in_words(added)
        ratio, samples = services.counter.calibration

        async def store(tx: Transaction) -> Session:
            session = await touched_session(self._stores.sessions, exchange, tx, at=at)
            # Tools were called with words that the person may have taken back meanwhile.
            whole = added == in_words or await self._stores.recall.unchanged(scope, [exchange.user])
            if session.kept or await self._stores.recall.get(self.place.reach, [exchange.user.id]):
                await self._append(exchange, session, tx, messages=added if whole else in_words, at=now)
            await self._stores.calibration.save(tx, model=model, ratio=ratio, samples=samples)
            if session.kept:
                await self._explain_and_learn(exchange, tx, given=given, at=now)
            await beside(tx)
            return session

        session = await services.database.write(store)
        if session.kept and self.place.audience != "dm":
            self._note_answer(reply, now)
        return held is None or services.window.is_crowded(
            _grown(held.history, [exchange.user, *added]), fixed_tokens=held.fixed_tokens
        )

    async def _added(self, exchange: Exchange, messages: Sequence[Message], *, at: datetime) -> list[NewMessage]:
        """What the exchange added, without secrets and with its tokens."""
        agent = self._services.parameters.agent_name
        spoken = [
            NewMessage(
                message=without_secrets(message),
                author=agent if message.role is Role.ASSISTANT else exchange.user.author,
                sent_at=at,
            )
            for message in messages
        ]
        return await counted(spoken, self._services.counter)

    async def _append(
        self, exchange: Exchange, session: Session, tx: Transaction, *, messages: Sequence[NewMessage], at: datetime
    ) -> None:
        """Store messages of an exchange, and what its tools gave in the journal."""
        stored = await self._stores.recall.append(
            self.place.scope,
            tx,
            session=session,
            messages=messages,
            exchange_id=exchange.user.id,
            evicted=None if session.ended_at is None else EvictionReason.SESSION_END,
            at=at,
        )
        await self._services.journaling.note_results(session, tx, exchange_id=exchange.user.id, added=stored, at=at)

    def _note_answer(self, reply: str, at: datetime) -> None:
        """Keep an answer in the talk of its channel, where others read it too."""
        person, name = self.place.scope.person, self._services.parameters.agent_name
        line = Line(id="", person=None, name=name, text=reply, at=at, answers=person)
        self._services.talk.note(line, conversation=self.place.conversation)

    async def _explain_and_learn(
        self, exchange: Exchange, tx: Transaction, *, given: Sequence[SearchHit], at: datetime
    ) -> None:
        """Note what the reply was given, and add the job that learns from the exchange."""
        scope, exchange_id = self.place.scope, exchange.user.id
        await self._services.feedback.hear(scope, tx, conversation=self.place.conversation, text=exchange.user.text)
        await self._stores.warm.reinforce(tx, entries_among(given, scope.person), at=at)
        await self._stores.reply_sources.note(
            scope, tx, exchange_id=exchange_id, conversation=self.place.conversation, hits=given, at=at
        )
        await self._learn(tx, exchange_id, at=at)

    async def learn_unanswered(self, exchange: Exchange) -> None:
        """Learn from a message although its turn failed: what was said is as true as with an answer.

        Raises:
            PersonErased: the person was erased meanwhile.
        """

        async def learn(tx: Transaction) -> None:
            if (await present_session(self._stores.sessions, exchange)).kept:
                await self._learn(tx, exchange.user.id, at=self._services.clock.now())

        await self._services.database.write(learn)

    async def _learn(self, tx: Transaction, exchange_id: int, *, at: datetime) -> None:
        if parts_of(self._services.parameters.preset).facts:
            await self._stores.jobs.add(
                self.place.scope, tx, kind=LEARN, subject=exchange_id, payload={"exchange": exchange_id}, at=at
            )

    async def drop(self, exchange: Exchange, *, beside: Beside) -> None:
        """Take a refused message out of the window: shown again, it would be refused again. See ``finish``."""

        async def leave_out(tx: Transaction) -> None:
            await present_session(self._stores.sessions, exchange)
            await self._services.window.evict(exchange.session, tx, [exchange.user.id], EvictionReason.REFUSED)
            await beside(tx)

        await self._services.database.write(leave_out)

    async def keep_small(self, exchange: Exchange, *, tools: tuple[ToolSpec, ...], crowded: bool = True) -> None:
        """After the reply: embed what was said, evict what is too much for the window, and begin the jobs.

        What the turn looked up is noted as well.

        Args:
            exchange: from ``begin``.
            tools: those offered with every message.
            crowded: whether the window may hold too much, as ``finish`` tells.
        """
        services = self._services
        services.indexer.kick()  # not before the reply, which would wait for the same processors
        # Measured anew: the turn may have failed before it knew, or have written to core memory.

        async def fixed() -> int:
            standing = await self._gathering.standing(exchange, tools=tools, now=services.clock.now())
            return fixed_tokens(standing, parameters=services.parameters, counter=services.counter)

        if crowded:
            await services.window.keep_small(exchange.session, fixed_tokens=fixed)
        await self._stores.archival.note_use(self.place.scope)
        services.jobs.kick()  # for what was evicted, and for what the exchange taught


def _grown(window: WindowSize, added: Sequence[StoredMessage | NewMessage]) -> WindowSize:
    """The size of a window with these messages in it."""
    return WindowSize(
        messages=window.messages + len(added), tokens=window.tokens + sum(message.tokens for message in added)
    )


def _in_words(messages: Sequence[NewMessage]) -> list[NewMessage]:
    """The messages without tool calls and results."""
    worded = [
        replace(new, message=replace(new.message, parts=tuple(p for p in new.message.parts if isinstance(p, TextPart))))
        for new in messages
        if new.message.role is Role.ASSISTANT
    ]
    return [new for new in worded if new.message.parts]
