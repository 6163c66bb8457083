"""How many turns one process does in a second, and how late its event loop is, with 1, 50 and 500 people at once.

Run it as ``python bench/throughput.py``; see bench/README.md for what the figures mean.

Invariant: everybody asks as soon as they are answered, and every figure comes from the code that answers people; only
the models, which answer at once, and the channel, which goes nowhere, are stand-ins, and one of the two embedders.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import random
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from time import perf_counter

from loop_lag import LoopLag, percentile
from rich.console import Console
from rich.table import Table
from stand_ins import ConstantEmbedder, InstantModel, Nowhere
from synthetic_history import text

from bot.agent import Agent
from bot.chat import Conversation, IncomingMessage, OutgoingMessage
from bot.handler import ChatHandler
from bot.logs import configure_logs
from bot.tool_table import toolbox_for
from memory.embedding import MiniLmTokenEmbedder
from memory.parameters import MemoryParameters
from memory.ports import Embedder, SystemClock
from memory.system import open_memory
from memory.tokens import TiktokenCounter

_TEXTS = 32  # of each person
_WARM_UP = 2  # turns of each person: their sessions are open, and everything is loaded
_EMBEDDERS: dict[str, Callable[[], Embedder]] = {"constant": ConstantEmbedder, "bundled": MiniLmTokenEmbedder}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured with so many people.

    Attributes:
        turns_per_second: until the last answer was sent.
        settled_per_second: until everything was embedded and learned as well.
        answer_ms: from a message to its answer, in the middle and at the 95th percentile.
        loop_lag_ms: at the 99th percentile and at worst.
    """

    embedder: str
    people: int
    turns: int
    turns_per_second: float
    settled_per_second: float
    answer_ms: tuple[float, float]
    loop_lag_ms: tuple[float, float]


class Answers(Nowhere):
    """Tells whoever asked that the answer is there."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_for: dict[str, asyncio.Event] = {}

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Wake the one who asked."""
        self.waited_for.pop(message.in_reply_to).set()
        return ()


class Person:
    """Somebody who asks again as soon as there is an answer."""

    def __init__(self, number: int, handler: ChatHandler, channel: Answers) -> None:
        self._name = f"console:p{number}"
        self._where = Conversation(platform="console", key=f"{self._name}:dm", audience="dm")
        self._handler = handler
        self._channel = channel
        draw = random.Random(number)
        self._texts = cycle([text(draw) for _ in range(_TEXTS)])  # made beforehand: what that takes is not measured
        self._said = 0

    async def talk(self, turns: int) -> list[float]:
        """Ask so many times; the milliseconds to each answer."""
        return [await self._turn() for _ in range(turns)]

    async def _turn(self) -> float:
        self._said += 1
        began, now = perf_counter(), SystemClock().now()
        asked = IncomingMessage(
            id=f"{self._name}-{self._said}",
            conversation=self._where,
            person=self._name,
            author_name="Bench",
            text=next(self._texts),
            sent_at=now,
        )
        answered = self._channel.waited_for[asked.id] = asyncio.Event()
        await self._handler.accept(asked)
        await answered.wait()
        return (perf_counter() - began) * 1_000


async def _measure(folder: Path, embedder_name: str, people: int, turns: int) -> Figures:
    configure_logs("ERROR")
    embedder, counter, channel, lag = _EMBEDDERS[embedder_name](), TiktokenCounter(), Answers(), LoopLag()
    parameters = MemoryParameters()
    async with open_memory(
        database_url=f"sqlite:///{folder}/keepsake.db",
        embedder=embedder,
        counter=counter,
        memory_model=InstantModel(),
        parameters=parameters,
        clock=SystemClock(),
    ) as system:
        await system.resume()
        await system.warm_up()
        agent = Agent(
            model=InstantModel(),
            toolbox=toolbox_for(parameters),
            counter=counter,
            secret=b"bench",
        )
        handler = ChatHandler(system=system, agent=agent, clock=SystemClock())
        handler.attach({channel.platform: channel})
        handler.open()
        crowd = [Person(number, handler, channel) for number in range(people)]
        await asyncio.gather(*(person.talk(_WARM_UP) for person in crowd))
        await system.settle()
        gc.freeze()  # as the application does
        began = perf_counter()
        async with lag.watched():
            waits = await asyncio.gather(*(person.talk(max(1, turns // people)) for person in crowd))
            answered = perf_counter() - began
            await handler.idle()
            await system.settle()
        settled = perf_counter() - began
        await handler.drain(1)
    if isinstance(embedder, MiniLmTokenEmbedder):
        await embedder.close()
    each = [wait for one in waits for wait in one]
    return Figures(
        embedder=embedder_name,
        people=people,
        turns=len(each),
        turns_per_second=len(each) / answered,
        settled_per_second=len(each) / settled,
        answer_ms=(percentile(each, 50), percentile(each, 95)),
        loop_lag_ms=lag.figures(),
    )


def _measured(embedder: str, people: int, turns: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder), embedder, people, turns))


def figures_of(embedder: str, people: int, turns: int) -> Figures:
    """Measure in a new process: nothing that was loaded or cached for others is there."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(_measured, embedder, people, turns).result()


def show(measured: list[Figures]) -> None:
    """Print one table."""
    table = Table(title="One process, models that answer at once")
    columns = (
        "embedder",
        "people",
        "turns",
        "turns/s",
        "turns/s, all done",
        "answer, ms (p95)",
        "loop lag p99, ms (max)",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "embedder" else "right")
    for one in measured:
        table.add_row(
            one.embedder,
            str(one.people),
            str(one.turns),
            f"{one.turns_per_second:.0f}",
            f"{one.settled_per_second:.0f}",
            "{:.0f} ({:.0f})".format(*one.answer_ms),
            "{:.0f} ({:.0f})".format(*one.loop_lag_ms),
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, nargs="+", default=[1, 50, 500])
    parser.add_argument("--turns", type=int, default=1_000, help="of all people together")
    parser.add_argument("--embedders", nargs="+", choices=list(_EMBEDDERS), default=list(_EMBEDDERS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    measured = [
        figures_of(embedder, people, arguments.turns) for embedder in arguments.embedders for people in arguments.people
    ]
    show(measured)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(figures) for figures in measured], indent=2) + "\n")


if __name__ == "__main__":
    main()
