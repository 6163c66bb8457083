"""What consolidating everybody takes, and finding something in a tree of categories; with ``--years`` how ten years go.

Run it as ``python bench/tiers.py`` and ``python bench/tiers.py --years 10``; see bench/README.md.

Invariant: rows are those that an import writes, and everything that is measured goes through the memory system's own
doors.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from learning_world import SetClock
from process_memory import peak_mb, resident_mb
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from stand_ins import ConstantEmbedder
from ten_years import DAYS_OF_MONTH, DAYS_OF_YEAR, Years, live, picture

from bot.logs import configure_logs
from bot.offline import OfflineModel
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_scope
from memory.policy.decay import frozen_at, score_at
from memory.policy.fact_text import text_hash
from memory.policy.tiers import size_of_text
from memory.records import ROOT, Mode, Scope
from memory.stores.tier_rows import entry_id
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_PEOPLE = 10_000
_ENTRIES = 200
_SEARCHES = 200
_LIMIT = 5
_LINES = 20  # of progress where there is no terminal
_NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_OLDEST = timedelta(days=120)

_TOPICS = {
    "garden": ("beans", "fence", "hedge", "compost", "tomatoes", "shed"),
    "projects/boat": ("hull", "mast", "varnish", "rudder", "sail", "mooring"),
    "projects/house": ("roof", "kitchen", "boiler", "gutter", "stairs", "window"),
    "technical/servers": ("backup", "certificate", "router", "disk", "firewall", "cluster"),
    "technical/music": ("amplifier", "strings", "metronome", "recording", "cable", "keyboard"),
    "owner/family": ("sister", "nephew", "wedding", "grandmother", "birthday", "cousin"),
    "owner/health": ("dentist", "running", "knee", "glasses", "sleep", "allergy"),
    "owner/events": ("concert", "exhibition", "train", "festival", "dinner", "match"),
    "lessons": ("deadline", "contract", "meeting", "estimate", "review", "budget"),
}
_DEEDS = ("Mended", "Looked after", "Bought", "Spoke about", "Worried about", "Finished", "Sold", "Measured")
_PLACES = ("Oslo", "Bergen", "Leeds", "Porto", "Riga", "Ghent", "Turin", "Aarhus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The result, in the names of the JSON file; memory in MB."""

    people: int
    entries: int
    consolidated_seconds: float
    consolidated_cpu_ms_each: float
    archived: int
    memory_before: float
    memory_peak: float
    tree_median_ms: float
    tree_p95_ms: float
    tree_found: int
    cold_median_ms: float
    cold_p95_ms: float
    cold_found: int
    searches: int
    load: float


