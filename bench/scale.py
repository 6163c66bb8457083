"""What a search takes among a million messages of a thousand people, and what it takes to have them at hand.

Run it as ``python bench/scale.py``; see bench/README.md.

Invariant: rows are those that the stores write, token vectors included; only the vectors are made up, since to embed
a million texts takes hours. What is asked is embedded for real.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

from process_memory import peak_mb, resident_mb
from rich.console import Console
from rich.table import Table
from sqlalchemy import insert
from stand_ins import InstantModel
from synthetic_history import DATABASE, SyntheticEmbedder, text

from bot.logs import configure_logs
from memory.database import Database, Transaction, open_database
from memory.embedding import MiniLmTokenEmbedder
from memory.ids import IdSource
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.messages import user_message
from memory.parameters import MemoryParameters
from memory.ports import SystemClock
from memory.records import EvictionReason, Scope, SearchEntry, Source, StoredMessage
from memory.schema import index_generations, messages, search_entries
from memory.stores.message_rows import row_of_message, searchable_pieces
from memory.stores.vectors import vector_to_bytes
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_MESSAGES = 1_000_000
_PERSONS = 1_000
_HEAVY_SHARE = 10  # one person has a tenth of all messages
_BATCH = 1_000
_SEARCHES = 100
_LIMIT = 5
_FIRST_DAY = datetime(2023, 1, 1, 8, 0, tzinfo=UTC)
_SPAN = timedelta(days=1_000)
_FILLED = "filled.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The result, in the names of the JSON file; times in milliseconds but for the start."""

    messages: int
    persons: int
    light_messages: int
    light_first_ms: float
    light_median_ms: float
    light_p95_ms: float
    heavy_messages: int
    heavy_first_ms: float
    heavy_median_ms: float
    heavy_p95_ms: float
    others_median_ms: float
    others_p95_ms: float
    start_seconds: float
    memory_mb: float
    peak_memory_mb: float
    disk_gb: float


