"""Takes in what people said before the bot was there: each message into the memory of the person who said it.

It stands in the recall log, found by words, meaning and date, and enters neither a window nor a summary. Learning
facts from it is asked for by jobs, the same as after an exchange.

Invariant: some hundred messages are one transaction, in the order of the archive, and a message that is here is passed
over: an import that was killed goes on where it was, and one that is repeated adds nothing. What a person asked to
keep out is kept out of this, too.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice

import structlog

from memory.database import Database, Transaction
from memory.messages import user_message
from memory.parameters import ParametersInForce
from memory.policy.audience import scope_of
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.policy.worth_learning import worth_learning
from memory.ports import Clock, TokenCounter
from memory.processes.learner import LEARN
from memory.prompt.assembler import message_tokens
from memory.records import Archive, EvictionReason, NewMessage, PastMessage, Scope
from memory.stores.audit import AuditStore
from memory.stores.consent import ConsentStore
from memory.stores.jobs import JobStore
from memory.stores.posts import PostStore
from memory.stores.recall import RecallStore
from memory.stores.sessions import SessionStore

_log = structlog.get_logger(__name__)

_AT_ONCE = 200  # messages of a transaction, for which everybody's writes wait

_Sitting = tuple[Scope, Sequence[PastMessage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveReceipt:
    """What became of the messages of an archive.

    Attributes:
        people: messages added, by person.
        already_here: how many were here already.
        kept_out: how many their authors had asked not to keep.
        to_learn: how many are to be learned from.
    """

    people: dict[str, int]
    already_here: int
    kept_out: int
    to_learn: int


class ArchiveImporter:
    """Takes archives in.

    Args:
        database: for transactions.
        recall, sessions: where messages stand.
        posts: knows which are here.
        consent: who asked to keep nothing.
        jobs: learns from what was said.
        audit: where people can read of it.
        counter, in_force, clock: sizes, how long a silence ends a sitting, and the time.
    """

    def __init__(
        self,
        *,
        database: Database,
        recall: RecallStore,
        sessions: SessionStore,
        posts: PostStore,
        consent: ConsentStore,
        jobs: JobStore,
        audit: AuditStore,
        counter: TokenCounter,
        in_force: ParametersInForce,
        clock: Clock,
    ) -> None:
        self._database = database
        self._recall = recall
        self._sessions = sessions
        self._posts = posts
        self._consent = consent
        self._jobs = jobs
        self._audit = audit
        self._counter = counter
        self._in_force = in_force
        self._clock = clock

    async def run(
        self, archive: Archive, *, actor: str, learn: bool, on_progress: Callable[[int], None] = lambda done: None
    ) -> ArchiveReceipt:
        """Take in what is not here yet.

        Args:
            archive: checked.
            actor: who does it, for the audit log of everybody whose memory grows.
            learn: whether facts are learned from it, of the messages added now.
            on_progress: hears how many messages are done.

        Raises:
            DatabaseUnavailable: it cannot be written; what was done until then stays.
        """
        tally, noted = _Tally(), set[Scope]()
        messages = archive.read()
        while batch := await asyncio.to_thread(lambda: list(islice(messages, _AT_ONCE))):
            async with self._database.transaction() as tx:
                for scope, sitting in await self._new_sittings(tx, batch, tally):
                    if scope not in noted:
                        await self._audit.note(scope, tx, actor=actor, action="memory import", detail="an archive")
                        noted.add(scope)
                    await self._store(scope, tx, sitting, tally, learn=learn)
            tally.done += len(batch)
            on_progress(tally.done)
        _log.info("archive_imported", people=len(tally.people), rows=sum(tally.people.values()))
        return ArchiveReceipt(
            people=dict(tally.people),
            already_here=tally.already_here,
            kept_out=tally.kept_out,
            to_learn=tally.to_learn,
        )

    async def _new_sittings(self, tx: Transaction, batch: Sequence[PastMessage], tally: _Tally) -> list[_Sitting]:
        """What is to be added, by scope and conversation, each without a silence that ends a session."""
        new: list[PastMessage] = []
        for channel, group in groupby(batch, key=lambda message: message.channel):
            said = list(group)
            here = {post.platform_id for post in await self._posts.messages(tx, channel, [m.platform_id for m in said])}
            new += {message.platform_id: message for message in said if message.platform_id not in here}.values()
        tally.already_here += len(batch) - len(new)
        of_place: defaultdict[tuple[Scope, str], list[PastMessage]] = defaultdict(list)
        for message in new:
            scope = scope_of(message.person, message.audience, self._in_force.current.sharing)
            of_place[scope, message.conversation].append(message)
        sittings: list[_Sitting] = []
        for (scope, _), messages in of_place.items():
            allowed = [message for message in messages if not await self._kept_out(scope, message)]
            tally.kept_out += len(messages) - len(allowed)
            sittings += [(scope, sitting) for sitting in _sittings(allowed, self._in_force.current.session_idle)]
        return sittings

    async def _kept_out(self, scope: Scope, message: PastMessage) -> bool:
        """Whether the person had asked, when it was said, that nothing be remembered."""
        paused_at = (await self._consent.load(scope)).paused_at
        if paused_at is not None and message.sent_at >= paused_at:
            return True
        return await self._sessions.was_off_record(scope, message.conversation, at=message.sent_at)

    async def _store(
        self, scope: Scope, tx: Transaction, sitting: Sequence[PastMessage], tally: _Tally, *, learn: bool
    ) -> None:
        first, last, now = sitting[0], sitting[-1], self._clock.now()
        session = await self._sessions.add_past(
            scope,
            tx,
            conversation=first.conversation,
            community=first.community,
            started_at=first.sent_at,
            ended_at=last.sent_at,
        )
        for message in sitting:
            [stored] = await self._recall.append(
                scope,
                tx,
                session=session,
                messages=[_new(message, self._counter)],
                evicted=EvictionReason.IMPORTED,
                at=now,
            )
            if learn and worth_learning(stored.text):
                tally.to_learn += 1
                payload = {"exchange": stored.id}
                await self._jobs.add(scope, tx, kind=LEARN, subject=stored.id, payload=payload, at=now)
        tally.people[scope.person] += len(sitting)


class _Tally:
    def __init__(self) -> None:
        self.people: defaultdict[str, int] = defaultdict(int)
        self.already_here = self.kept_out = self.to_learn = self.done = 0


def _sittings(messages: Sequence[PastMessage], idle: timedelta) -> Iterator[Sequence[PastMessage]]:
    """The messages of one conversation in order of time, apart where there was a silence."""
    sitting: list[PastMessage] = []
    last: datetime | None = None
    for message in sorted(messages, key=lambda message: message.sent_at):
        if last is not None and message.sent_at - last >= idle:
            yield sitting
            sitting = []
        sitting.append(message)
        last = message.sent_at
    if sitting:
        yield sitting


def _new(message: PastMessage, counter: TokenCounter) -> NewMessage:
    said = user_message(redact(clean(message.text)))
    return NewMessage(
        message=said,
        author=clean(message.author),
        sent_at=message.sent_at,
        platform_id=message.platform_id,
        tokens=message_tokens(said, counter),
        edited_at=message.edited_at,
    )
