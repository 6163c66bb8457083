"""Many people on both platforms at once, and everything that goes wrong: is each of them answered, and nothing lost?

    python -m bench.soak                 # 200 people, 20 channels, 5,000 messages; says how far it is
    python -m bench.soak --small         # the same within half a minute

``keepsake run`` is started as a process of its own, on loopback doubles of Discord, Slack and Claude, twice: once with
nothing in its way, and once with events told twice and out of order, connections that break, services that are
overloaded or limit their calls, answers that break off, and ``kill -9``. What is kept in the end must be the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from bench.soak_run import Outcome, Run, Started
from bench.soak_town import (
    FULL,
    SMALL,
    Claude,
    Size,
    Town,
)
from memory.ports import SystemClock
from tests.blackbox.process import keepsake_run, services


async def run(
    folder: Path, size: Size, *, seed: int, faults: bool, tell: Callable[[str], None], started: Started
) -> Outcome:
    """Let the town live once.

    Args:
        folder: an empty one, for the database.
        size: how much is said.
        seed: what is said by whom and where follows from it.
        faults: whether anything goes wrong.
        tell: is told how far it has come.
        started: starts a process.

    Raises:
        AssertionError: it does not come to an end.
    """
    began = perf_counter()
    async with services(clock=SystemClock()) as outside:
        outside.claude.default = Claude(troubled=faults)
        town = Town.settled(outside, size)
        one = Run(
            folder=folder,
            size=size,
            seed=seed,
            faults=faults,
            outside=outside,
            town=town,
            tell=tell,
            started=started,
        )
        async with one.processes:
            await one.start()
            await one.live()
        return one.outcome(perf_counter() - began)


def _to_nobody(progress: str) -> None:
    """For a run that is short."""


async def soak(
    folder: Path,
    size: Size,
    *,
    seed: int = 1,
    tell: Callable[[str], None] = _to_nobody,
    started: Started = keepsake_run,
) -> tuple[Outcome, Outcome, list[str]]:
    """Both runs at once, and everything that must not be.

    Args:
        folder: an empty one.
        size: how much is said.
        seed: what is said by whom and where follows from it.
        tell: is told how far both have come.
        started: starts a process.
    """
    for name in ("calm", "troubled"):
        (folder / name).mkdir()
    calm, troubled = await asyncio.gather(
        run(folder / "calm", size, seed=seed, faults=False, tell=tell, started=started),
        run(folder / "troubled", size, seed=seed, faults=True, tell=tell, started=started),
    )
    problems = [f"calm: {problem}" for problem in calm.problems]
    problems += [f"troubled: {problem}" for problem in troubled.problems]
    if calm.answered != size.messages:
        problems.append(f"calm: {calm.answered} of {size.messages} messages were answered.")
    if troubled.answered + troubled.told != size.messages:
        problems.append(f"troubled: {troubled.answered} were answered and {troubled.told} told why.")
    problems += _differences("messages", calm.kept.messages, troubled.kept.messages)
    problems += _differences("facts", calm.kept.facts, troubled.kept.facts)
    return calm, troubled, problems


def _differences(what: str, calm: Any, troubled: Any) -> list[str]:
    return [
        f"{what} of {place} differ: {calm.get(place)} and {troubled.get(place)}."
        for place in sorted(calm.keys() | troubled.keys())
        if calm.get(place) != troubled.get(place)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few people and messages")
    parser.add_argument("--people", type=int, help="how many people, an even number")
    parser.add_argument("--messages", type=int, help="how many messages")
    parser.add_argument("--seed", type=int, default=1, help="another one lets others speak elsewhere")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    size = SMALL if arguments.small else FULL
    size = replace(size, people=arguments.people or size.people, messages=arguments.messages or size.messages)
    began = perf_counter()

    def tell(progress: str) -> None:
        print(f"{perf_counter() - began:6.0f} s  {progress}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        calm, troubled, problems = asyncio.run(soak(Path(folder), size, seed=arguments.seed, tell=tell))
    print(f"{size.people} people, {size.channels} channels, {size.messages:,} messages, {size.kills} kills")
    print("| run | answered | told why | seconds | MB in the second quarter | in the last |")
    print("|---|---|---|---|---|---|")
    figures = {}
    for name, one in (("calm", calm), ("troubled", troubled)):
        early, late = one.rss
        print(f"| {name} | {one.answered:,} | {one.told:,} | {one.seconds:.0f} | {early:.0f} | {late:.0f} |")
        figures[name] = {"answered": one.answered, "told": one.told, "seconds": one.seconds, "rss": one.rss}
    bots = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = process_time()
    print(f"CPU seconds: {bots.ru_utime + bots.ru_stime:.0f} of the bots, {own:.0f} of the doubles and this bench")
    if arguments.json:
        arguments.json.write_text(json.dumps({"size": asdict(size), **figures, "problems": problems}, indent=2))
    for problem in problems[:20]:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
