"""Follows what an author does to a message on its platform: edits it, or deletes it.

A deleted message goes with everything that answers it and everything learned from it. An edited one is rewritten, and
what it taught is taken back and learned anew from the new words. Old words stay nowhere: this is the one kind of
change that leaves no version behind, since the author took them away.

Invariant: one transaction for each change, after which a job or a turn under way that has read the old words can no
longer write what it makes of them (each looks again within its own transaction).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

import structlog

from memory.database import Database, Transaction
from memory.ports import Clock, TokenCounter
from memory.processes.digests import Digests
from memory.processes.job_runner import JobRunner
from memory.processes.learner import LEARN
from memory.processes.written_pages import WrittenPages
from memory.prompt.assembler import message_tokens
from memory.records import Change, EvictionReason, InboxState, Scope, StoredMessage
from memory.stores.answer_posts import AnswerPostStore, ExchangeKey
from memory.stores.fact_sources import FactSources
from memory.stores.inbox import InboxStore
from memory.stores.jobs import JobStore
from memory.stores.posts import PostStore, reworded
from memory.stores.reply_sources import ReplySourceStore
from memory.stores.scoped import as_stored
from memory.stores.sessions import SessionStore
from memory.stores.working import WorkingStore

_log = structlog.get_logger(__name__)

_NEVER_LEARNED = (EvictionReason.REFUSED, EvictionReason.UNANSWERED)


class Withdrawable(Protocol):
    """A store of what is learned or saved from messages."""

    async def withdraw(self, scope: Scope, tx: Transaction, *, source_message: int) -> None:
        """Delete, for good, what comes from a message."""
        ...


class Retraction:
    """Takes words back that their author took back.

    Args:
        database: for one transaction over all stores.
        posts: messages by their platform's ids.
        inbox: what is not answered yet.
        sessions: whether a message is to be kept.
        facts: the facts that a message taught.
        learned: all else that is learned or saved from messages.
        asked_for: what a person asked for in a message and was promised. It goes with the message, but not by an edit.
        replies: what replies were given.
        answer_posts: which posts show answers.
        working: the working memory that a message's tools may have written to.
        digests: the summaries that cover a message.
        jobs: learn anew.
        runner: told that there are jobs.
        pages: what people read in files.
        counter: counts the new words.
        clock: dates it.
    """

    def __init__(
        self,
        *,
        database: Database,
        posts: PostStore,
        inbox: InboxStore,
        sessions: SessionStore,
        facts: FactSources,
        learned: Sequence[Withdrawable],
        asked_for: Sequence[Withdrawable],
        replies: ReplySourceStore,
        answer_posts: AnswerPostStore,
        working: WorkingStore,
        digests: Digests,
        jobs: JobStore,
        runner: JobRunner,
        pages: WrittenPages,
        counter: TokenCounter,
        clock: Clock,
    ) -> None:
        self._database = database
        self._posts = posts
        self._inbox = inbox
        self._sessions = sessions
        self._facts = facts
        self._learned = learned
        self._asked_for = asked_for
        self._replies = replies
        self._answer_posts = answer_posts
        self._working = working
        self._digests = digests
        self._jobs = jobs
        self._runner = runner
        self._pages = pages
        self._counter = counter
        self._clock = clock

    async def deleted(self, channel: str, platform_ids: Collection[str]) -> frozenset[str]:
        """Let go of messages that are deleted on their platform. One that is not answered yet never will be.

        An answer of ours of which a post is deleted goes as a whole. What its person had written stays.

        Args:
            channel: the key of the channel; its threads count as part of it.
            platform_ids: the platform's ids. Those of messages that were never ours change nothing.

        Returns:
            the ids of those that were kept here.
        """
        async with self._database.transaction() as tx:
            waiting = await self._posts.waiting(tx, channel, platform_ids)
            for item in waiting:
                await self._inbox.mark(item.scope, tx, item=item, state=InboxState.DROPPED)
            stored = await self._posts.messages(tx, channel, platform_ids)
            for message in stored:
                await self._remove(message, tx)
            answered = await self._answer_posts.answered(tx, channel, platform_ids)
            for exchange in answered:
                await self._remove_answer(exchange, tx)
        if stored or answered:
            self._runner.kick()
        await self._put_pages_right(stored)
        _log.info(
            "messages_deleted",
            channel=channel,
            messages=len(stored),
            answers=len(answered),
            unanswered=len(waiting),
        )
        ours = {item.platform_id for item in waiting} | {message.platform_id for message in stored}
        return frozenset(platform_id for platform_id in ours if platform_id is not None)

    async def forget(self, exchange: ExchangeKey, *, noted: Callable[[Transaction], Awaitable[None]]) -> bool:
        """Let go of what somebody said with its answer and all that was made of it, as if they had deleted it.

        Args:
            exchange: which.
            noted: writes down, in the same transaction, who wished it.

        Returns:
            Whether it was still kept.
        """
        async with self._database.transaction() as tx:
            found = await self._posts.of_exchange(exchange.scope, tx, exchange_id=exchange.exchange_id)
            said = [message for message in found if message.id == exchange.exchange_id]
            for message in said:
                await self._remove(message, tx)
                await noted(tx)
        self._runner.kick()
        await self._put_pages_right(said)
        return bool(said)

    async def edited(self, channel: str, platform_id: str, *, text: str, at: datetime) -> bool:
        """Put a message's new words in place of the old ones.

        Args:
            channel: the key of the channel; its threads count as part of it.
            platform_id: the platform's id. That of a message that was never ours changes nothing.
            text: what it says now, cleaned, without secrets. The same words as before change nothing.
            at: when it was edited, by which an edit that comes late is told from the last one.

        Returns:
            Whether the message is kept here.
        """
        at = as_stored(at)
        async with self._database.transaction() as tx:
            waiting = await self._posts.waiting(tx, channel, [platform_id])
            for item in waiting:
                if item.message_id is None and (item.edited_at is None or item.edited_at < at):
                    await self._inbox.reword(item.scope, tx, item=item, text=text, at=at)
            stored = await self._posts.messages(tx, channel, [platform_id])
            changed = [one for one in stored if one.text != text and (one.edited_at is None or one.edited_at < at)]
            for message in changed:
                await self._rewrite(message, tx, text, at)
        if changed:
            self._runner.kick()
            await self._put_pages_right(changed)
            _log.info("message_edited", channel=channel, message=changed[0].id)
        return bool(waiting or stored)

    async def _put_pages_right(self, messages: Sequence[StoredMessage]) -> None:
        """Let the files of their scopes say nothing of these messages any more."""
        first: dict[Scope, datetime] = {}
        for message in messages:
            first[message.scope] = min(message.sent_at, first.get(message.scope, message.sent_at))
        for scope, said_at in first.items():
            await self._pages.taken_back(scope, said_at=said_at)

    async def _rewrite(self, message: StoredMessage, tx: Transaction, text: str, at: datetime) -> None:
        said = reworded(message.message, text)
        tokens = await asyncio.to_thread(message_tokens, said, self._counter)
        session = await self._sessions.get(message.scope, message.session_id)
        if session is None:
            return
        await self._withdraw(message, tx, edited=True)
        await self._posts.rewrite(session, tx, message=replace(message, message=said, tokens=tokens, edited_at=at))
        if session.kept and message.eviction_reason not in _NEVER_LEARNED:
            await self._learn(message.scope, tx, message.id)

    async def _remove(self, message: StoredMessage, tx: Transaction) -> None:
        """Delete a message, its answer and what was made of it."""
        await self._withdraw(message, tx, edited=False)
        exchange_ids = [message.exchange_id]
        await self._replies.remove(message.scope, tx, exchange_ids=exchange_ids)
        await self._answer_posts.remove(message.scope, tx, exchange_ids=exchange_ids)
        await self._posts.remove_exchanges(message.scope, tx, exchange_ids=exchange_ids)

    async def _remove_answer(self, exchange: ExchangeKey, tx: Transaction) -> None:
        """Delete an answer with its tool calls, and the digests that cover it. What its person had said stays."""
        scope, exchange_ids = exchange.scope, [exchange.exchange_id]
        found = await self._posts.of_exchange(scope, tx, exchange_id=exchange.exchange_id)
        answer = [message for message in found if message.id != exchange.exchange_id]
        for message in answer:
            session = await self._sessions.get(scope, message.session_id)
            if session is not None:
                await self._digests.renew_without(session, tx, message=message, at=self._clock.now())
        await self._replies.remove(scope, tx, exchange_ids=exchange_ids)
        await self._answer_posts.remove(scope, tx, exchange_ids=exchange_ids)
        await self._posts.remove(scope, tx, message_ids=[message.id for message in answer])

    async def _withdraw(self, message: StoredMessage, tx: Transaction, *, edited: bool) -> None:
        """Take back what was made of a message: facts, events, what the agent saved, digests."""
        scope, now = message.scope, self._clock.now()
        change = Change(actor="system", reason=f"source message {'edited' if edited else 'deleted'}")
        again = await self._facts.withdraw(scope, tx, message_id=message.id, change=change, at=now, edited=edited)
        for store in self._learned if edited else (*self._learned, *self._asked_for):
            await store.withdraw(scope, tx, source_message=message.id)
        session = await self._sessions.get(scope, message.session_id)
        if session is not None:
            await self._digests.renew_without(session, tx, message=message, at=now)
            if await self._posts.called_tools(message, tx):
                await self._working.clear(session, tx)  # it does not say which message it comes from
        for message_id in sorted(again):
            await self._learn(scope, tx, message_id)

    async def _learn(self, scope: Scope, tx: Transaction, message_id: int) -> None:
        payload = {"exchange": message_id}
        await self._jobs.again(scope, tx, kind=LEARN, subject=message_id, payload=payload, at=self._clock.now())
