"""How well the turns that answer a question are found among months of conversation.

Run it as ``python bench/retrieval.py --data FILE [--data FILE ...]``; see bench/README.md.

Invariant: the turns go in through the doors that real conversations use, with the names and dates they were said
under, and the questions through the public search; nothing here ranks anything.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter

from locomo import Question, Talk, Turn, read_talk
from rich.console import Console
from rich.table import Table
from stand_ins import InstantModel

from bot.logs import configure_logs
from bot.offline import OfflineModel
from memory.embedding import MiniLmTokenEmbedder
from memory.messages import Role, assistant_message, user_message
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_person
from memory.processes.learner import LEARN
from memory.records import EvictionReason, NewMessage
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_DEPTHS = (5, 10, 20)
_HIT_DEPTH = 10
_ANSWERABLE = (1, 2, 3, 4)
_CATEGORIES = (1, 2, 3, 4, 5)
_DATABASE = "keepsake.db"


class StandingClock:
    """A clock that stands where it is put: after the newest turn, when the questions are asked."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        """Where it was put."""
        return self._at


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question and the turns that were found for it, best first."""

    question: Question
    found: tuple[str, ...]
    seconds: float

    def recall(self, depth: int) -> float:
        """The share of the evidence among the first ``depth`` turns."""
        return len(self.question.evidence.intersection(self.found[:depth])) / len(self.question.evidence)

    @property
    def hit(self) -> float:
        """1 where any of the evidence is among the first ten turns, else 0."""
        return float(not self.question.evidence.isdisjoint(self.found[:_HIT_DEPTH]))

    @property
    def reciprocal_rank(self) -> float:
        """1 / the place of the first turn of the evidence; 0 where none was found."""
        places = (place for place, turn_id in enumerate(self.found, start=1) if turn_id in self.question.evidence)
        return 1 / next(places, float("inf"))


Row = dict[str, str | float | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The result, in the names of the JSON file."""

    rows: list[Row]
    query_ms_median: float
    bytes_per_turn: float


async def ingest(system: MemorySystem, person: str, talk: Talk) -> dict[int, str]:
    """Store every turn as a message of that person's direct chat; message id -> turn id."""
    place = system.conversation(person=person, audience="dm", conversation=f"{person}:dm").place
    turn_of: dict[int, str] = {}
    for turns in talk.sessions:
        said = [_said(turn, by_person=turn.speaker == talk.person) for turn in turns]
        async with system.transaction() as tx:
            session = await system.stores.sessions.start(
                place.scope, tx, conversation=place.conversation, community=None, at=turns[0].said_at
            )
            stored = await system.stores.recall.append(
                place.scope, tx, session=session, messages=said, evicted=EvictionReason.IMPORTED, at=turns[-1].said_at
            )
            await system.stores.sessions.claim_end(place.scope, tx, session_id=session.id, at=turns[-1].said_at)
        turn_of |= {message.id: turn.id for message, turn in zip(stored, turns, strict=True)}
    await system.embedded()
    return turn_of


def _said(turn: Turn, *, by_person: bool) -> NewMessage:
    message = user_message(turn.text) if by_person else assistant_message(turn.text)
    return NewMessage(message=message, author=turn.speaker, sent_at=turn.said_at)


async def ask(system: MemorySystem, person: str, question: Question, turn_of: dict[int, str]) -> Asked:
    """Search for a question as a person would."""
    began = perf_counter()
    hits = await system.search(person, question.text, limit=max(_DEPTHS))
    seconds = perf_counter() - began
    found = dict.fromkeys(turn_of[message_id] for hit in hits for message_id in hit.message_ids)
    return Asked(question=question, found=tuple(found), seconds=seconds)


async def learn(system: MemorySystem, person: str, message_ids: Iterable[int]) -> None:
    """Let the system learn from messages as it does after a reply; what is not the person's teaches nothing."""
    scope = system.conversation(person=person, audience="dm", conversation=f"{person}:dm").place.scope
    messages = await system.stores.recall.get(reach_of_person(person), list(message_ids))
    async with system.transaction() as tx:
        for message in messages:
            if message.message.role is Role.USER:
                await system.stores.jobs.add(
                    scope, tx, kind=LEARN, subject=message.id, payload={"exchange": message.id}, at=message.sent_at
                )
    await system.settle()


async def measure(talks: Sequence[Talk], *, facts: bool = False) -> Figures:
    """Store all conversations, each as a person of its own, then ask all questions.

    Args:
        talks: the conversations.
        facts: learn facts from what the person says first, by rule.
    """
    configure_logs("WARNING")
    newest = max(talk.sessions[-1][-1].said_at for talk in talks)
    embedder = MiniLmTokenEmbedder()
    asked: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(
            database_url=f"sqlite:///{folder}/{_DATABASE}",
            embedder=embedder,
            counter=TiktokenCounter(),
            memory_model=OfflineModel(agent_name=MemoryParameters().agent_name) if facts else InstantModel(),
            parameters=MemoryParameters(),
            clock=StandingClock(newest + timedelta(days=1)),
        ) as system:
            for number, talk in enumerate(talks):
                person = f"console:bench-{number}"
                turn_of = await ingest(system, person, talk)
                if facts:
                    await learn(system, person, turn_of)
                asked += [await ask(system, person, question, turn_of) for question in talk.questions]
        await embedder.close()
        size = _size(Path(folder))
    turns = sum(len(session) for talk in talks for session in talk.sessions)
    return Figures(
        rows=list(_rows(asked)),
        query_ms_median=round(statistics.median(one.seconds for one in asked) * 1_000, 2),
        bytes_per_turn=round(size / turns),
    )


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def _rows(asked: Sequence[Asked]) -> Iterable[Row]:
    groups = {str(category): (category,) for category in _CATEGORIES} | {"1-4": _ANSWERABLE, "all": _CATEGORIES}
    for name, categories in groups.items():
        some = [one for one in asked if one.question.category in categories]
        if some:
            yield _row(name, some)


def _row(category: str, asked: Sequence[Asked]) -> Row:
    def mean(of: Callable[[Asked], float]) -> float:
        return round(statistics.fmean(map(of, asked)), 4)

    recalls = {f"recall@{depth}": mean(lambda one, depth=depth: one.recall(depth)) for depth in _DEPTHS}
    rank = mean(lambda one: one.reciprocal_rank)
    return {
        "category": category,
        **recalls,
        f"hit@{_HIT_DEPTH}": mean(lambda one: one.hit),
        "mrr": rank,
        "n": len(asked),
    }


def show(figures: Figures) -> None:
    """Print one table."""
    table = Table(title="Turns that answer the question, found by searching")
    for name in figures.rows[0]:
        table.add_column(name, justify="left" if name == "category" else "right")
    for row in figures.rows:
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    console.print(f"Query, embedding included: median {figures.query_ms_median:.1f} ms.")
    console.print(f"On disk: {figures.bytes_per_turn:,.0f} bytes for each turn.")


def main() -> None:
    """Measure the files asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", required=True, metavar="FILE", help="may be repeated")
    parser.add_argument("--facts", action="store_true", help="learn facts first, by rule")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    figures = asyncio.run(measure([read_talk(path) for path in arguments.data], facts=arguments.facts))
    show(figures)
    if arguments.json:
        content = {name: getattr(figures, name) for name in ("rows", "query_ms_median", "bytes_per_turn")}
        arguments.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
