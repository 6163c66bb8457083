"""What a turn costs outside the model, for a person with nothing, 10,000 and 100,000 messages behind them.

Run it as ``python bench/turn_overhead.py``; see bench/README.md for what the figures mean.

Invariant: every figure comes from the code that answers people (real SQLite, FAISS and embedder); only the model,
which answers at once, and the channel, which goes nowhere, are stand-ins.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import multiprocessing
import random
import resource
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import perf_counter

from loop_lag import LoopLag, percentile
from rich.console import Console
from rich.table import Table
from stand_ins import InstantModel, Nowhere
from start_up import start_up
from synthetic_history import CONVERSATION, DATABASE, PERSON, fill, text

from bot.agent import Agent
from bot.chat import Conversation, IncomingMessage, incoming_to_json
from bot.handler import ChatHandler
from bot.logs import configure_logs
from bot.tool_table import toolbox_for
from memory.database import open_database
from memory.embedding import MiniLmTokenEmbedder
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.messages import assistant_message, user_message
from memory.parameters import MemoryParameters
from memory.ports import SystemClock
from memory.prompt.assembler import assemble
from memory.records import InboxItem, InboxState, NewMessage, Source
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_WARM_UP = 12  # turns: the window has then its usual size, and everything is loaded
_WHERE = Conversation(platform="console", key=CONVERSATION, audience="dm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured at one size. Times in milliseconds, memory in MiB.

    Attributes:
        phases: median and 95th percentile of each phase.
        loop_lag: how late the event loop served others, at the 99th percentile and at worst.
        memory_mib: peak of the whole process.
        start_seconds: from the command to the first prompt, and from the first line typed to its answer.
    """

    messages: int
    phases: dict[str, tuple[float, float]]
    loop_lag: tuple[float, float]
    memory_mib: float
    start_seconds: tuple[float, float] = (0.0, 0.0)


class Bench:
    """Measures one opened application.

    Args:
        system: its memory.
        counter: its token counter.
        turns: how many turns to measure each way.
    """

    def __init__(self, system: MemorySystem, counter: TiktokenCounter, *, turns: int) -> None:
        self._system = system
        self._counter = counter
        self._turns = turns
        self._draw = random.Random(5)
        self._toolbox = toolbox_for(system.parameters)
        self._said = 0
        self._memory = system.conversation(person=PERSON, audience="dm", conversation=CONVERSATION)
        self.samples: defaultdict[str, list[float]] = defaultdict(list)

    async def whole_turns(self, lag: LoopLag) -> None:
        """Turns through the handler, as they come from a platform."""
        channel = Nowhere()
        agent = Agent(
            model=InstantModel(),
            toolbox=self._toolbox,
            counter=self._counter,
            secret=b"bench",
        )
        handler = ChatHandler(system=self._system, agent=agent, clock=SystemClock())
        handler.attach({channel.platform: channel})
        handler.open()
        async with lag.watched():
            for turn in range(_WARM_UP + self._turns):
                began = perf_counter()
                await handler.accept(self._incoming())
                await handler.idle()
                answered = channel.sent_at
                await self._system.settle()
                if turn >= _WARM_UP:
                    self._note("turn: accept to reply sent", answered - began)
                    self._note("turn: reply sent to all done", perf_counter() - answered)
                elif turn == 0:
                    self._note("first turn of the process", answered - began)
        await handler.drain(1)

    async def phases(self) -> None:
        """The same turns, phase by phase, through the doors that the handler uses."""
        model = InstantModel()
        for _ in range(self._turns):
            incoming = self._incoming()
            with self._timed("accept"):
                item = await self._accept(incoming)
            await self._one_by_phases(incoming, item, model)

    async def searches(self, database_url: str) -> None:
        """What retrieval is made of."""
        stores, scope, reach = self._system.stores, self._memory.place.scope, self._memory.place.reach
        database, text_index = await open_database(database_url), SqliteTextIndex()
        try:
            for _ in range(self._turns):
                query = text(self._draw)
                with self._timed("retrieve: embed the message"):
                    embedded = await stores.search.embed_query(query)
                with self._timed("retrieve: full text"):
                    await database.read_together(
                        partial(text_index.search, reach=reach, query=query, limits={Source.RECALL: 100})
                    )
                with self._timed("retrieve: recall (words, vectors, rank)"):
                    await stores.recall.search(reach, query, limit=5, evicted_only=False, embedded=embedded, floor=True)
                with self._timed("retrieve: archival (words, vectors, rank)"):
                    await stores.archival.search(scope, reach, query, embedded=embedded, floor=True)
        finally:
            await database.close()

    async def _one_by_phases(self, incoming: IncomingMessage, item: InboxItem, model: InstantModel) -> None:
        memory = self._memory
        new = NewMessage(
            message=user_message(incoming.text),
            author=incoming.author_name,
            sent_at=incoming.sent_at,
            platform_id=incoming.id,
        )
        with self._timed("begin"):
            exchange = await memory.begin(new, item)
        with self._timed("gather (window, core, retrieve)"):
            gathered = await memory.gather(exchange, tools=self._toolbox.specs, now=incoming.sent_at)
        with self._timed("assemble"):
            prompt = await asyncio.to_thread(
                assemble, gathered, parameters=self._system.parameters, counter=self._counter
            )
        reply = (await model.complete(prompt.request)).message.text
        with self._timed("finish"):
            await memory.finish(
                exchange,
                [assistant_message(reply)],
                reply=reply,
                model=model.name,
                beside=lambda tx: self._system.outbox.begin(tx, item, reply),
            )
        with self._timed("after: mark delivered"):
            await self._system.outbox.mark(item, InboxState.DELIVERED)
        with self._timed("after: evict and fold"):
            await memory.keep_small(exchange, tools=self._toolbox.specs)
        with self._timed("after: embed what is new"):
            await self._system.settle()

    async def _accept(self, incoming: IncomingMessage) -> InboxItem:
        item = await self._system.stores.inbox.accept(
            self._memory.place.scope,
            conversation=CONVERSATION,
            platform_id=incoming.id,
            payload=incoming_to_json(incoming),
            at=incoming.sent_at,
        )
        assert item is not None
        return item

    def _incoming(self) -> IncomingMessage:
        self._said += 1
        now = SystemClock().now()
        return IncomingMessage(
            id=f"{now.isoformat()}-{self._said}",
            conversation=_WHERE,
            person=PERSON,
            author_name="Bench",
            text=text(self._draw),
            sent_at=now,
        )

    def _note(self, phase: str, seconds: float) -> None:
        self.samples[phase].append(seconds * 1_000)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        began = perf_counter()
        yield
        self._note(phase, perf_counter() - began)