@contextmanager
def _progress(console: Console, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, and elsewhere a line on standard error for each twentieth; is told how many are done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as shown:
        task = shown.add_task(what, total=total)

        def done(number: int) -> None:
            shown.update(task, completed=number)
            if not console.is_terminal and number % max(1, total // _LINES) == 0:
                print(f"{what}: {number:,} of {total:,}", file=sys.stderr)

        yield done


async def measure(folder: Path, people: int, entries: int, console: Console) -> Figures:
    """Fill a database, consolidate everybody, then search."""
    configure_logs("ERROR")
    clock, draw = SetClock(), random.Random(people)
    clock.time = _NOW
    async with open_memory(
        database_url=f"sqlite:///{folder / 'keepsake.db'}",
        embedder=ConstantEmbedder(),
        counter=TiktokenCounter(),
        memory_model=OfflineModel(),
        parameters=MemoryParameters(),
        clock=clock,
        notes_folder=folder / "notes",
    ) as system:
        with _progress(console, "filled in", people) as done:
            for number in range(people):
                await _fill(system, _scope(number), entries, draw)
                done(number + 1)
        before = resident_mb()
        began, cpu = perf_counter(), process_time()
        with _progress(console, "consolidated", people) as done:
            await system.consolidator.run_all(Mode.FULL, progress=lambda seen, _: done(seen))
        seconds, cpu = perf_counter() - began, process_time() - cpu
        memory = peak_mb()
        archived = sum([await system.stores.cold.count(_scope(number)) for number in range(min(people, 100))])
        tree, tree_found = await _searched(system, people, draw, _by_tree)
        cold, cold_found = await _searched(system, people, draw, _in_archive)
    return Figures(
        people=people,
        entries=entries,
        consolidated_seconds=seconds,
        consolidated_cpu_ms_each=cpu / people * 1_000,
        archived=archived,
        memory_before=before,
        memory_peak=memory,
        tree_median_ms=statistics.median(tree),
        tree_p95_ms=statistics.quantiles(tree, n=20)[-1],
        tree_found=tree_found,
        cold_median_ms=statistics.median(cold),
        cold_p95_ms=statistics.quantiles(cold, n=20)[-1],
        cold_found=cold_found,
        searches=_SEARCHES,
        load=os.getloadavg()[0],
    )


async def _fill(system: MemorySystem, scope: Scope, entries: int, draw: random.Random) -> None:
    """Write a person's entries as an import does, in one transaction."""
    rows = {row["id"]: row for row in (_entry(draw, number) for number in range(entries))}
    paths = {ROOT, *_TOPICS, *(path.split("/")[0] for path in _TOPICS)}
    nodes = [
        {"path": path, "description": "", "warm": 0, "cold": 0, "created_at": _NOW - _OLDEST, "last_active_at": _NOW}
        for path in sorted(paths)
    ]
    async with system.transaction() as tx:
        await system.stores.warm.restore(scope, tx, list(rows.values()))
        await system.stores.tree.restore(scope, tx, nodes)


def _entry(draw: random.Random, number: int) -> dict[str, Any]:
    category = draw.choice(list(_TOPICS))
    text = f"{draw.choice(_DEEDS)} the {draw.choice(_TOPICS[category])} in {draw.choice(_PLACES)}, note {number}"
    created = (_NOW - _OLDEST * draw.random()).replace(microsecond=0)
    worth: dict[str, Any] = {"importance": draw.randrange(3, 10) / 10, "created_at": created, "access_count": 0}
    nothing = dict.fromkeys(("source_message", "session_id", "job", "archived_at", "archived_by", "removed_at"))
    return {
        **worth,
        **nothing,
        "id": entry_id(text, created),
        "tier": "warm",
        "text": text,
        "text_hash": text_hash(text),
        "category": category,
        "touched_at": created,
        "frozen_at": frozen_at(**worth),
        "score": score_at(_NOW, **worth),
        "bytes": size_of_text(text, {}),
        "metadata": {},
        "archive_reason": "",
        "removed_by": None,
    }


def _scope(number: int) -> Scope:
    return Scope(person=f"console:person-{number}", audience="dm")


async def _by_tree(system: MemorySystem, scope: Scope, draw: random.Random) -> int:
    category = draw.choice(list(_TOPICS))
    query = f"How is the {draw.choice(_TOPICS[category])} of my {category.rpartition('/')[2]}?"
    found = await system.tree_search.search(scope, reach_of_scope(scope), query, limit=_LIMIT)
    return len(found.hits)


async def _in_archive(system: MemorySystem, scope: Scope, draw: random.Random) -> int:
    words = f"{draw.choice(_TOPICS[draw.choice(list(_TOPICS))])} {draw.choice(_PLACES)}"
    return len(await system.stores.cold.query(reach_of_scope(scope), words, now=_NOW))


_Search = Callable[[MemorySystem, Scope, random.Random], Awaitable[int]]


async def _searched(system: MemorySystem, people: int, draw: random.Random, search: _Search) -> tuple[list[float], int]:
    """Milliseconds of searches in the memory of one person after the other, and how many of them found anything."""
    times, found = [], 0
    for _ in range(_SEARCHES):
        began = perf_counter()
        found += await search(system, _scope(draw.randrange(people)), draw) > 0
        times.append((perf_counter() - began) * 1_000)
    return times, found


def show(figures: Figures, console: Console) -> None:
    """Print one table."""
    table = Table(title=f"{figures.people:,} people with {figures.entries:,} entries each")
    for name in ("what", "figure", "target"):
        table.add_column(name, justify="left" if name == "what" else "right")
    for row in (
        ("consolidation of everybody", f"{figures.consolidated_seconds:.0f} s", ""),
        ("of each, processor time", f"{figures.consolidated_cpu_ms_each:.1f} ms", ""),
        ("archived, of the first hundred people", f"{figures.archived:,}", ""),
        ("memory before, and at most", f"{figures.memory_before:.0f}, {figures.memory_peak:.0f} MB", "bounded"),
        ("tree search by words, median", f"{figures.tree_median_ms:.1f} ms", "20 ms"),
        ("tree search by words, p95", f"{figures.tree_p95_ms:.1f} ms", ""),
        ("of them found something", f"{figures.tree_found} of {figures.searches}", ""),
        ("query of the archive, median", f"{figures.cold_median_ms:.1f} ms", "100 ms"),
        ("query of the archive, p95", f"{figures.cold_p95_ms:.1f} ms", ""),
        ("of them found something", f"{figures.cold_found} of {figures.searches}", ""),
    ):
        table.add_row(*row)
    console.print(table)
    console.print(f"Load: {figures.load:.1f}.", highlight=False)


async def measure_years(folder: Path, years: int, console: Console) -> Years:
    """Live so many years."""
    configure_logs("ERROR")
    with _progress(console, "days", years * DAYS_OF_YEAR) as done:
        return await live(folder, years, day_done=done)


def show_years(lived: Years, console: Console) -> None:
    """Print one table, a row for each year."""
    table = Table(title=f"{len(lived.known)} years of daily chat, each line at the end of a year")
    for name in ("year", "hot B", "tree B", "nodes", "warm KB", "warm", "cold", "tokens a turn", "known"):
        table.add_column(name, justify="right")
    for year, known in enumerate(lived.known, start=1):
        month = lived.months[min(len(lived.months), round(year * DAYS_OF_YEAR / DAYS_OF_MONTH)) - 1]
        sizes = f"{month.hot_bytes:,}", f"{month.tree_bytes:,}", str(month.tree_nodes), f"{month.warm_bytes / 1024:.1f}"
        counts = f"{month.warm_entries:,}", f"{month.cold_entries:,}", f"{month.context_tokens:,.0f}"
        table.add_row(str(year), *sizes, *counts, f"{known} of {lived.planted}")
    console.print(table)
    console.print(
        f"Hot state and tree are full from month {lived.full_from} on; from then on the yearly means of a turn's "
        f"context differ by {lived.context_spread:.1%} (target: 5 %). "
        f"Warm at most {max(month.warm_bytes for month in lived.months) / 1_024:.1f} KB (50), "
        f"tree at most {max(month.tree_bytes for month in lived.months):,} bytes (2,048). "
        f"{lived.seconds:.0f} s. Load: {os.getloadavg()[0]:.1f}.",
        highlight=False,
    )


def main() -> None:
    """Measure many people, or one for years."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=_PEOPLE)
    parser.add_argument("--entries", type=int, default=_ENTRIES)
    parser.add_argument("--years", type=int, help="live so many years with one person instead")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the years there, as SVG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)
    figures: Figures | Years
    with tempfile.TemporaryDirectory() as folder:
        if arguments.years:
            figures = lived = asyncio.run(measure_years(Path(folder), arguments.years, console))
            show_years(lived, console)
            if arguments.picture:
                arguments.picture.write_text(picture(lived, MemoryParameters()), encoding="utf-8")
        else:
            figures = measured = asyncio.run(measure(Path(folder), arguments.people, arguments.entries, console))
            show(measured, console)
    if arguments.json:
        arguments.json.write_text(json.dumps(asdict(figures), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