def shares(size: int, persons: int) -> list[int]:
    """How many messages each person has: the first a tenth of all, the others as many as one another."""
    heavy = size // _HEAVY_SHARE if persons > 1 else size
    return [heavy, *([(size - heavy) // (persons - 1)] * (persons - 1) if persons > 1 else [])]


async def fill(folder: Path, size: int, persons: int) -> None:
    """Write the database, every person's messages in one session of their direct chat."""
    configure_logs("WARNING")
    embedder = await SyntheticEmbedder.from_real()
    database = await open_database(f"sqlite:///{folder / DATABASE}")
    ids, draw = IdSource(SystemClock()), random.Random(size)
    try:
        for number, share in enumerate(shares(size, persons)):
            for start in range(0, share, _BATCH):
                said = [text(draw) for _ in range(min(_BATCH, share - start))]
                await _store(database, embedder, ids, number, said, first=start, share=share)
            if number % 100 == 0:
                print(f"{number:,} of {persons:,} people filled in", file=sys.stderr)
    finally:
        await database.close()
    (folder / _FILLED).write_text(json.dumps({"size": size, "persons": persons}), encoding="utf-8")


async def _store(
    database: Database,
    embedder: SyntheticEmbedder,
    ids: IdSource,
    person: int,
    said: Sequence[str],
    *,
    first: int,
    share: int,
) -> None:
    scope = Scope(person=_name(person), audience="dm")
    stored = [
        StoredMessage(
            id=(message_id := ids.next()),
            scope=scope,
            conversation=f"{scope.person}:dm",
            session_id=1,
            exchange_id=message_id,
            author=f"Person {person}",
            message=user_message(words),
            sent_at=_FIRST_DAY + _SPAN * (first + place) / share,
            tokens=40,
            evicted_at=_FIRST_DAY + _SPAN,
            eviction_reason=EvictionReason.SESSION_END,
            folded=True,
        )
        for place, words in enumerate(said)
    ]
    entries = [
        SearchEntry(id=ids.next(), scope=scope, source=Source.RECALL, record_id=message.id, chunk=chunk, text=piece)
        for message in stored
        for chunk, piece in enumerate(searchable_pieces(message))
    ]
    async with database.transaction() as tx:
        await tx.connection.execute(insert(messages), [row_of_message(message) for message in stored])
        await tx.connection.execute(insert(search_entries), await _rows(entries, embedder))
        await SqliteTextIndex().add(tx.connection, entries)
        if first == 0:
            await _first_generation(tx, scope, ids)


async def _rows(entries: Sequence[SearchEntry], embedder: SyntheticEmbedder) -> list[dict[str, Any]]:
    embedded = await embedder.embed_tokens([entry.text for entry in entries])
    return [
        {
            "person": entry.scope.person,
            "audience": entry.scope.audience,
            "source": entry.source.value,
            "record_id": entry.record_id,
            "chunk": entry.chunk,
            "id": entry.id,
            "text": entry.text,
            "embedder": embedder.name,
            "vector": vector_to_bytes(one.vector),
            "tokens": one.tokens.tobytes(),
        }
        for entry, one in zip(entries, embedded, strict=True)
    ]


async def _first_generation(tx: Transaction, scope: Scope, ids: IdSource) -> None:
    row = {"person": scope.person, "audience": scope.audience, "source": Source.RECALL.value}
    await tx.connection.execute(insert(index_generations).values(**row, generation=ids.next()))


def _name(person: int) -> str:
    return f"console:person-{person}"


async def measure(folder: Path) -> Figures:
    """Open the database and search it for a light person, the heavy one, and many others once each."""
    configure_logs("ERROR")
    filled = json.loads((folder / _FILLED).read_text(encoding="utf-8"))
    size, persons = filled["size"], filled["persons"]
    embedder, draw = MiniLmTokenEmbedder(), random.Random(11)
    began = perf_counter()
    async with open_memory(
        database_url=f"sqlite:///{folder / DATABASE}",
        embedder=embedder,
        counter=TiktokenCounter(),
        memory_model=InstantModel(),
        parameters=MemoryParameters(),
        clock=SystemClock(),
    ) as system:
        await system.resume()
        await system.warm_up()
        started = perf_counter() - began
        light = [await _search(system, min(1, persons - 1), draw) for _ in range(_SEARCHES + 1)]
        heavy = [await _search(system, 0, draw) for _ in range(_SEARCHES + 1)]
        after_heavy = resident_mb()
        others = [await _search(system, draw.randrange(1, max(2, persons)), draw) for _ in range(_SEARCHES)]
        resident = resident_mb()
    await embedder.close()
    of_each = shares(size, persons)
    return Figures(
        messages=size,
        persons=persons,
        light_messages=of_each[-1],
        light_first_ms=light[0],
        light_median_ms=statistics.median(light[1:]),
        light_p95_ms=_p95(light[1:]),
        heavy_messages=of_each[0],
        heavy_first_ms=heavy[0],
        heavy_median_ms=statistics.median(heavy[1:]),
        heavy_p95_ms=_p95(heavy[1:]),
        others_median_ms=statistics.median(others),
        others_p95_ms=_p95(others),
        start_seconds=started,
        memory_mb=max(after_heavy, resident),
        peak_memory_mb=peak_mb(),
        disk_gb=_size(folder) / 2**30,
    )


async def _search(system: MemorySystem, person: int, draw: random.Random) -> float:
    """Milliseconds of one search, embedding included."""
    query = text(draw).split(". ")[0]
    began = perf_counter()
    await system.search(_name(person), query, limit=_LIMIT)
    return (perf_counter() - began) * 1_000


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def show(figures: Figures) -> None:
    """Print one table."""
    table = Table(title=f"Searching among {figures.messages:,} messages of {figures.persons:,} people")
    for name in ("person", "messages", "first ms", "median ms", "p95 ms"):
        table.add_column(name, justify="left" if name == "person" else "right")
    rows = (
        ("light", f"{figures.light_messages:,}", figures.light_first_ms, figures.light_median_ms, figures.light_p95_ms),
        ("heavy", f"{figures.heavy_messages:,}", figures.heavy_first_ms, figures.heavy_median_ms, figures.heavy_p95_ms),
        ("another each time", f"{figures.light_messages:,}", None, figures.others_median_ms, figures.others_p95_ms),
    )
    for name, count, *times in rows:
        table.add_row(name, count, *("" if time is None else f"{time:.1f}" for time in times))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    console.print(
        f"Start with everything loaded: {figures.start_seconds:.1f} s. Memory: {figures.memory_mb:.0f} MB, "
        f"while an index is built {figures.peak_memory_mb:.0f} MB. "
        f"On disk: {figures.disk_gb:.1f} GB. Load: {os.getloadavg()[0]:.1f}.",
        highlight=False,
    )


def _measured_apart(folder: Path) -> Figures:
    """Measure in a process of its own, so that its memory is that of the bot."""
    command = [sys.executable, __file__, "--measure", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(done.stdout))


def main() -> None:
    """Fill a database, or take a filled one, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=_MESSAGES)
    parser.add_argument("--persons", type=int, default=_PERSONS)
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep the filled database there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        json.dump(asdict(asyncio.run(measure(arguments.measure))), sys.stdout)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.cache or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _FILLED).exists():
            asyncio.run(fill(folder, arguments.messages, arguments.persons))
        figures = _measured_apart(folder)
    show(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(asdict(figures), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
