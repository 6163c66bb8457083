"""How often a turn goes to the database: each transaction and statement of one takes processor time of every turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from bot.chat import OutgoingMessage
from tests.fakes import RecordingChannel
from tests.world import running

# To the reply: accept, begin, finish. A step that is to be durable by itself needs one of its own; any
# other belongs into one of these.
TRANSACTIONS_BEFORE_THE_REPLY = 3
STATEMENTS_BEFORE_THE_REPLY = 34
# After it: delivered, vectors, and of the job that learns its claim, its effect and the look for another one.
TRANSACTIONS_AFTER_THE_REPLY = 6
STATEMENTS_AFTER_THE_REPLY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What was asked of the database."""

    statements: int = 0
    transactions: int = 0

    def since(self, before: Work) -> Work:
        return Work(
            statements=self.statements - before.statements, transactions=self.transactions - before.transactions
        )


class Counter:
    """Counts the work of all databases."""

    def __init__(self) -> None:
        self.work = Work()

    @contextmanager
    def counting(self) -> Iterator[None]:
        event.listen(Engine, "before_cursor_execute", self._statement)
        event.listen(Engine, "commit", self._transaction)
        try:
            yield
        finally:
            event.remove(Engine, "before_cursor_execute", self._statement)
            event.remove(Engine, "commit", self._transaction)

    def _statement(self, _connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith("BEGIN"):
            self.work = replace(self.work, statements=self.work.statements + 1)

    def _transaction(self, _connection: Connection) -> None:
        self.work = replace(self.work, transactions=self.work.transactions + 1)


class Watched(RecordingChannel):
    """A channel that notes what was asked of the database before an answer reached it."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self.counter = counter
        self.before_answer = Work()

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        self.before_answer = self.counter.work
        return await super().send(message)


async def test_a_turn_asks_little_of_the_database_however_much_was_said(tmp_path: Path) -> None:
    counter = Counter()
    channel = Watched(counter)
    async with running(tmp_path, channel=channel) as world:
        for number in range(14):  # the oldest leave the window by then
            counter.work = Work()
            with counter.counting():
                await world.say(f"The boat number {number} is red.")
            if number < 3:
                continue  # begins a session, and what is counted by the day and the person
            before, after = channel.before_answer, counter.work.since(channel.before_answer)
            assert 0 < before.transactions <= TRANSACTIONS_BEFORE_THE_REPLY
            assert 0 < before.statements <= STATEMENTS_BEFORE_THE_REPLY
            if number < 9:  # nothing left the window yet
                assert 0 < after.transactions <= TRANSACTIONS_AFTER_THE_REPLY
                assert 0 < after.statements <= STATEMENTS_AFTER_THE_REPLY