async def _measure(folder: Path, size: int, turns: int) -> Figures:
    configure_logs("ERROR")  # the stand-in for the memory model teaches nothing, and the log says so each time
    address = f"sqlite:///{folder / DATABASE}"
    embedder, counter, lag = MiniLmTokenEmbedder(), TiktokenCounter(), LoopLag()
    try:
        async with open_memory(
            database_url=address,
            embedder=embedder,
            counter=counter,
            memory_model=InstantModel(),
            parameters=MemoryParameters(),
            clock=SystemClock(),
        ) as system:
            await system.resume()
            await system.warm_up()
            gc.freeze()  # as the application does
            bench = Bench(system, counter, turns=turns)
            await bench.whole_turns(lag)
            memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_024  # Linux counts in KiB
            await bench.phases()
            await bench.searches(address)
    finally:
        await embedder.close()
    return Figures(
        messages=size,
        phases={phase: (statistics.median(took), percentile(took, 95)) for phase, took in bench.samples.items()},
        loop_lag=lag.figures(),
        memory_mib=memory_mib,
    )


def _filled(folder: Path, size: int) -> None:
    asyncio.run(fill(folder, size))


def _measured(folder: Path, size: int, turns: int) -> Figures:
    return asyncio.run(_measure(folder, size, turns))


def _alone(work: Callable[..., Figures | None], *arguments: object) -> Figures | None:
    """Run it in a new process: nothing that one size loaded or took is counted for the next."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(work, *arguments).result()


def figures_of(size: int, turns: int, cache: Path) -> Figures:
    """Everything about one size, on a copy of its filled database, which is made where it is missing."""
    filled = cache / str(size)
    if not (filled / DATABASE).exists():
        with tempfile.TemporaryDirectory(dir=cache) as half_filled:
            _alone(_filled, Path(half_filled), size)
            shutil.copytree(half_filled, filled)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(filled / DATABASE, folder)
        start_seconds = start_up(Path(folder))
        shutil.copy(filled / DATABASE, folder)
        figures = _alone(_measured, Path(folder), size, turns)
    assert figures is not None
    return replace(figures, start_seconds=start_seconds)


def show(measured: list[Figures]) -> None:
    """Print one table: a row for each phase, a column for each size."""
    table = Table(title="A turn outside the model: median (95th percentile), in milliseconds")
    table.add_column("messages stored")
    for figures in measured:
        table.add_column(f"{figures.messages:,}", justify="right")
    for phase in measured[0].phases:
        table.add_row(phase, *(_pair(figures.phases[phase]) for figures in measured))
    table.add_section()
    table.add_row("event loop lag: 99th percentile (worst)", *(_pair(figures.loop_lag) for figures in measured))
    table.add_row("peak memory, MiB", *(f"{figures.memory_mib:.0f}" for figures in measured))
    table.add_row("start to the first prompt, s", *(f"{figures.start_seconds[0]:.2f}" for figures in measured))
    table.add_row("first line to its answer, s", *(f"{figures.start_seconds[1]:.2f}" for figures in measured))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    console.print("The stored vectors are those of real sentences with noise added; queries are embedded for real.")


def _pair(values: tuple[float, float]) -> str:
    return f"{values[0]:.1f} ({values[1]:.1f})"


def main() -> None:
    """Measure the sizes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[0, 10_000, 100_000], metavar="MESSAGES")
    parser.add_argument("--turns", type=int, default=50, help="turns measured at each size")
    parser.add_argument("--cache", type=Path, help="folder that keeps the filled databases for the next run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        cache = arguments.cache or Path(temporary)
        cache.mkdir(parents=True, exist_ok=True)
        measured = [figures_of(size, arguments.turns, cache) for size in arguments.sizes]
    show(measured)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(figures) for figures in measured], indent=2) + "\n")


if __name__ == "__main__":
    main()
