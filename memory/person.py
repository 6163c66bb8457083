"""The memory of one person in one conversation: begin an exchange, gather, finish, keep the window small.

Invariant: the person's message is stored before memory is asked about it, and everything an exchange added
is stored in one transaction with the reply that is about to be sent.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from memory.channel_talk import Line
from memory.database import Transaction
from memory.errors import PersonErased
from memory.exchange import ERASED, Exchange, Place, present_session, touched_session
from memory.experience import Experience
from memory.messages import Message, Role, TextPart, ToolSpec
from memory.notes import Notes
from memory.paging import Paging
from memory.parameters import MemoryParameters
from memory.policy.audience import audience_note, with_linked
from memory.policy.hot_state import as_json
from memory.policy.journal import printed
from memory.policy.presets import parts_of
from memory.policy.relevance import has_content
from memory.policy.tree_search import entries_among
from memory.policy.working_memory import shown
from memory.ports import TokenCounter
from memory.processes.episode_writer import WRITE_EPISODE
from memory.processes.journaling import without_secrets
from memory.processes.learner import LEARN
from memory.processes.mirroring import MIRROR
from memory.processes.prompt_sizes import PromptSize
from memory.processes.wanted import Wanted
from memory.prompt.assembler import Gathered, Prompt, fixed_tokens, message_tokens
from memory.prompt.fitting import fit_talk
from memory.records import (
    Candidates,
    EvictionReason,
    InboxItem,
    NewMessage,
    PromptHeld,
    SearchHit,
    Session,
    StoredMessage,
    WindowSize,
)
from memory.reminding import Reminding
from memory.services import Services
from memory.stores.posts import reworded
from memory.working import Working

# A new session may wait this long for the summary of the one before it.
_CLOSING_SECONDS = 10.0

_COUNTED_AT_ONCE = 1_000  # characters; counting fewer takes less than the trip to a thread


async def nothing_beside(_tx: Transaction) -> None:
    """Write nothing else."""


class PersonMemory:
    """The per-user orchestrator. Obtained from ``MemorySystem.conversation``.

    Attributes:
        place: the conversation.
        paging: what the agent's tools do.
        experience: the same for episodes and procedures.
        working: what the agent is doing just now.
        reminding: what the person is to be reminded of.
        notes: the journal as the agent's tool uses it.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self.place = place
        self.paging = Paging(place, services)
        self.working = Working(place, services)
        self.experience = Experience(place, services)
        self.reminding = Reminding(place, services)
        self.notes = Notes(place, services)
        self._services = services
        self._stores = services.stores

    async def with_links(self) -> PersonMemory:
        """The same memory, reading as well what is kept of other accounts that the person linked."""
        linked = await self._stores.links.linked_to(self.place.scope.person)
        reach = with_linked(self.place.reach, linked)
        return self if reach == self.place.reach else PersonMemory(replace(self.place, reach=reach), self._services)

    async def begin(
        self,
        new: NewMessage,
        item: InboxItem | None = None,
        *,
        before: Callable[[Transaction], Awaitable[object]] = nothing_beside,
    ) -> Exchange:
        """Store the person's message, opening a session where none is open.

        Args:
            new: the message; its tokens are counted here.
            item: its inbox item. One whose turn was cut off by a crash keeps its stored message.
            before: is done first in the same transaction, where the answer is owed; what it raises undoes all of it.

        Raises:
            PersonErased: the person was erased since the message was accepted.
            AnsweredElsewhere: the message has its answer already.
        """
        scope = self.place.scope
        [counted] = await self._counted([new])

        sessions, at = self._stores.sessions, new.sent_at

        async def store(tx: Transaction, resumed: Session | None = None) -> Exchange:
            present = await self._owed(tx, item)
            await before(tx)
            session = resumed or await self._session(tx, at)
            if present is not None and present.message_id is not None:
                stored = await self._stores.recall.get(self.place.reach, [present.message_id])
                if stored:
                    return Exchange(user=stored[0], session=session)
            edited = self._as_edited([counted], present)
            [user] = await self._stores.recall.append(
                scope, tx, session=session, messages=edited, at=self._services.clock.now()
            )
            if resumed is None:
                await sessions.touch(scope, tx, session_id=session.id, at=at)
            if present is not None:
                await self._stores.inbox.begin(scope, tx, item=present, message_id=user.id)
            return Exchange(user=user, session=session)

        async def store_unless_idle(tx: Transaction) -> Exchange | None:
            conversation, idle_since = self.place.conversation, at - self.parameters.session_idle
            session = await sessions.resume(scope, tx, conversation=conversation, at=at, idle_since=idle_since)
            if session is None and await sessions.open(scope, conversation) is not None:
                return None
            return await store(tx, session)

        exchange = await self._services.database.write(store_unless_idle)
        if exchange is None:
            await self._end_idle(at)
            exchange = await self._services.database.write(store)
        return exchange

    async def keep_unanswered(self, new: NewMessage, item: InboxItem) -> None:
        """Store a message that will not be answered, straight into recall; nothing where nothing is to be kept.

        Raises:
            PersonErased: the person was erased since the message was accepted.
            AnsweredElsewhere: the message has its answer already.
        """
        await self._end_idle(new.sent_at)
        [counted] = await self._counted([new])

        async def store(tx: Transaction) -> None:
            present = await self._owed(tx, item)
            session = await self._session(tx, new.sent_at)
            if not session.kept or (present is not None and present.message_id is not None):
                return
            [kept] = await self._stores.recall.append(
                self.place.scope,
                tx,
                session=session,
                messages=self._as_edited([counted], present),
                evicted=EvictionReason.UNANSWERED,
                at=self._services.clock.now(),
            )
            await self._stores.inbox.begin(self.place.scope, tx, item=item, message_id=kept.id)

        await self._services.database.write(store)
        self._services.indexer.kick()

    async def gather(self, exchange: Exchange, *, tools: tuple[ToolSpec, ...], now: datetime) -> Gathered:
        """Everything that the prompt is made of. Full text is searched while the message is embedded."""
        services, reach, text = self._services, self.place.reach, exchange.user.text
        wanted = self._wanted() if has_content(text) else Wanted()

        async def read() -> tuple[Gathered, Sequence[StoredMessage], Candidates | None]:
            window = await self._stores.recall.window(self.place.scope, self.place.conversation)
            standing = await self._standing(exchange, tools=tools, now=now)
            standing = replace(standing, journal=await self._journal(window))
            shown_already = _in_sight(window, exchange)
            return standing, window, await services.retriever.worded(reach, text, wanted=wanted, exclude=shown_already)

        embedding = asyncio.ensure_future(services.retriever.compared(text, wanted))
        try:
            await asyncio.sleep(0)  # or the trip to a database thread begins first, and keeps the embedder waiting
            standing, window, worded = await services.database.read_in_one_trip(read)
            found = await services.retriever.retrieve(
                self.place.scope,
                reach,
                text,
                wanted=wanted,
                exclude=_in_sight(window, exchange),
                embedding=embedding,
                worded=worded,
                zone=standing.now.tzinfo,
            )
        finally:
            embedding.cancel()
        return replace(
            standing,
            history=tuple(message for message in window if message.id < exchange.user.id),
            turn=(exchange.user.message,),
            hits=found.hits,
            unsearched=found.failed,
            channel_context=self._channel_context(exchange),
        )

    def _channel_context(self, exchange: Exchange) -> str:
        """What others said here since the person was last answered: as many of the newest as may be shown."""
        services, user = self._services, exchange.user
        lines = services.talk.since_last_answer(
            self.place.conversation, person=self.place.scope.person, message_id=user.platform_id, at=user.sent_at
        )
        return fit_talk(lines, services.parameters, services.counter.count)

    async def _journal(self, window: Sequence[StoredMessage]) -> tuple[str, ...]:
        """The newest lines of the journal, but for those of exchanges that stand in the window, oldest first."""
        shown = {message.exchange_id for message in window}
        entries = await self._stores.journal.tail(self.place.scope, self.parameters.journal_tail_entries)
        zone = self.parameters.zone
        return tuple(printed(entry, zone) for entry in entries if entry.source_message not in shown)

    @property
    def parameters(self) -> MemoryParameters:
        """The numbers in force now."""
        return self._services.parameters

    def note_prompt(self, prompt: Prompt) -> None:
        """Note how large a prompt of this conversation is, for statistics."""
        size = PromptSize(sections=prompt.report, tokens=prompt.tokens, messages=prompt.request.cached_messages)
        self._services.prompt_sizes.note(self.place.scope, size)

    def _wanted(self) -> Wanted:
        """How much is looked for unasked."""
        parameters = self._services.parameters
        parts = parts_of(parameters.preset)
        return Wanted(
            hits=parameters.retrieved_hits if parts.retrieval else 0,
            facts=parameters.retrieved_facts if parts.facts else 0,
            episodes=parameters.retrieved_episodes if parts.experience else 0,
            procedures=parameters.retrieved_procedures if parts.experience else 0,
            entries=parameters.retrieved_entries if parts.tiers else 0,
            by_tree_alone=not parts.meaning,
        )

    async def _standing(self, exchange: Exchange, *, tools: tuple[ToolSpec, ...], now: datetime) -> Gathered:
        """What a prompt of this conversation holds before any message."""
        parts = parts_of(self.parameters.preset)
        kept = await self._stores.standing.load(exchange.session)
        return Gathered(
            hot=as_json(kept.hot) if parts.tiers and kept.hot.version else "",
            tree=kept.tree if parts.tiers else "",
            agent_name=self._services.parameters.agent_name,
            audience_note=audience_note(self.place.audience),
            summary=kept.summary if parts.rolling_summary else "",
            blocks=kept.blocks if parts.core_memory else (),
            window_summary=exchange.session.window_summary,
            history=(),
            turn=(),
            hits=(),
            now=now.astimezone(kept.zone),
            working_memory=shown(kept.working),
            tools=tools,
        )

    async def finish(
        self,
        exchange: Exchange,
        messages: Sequence[Message],
        *,
        reply: str,
        model: str,
        given: Sequence[SearchHit] = (),
        held: PromptHeld | None = None,
        beside: Callable[[Transaction], Awaitable[object]] = nothing_beside,
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
        added = await self._counted(
            [
                NewMessage(
                    message=without_secrets(message),
                    author=services.parameters.agent_name if message.role is Role.ASSISTANT else exchange.user.author,
                    sent_at=at,
                )
                for message in messages
            ]
        )
        in_words = _in_words(added)
        ratio, samples = services.counter.calibration

        async def store(tx: Transaction) -> Session:
            session = await touched_session(self._stores.sessions, exchange, tx, at=at)
            # Tools were called with words that the person may have taken back meanwhile.
            whole = added == in_words or await self._stores.recall.unchanged(scope, [exchange.user])
            if session.kept or await self._stores.recall.get(self.place.reach, [exchange.user.id]):
                stored = await self._stores.recall.append(
                    scope,
                    tx,
                    session=session,
                    messages=added if whole else in_words,
                    exchange_id=exchange.user.id,
                    evicted=None if session.ended_at is None else EvictionReason.SESSION_END,
                    at=now,
                )
                await services.journaling.note_results(session, tx, exchange_id=exchange.user.id, added=stored, at=now)
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

    async def drop(self, exchange: Exchange, *, beside: Callable[[Transaction], Awaitable[object]]) -> None:
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
            standing = await self._standing(exchange, tools=tools, now=services.clock.now())
            return fixed_tokens(standing, parameters=services.parameters, counter=services.counter)

        if crowded:
            await services.window.keep_small(exchange.session, fixed_tokens=fixed)
        await self._stores.archival.note_use(self.place.scope)
        services.jobs.kick()  # for what was evicted, and for what the exchange taught

    async def _counted(self, messages: Sequence[NewMessage]) -> list[NewMessage]:
        if sum(map(_characters, messages)) < _COUNTED_AT_ONCE:
            return _count_all(messages, self._services.counter)
        return await asyncio.to_thread(_count_all, messages, self._services.counter)

    def _as_edited(self, messages: Sequence[NewMessage], item: InboxItem | None) -> Sequence[NewMessage]:
        """The messages of an inbox item in the words that its author put in place of the first ones."""
        if item is None or item.edited_text is None:
            return messages
        text, at = item.edited_text, item.edited_at
        edited = [replace(new, message=reworded(new.message, text), edited_at=at) for new in messages]
        return _count_all(edited, self._services.counter)

    async def _end_idle(self, at: datetime) -> None:
        """Let a session rest that has been silent for too long, and wait a moment for its summary."""
        session = await self._stores.sessions.open(self.place.scope, self.place.conversation)
        if session is None or not self._is_idle(session, at):
            return
        await self._services.window.rest(session, at=at)
        await self._services.jobs.settle_scope(
            self.place.scope, timeout=_CLOSING_SECONDS, besides=(WRITE_EPISODE, MIRROR)
        )

    def _is_idle(self, session: Session | None, at: datetime) -> bool:
        """Whether a session has been silent for too long."""
        return session is not None and at - session.last_activity_at >= self._services.parameters.session_idle

    async def _owed(self, tx: Transaction, item: InboxItem | None) -> InboxItem | None:
        """The inbox item as it is now. Another process may have taken it up, or its person may have been erased."""
        if item is None:
            return None
        present = await self._stores.inbox.owed(self.place.scope, tx, item=item)
        if present is None:
            raise PersonErased(ERASED)
        return present

    async def _session(self, tx: Transaction, at: datetime) -> Session:
        """The open session, begun where none is. Read within the write transaction, in which nobody else writes."""
        scope, conversation = self.place.scope, self.place.conversation
        session = await self._stores.sessions.open(scope, conversation)
        if session is not None:
            return session
        before = await self._stores.sessions.latest(scope, conversation)
        paused_at = (await self._stores.consent.load(scope)).paused_at
        return await self._stores.sessions.start(
            scope,
            tx,
            conversation=conversation,
            community=self.place.community,
            at=at,
            window_summary=before.window_summary if before else "",
            kept=paused_at is None,
        )


def _in_sight(window: Sequence[StoredMessage], exchange: Exchange) -> frozenset[int]:
    """The messages that the prompt shows anyway."""
    return frozenset(message.id for message in window) | {exchange.user.id}


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


def _characters(new: NewMessage) -> float:
    """The length of a message; of one with more than text in it, beyond any limit."""
    return sum(len(part.text) if isinstance(part, TextPart) else math.inf for part in new.message.parts)


def _count_all(messages: Sequence[NewMessage], counter: TokenCounter) -> list[NewMessage]:
    return [replace(new, tokens=message_tokens(new.message, counter)) for new in messages]
