"""Whether learning that stands still holds anybody up, and whether anything is lost when the process ends meanwhile.

Run it as ``python bench/blocked_learning.py``; see bench/README.md for what the rows mean.

Invariant: both halves are the same turns of the same people; only whether the memory model answers differs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table
from stand_ins import InstantModel, Nowhere

from bot.agent import Agent
from bot.chat import Conversation, IncomingMessage
from bot.handler import ChatHandler
from bot.logs import configure_logs
from bot.tool_table import toolbox_for
from memory.embedding import MiniLmEmbedder
from memory.messages import ModelRequest, ModelResponse, StopReason, TextPart
from memory.parameters import MemoryParameters
from memory.person import PersonMemory
from memory.ports import OnText, SystemClock
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_PEOPLE = ("ann", "bob")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Learning:
    """A memory model that finds one fact in every exchange, once it may answer."""

    name = "learning"

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """The exchange's own words as its one fact; every fact is new."""
        await self.may_answer.wait()
        if request.system[0].name == "extract_facts":
            said = request.messages[0].text.partition("<user_message>")[2].partition("</user_message>")[0]
            answer = json.dumps({"candidates": [{"text": f"User said: {said.strip()}"}]})
        else:
            answer = json.dumps({"ops": [{"candidate": 1, "op": "ADD"}]})
        return ModelResponse(parts=(TextPart(text=answer),), stop_reason=StopReason.END_TURN, model=self.name)

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One half of the measurement. Times in milliseconds.

    Attributes:
        reply: median from a message's acceptance to its reply, for the person with the most waiting to be learned.
        slowest: the slowest reply.
        waiting: jobs that wait to be done when the last reply is out.
        learned: exchanges that taught a fact, after a restart in which the model answers.
        exchanges: how many there were.
    """

    reply: float
    slowest: float
    waiting: int
    learned: int
    exchanges: int


@asynccontextmanager
async def opened(folder: Path, model: Learning) -> AsyncIterator[tuple[MemorySystem, ChatHandler, Nowhere]]:
    """The application on a database in a folder."""
    counter, embedder, parameters, channel = TiktokenCounter(), MiniLmEmbedder(), MemoryParameters(), Nowhere()
    async with open_memory(
        database_url=f"sqlite:///{folder}/keepsake.db",
        embedder=embedder,
        counter=counter,
        memory_model=model,
        parameters=parameters,
        clock=SystemClock(),
    ) as system:
        agent = Agent(
            model=InstantModel(),
            toolbox=toolbox_for(parameters),
            counter=counter,
            secret=b"bench",
        )
        handler = ChatHandler(system=system, agent=agent, clock=SystemClock())
        handler.attach({channel.platform: channel})
        handler.open()
        yield system, handler, channel
        await handler.drain(5)
    await embedder.close()


async def measured(folder: Path, turns: int, *, blocked: bool) -> Figures:
    """Turns of two people in alternation, and what became of them after a restart.

    Args:
        folder: where the database is.
        turns: of each person.
        blocked: whether the memory model gives no answer until the restart.
    """
    model = Learning()
    if not blocked:
        model.may_answer.set()
    times: list[float] = []
    async with opened(folder, model) as (system, handler, channel):
        await system.resume()
        await system.warm_up()
        for turn in range(turns):
            for who in _PEOPLE:
                began = perf_counter()
                await handler.accept(_message(who, turn))
                await handler.idle()
                times.append((channel.sent_at - began) * 1_000)
        waiting = sum([len(await system.stores.jobs.unfinished(_memory(system, who).place.scope)) for who in _PEOPLE])
    model.may_answer.set()
    async with opened(folder, model) as (system, _, _):
        await system.settle()
        learned = sum([await system.stores.facts.count(_memory(system, who).place.scope) for who in _PEOPLE])
    return Figures(
        reply=statistics.median(times),
        slowest=max(times),
        waiting=waiting,
        learned=learned,
        exchanges=turns * len(_PEOPLE),
    )


def _message(who: str, turn: int) -> IncomingMessage:
    words = " ".join(_NUMBERS[int(digit)] for digit in f"{turn:03}")
    return IncomingMessage(
        id=f"{who}-{turn}",
        conversation=Conversation(platform="console", key=f"console:{who}:dm", audience="dm"),
        person=f"console:{who}",
        author_name=who.capitalize(),
        text=f"I keep a key for house {words} in Leeds.",
        sent_at=SystemClock().now(),
    )


def _memory(system: MemorySystem, who: str) -> PersonMemory:
    return system.conversation(person=f"console:{who}", audience="dm", conversation=f"console:{who}:dm")


def main() -> None:
    """Measure both halves and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=30, help="turns of each of two people")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    configure_logs("ERROR")
    figures: dict[str, Figures] = {}
    for name, blocked in (("learning answers at once", False), ("learning stands still", True)):
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = asyncio.run(measured(Path(folder), options.turns, blocked=blocked))
    table = Table("", "reply, median ms", "slowest ms", "jobs waiting", "learned after a restart")
    for name, half in figures.items():
        times = (f"{half.reply:.1f}", f"{half.slowest:.1f}")
        table.add_row(name, *times, str(half.waiting), f"{half.learned} of {half.exchanges}")
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps({name: asdict(half) for name, half in figures.items()}, indent=2))


if __name__ == "__main__":
    main()
