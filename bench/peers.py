"""Keepsake beside other memory systems: what adding, searching and deleting cost, and what is found.

Run it as ``python bench/peers.py --peers PYTHON [--data FILE ...]``; see bench/README.md.

Invariant: every system runs in a process of its own, with the same texts, the same vectors and the same questions.
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
from pathlib import Path
from typing import Any

import numpy as np
from locomo import Talk, read_talk
from peer_systems import PEERS
from peer_worker import KEEPSAKE
from retrieval import measure
from rich.console import Console
from rich.table import Table
from synthetic_history import text

from memory.embedding import MiniLmEmbedder

_SIZES = (1_000, 10_000)
_PERSONS = (1, 100)
_BASES = 512
_EXTRA = 100  # added once a system is filled
_QUERIES = 50
_DEPTH = 10
_ANSWERABLE = "1-4"
_COST_COLUMNS = ("add ms", "search ms", "p95", "delete ms", "found of 10", "memory MB", "disk MB")
_OWN = (KEEPSAKE, "plain reference")  # need no package that Keepsake does not have

Figures = dict[str, Any]


async def write_vectors(path: Path, texts: Sequence[str]) -> None:
    """Embed texts with the bundled embedder, for ``peer_worker.KnownVectors``."""
    embedder = MiniLmEmbedder()
    vectors = await embedder.embed(texts)
    await embedder.close()
    np.savez(path, vectors=vectors)
    path.with_suffix(".json").write_text(json.dumps(list(texts)), encoding="utf-8")


def run(system: str, job: Figures, peers: Path | None) -> Figures | None:
    """Have a system measured in a process of its own; None where its packages are missing."""
    python = sys.executable if system in _OWN else peers
    if python is None:
        return None
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": str(here.parent) if system in _OWN else ""}
    done = subprocess.run(
        [python, here / "peer_worker.py"],
        input=json.dumps({**job, "system": system}),
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        check=True,
    )
    figures: Figures = json.loads(done.stdout)
    return figures


def measure_cost(sizes: Sequence[int], persons: Sequence[int], peers: Path | None) -> list[Figures]:
    """One row for each system, size and number of people."""
    draw = random.Random(5)
    bases = [text(draw) for _ in range(_BASES)]
    texts = [text(draw) for _ in range(max(sizes) + _EXTRA)]
    queries = [text(draw).split(". ")[0] for _ in range(_QUERIES)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors.npz"
        asyncio.run(write_vectors(vectors, bases))
        for size in sizes:
            for number in persons:
                job = {
                    "kind": "cost",
                    "vectors": str(vectors),
                    "records": size,
                    "persons": number,
                    "texts": texts[: size + _EXTRA],
                    "queries": queries,
                }
                for system in (KEEPSAKE, *PEERS):
                    if (figures := run(system, job, peers)) is not None:
                        rows.append({"system": system, "records": size, "persons": number, **figures})
                        print(f"{system}: {size:,} records of {number} done", file=sys.stderr)
    return rows


def measure_recall(talks: Sequence[Talk], peers: Path | None) -> list[Figures]:
    """Recall of the turns that answer a question among the first ten, by system."""
    ours = asyncio.run(measure(talks))
    rows = [
        {"system": KEEPSAKE, "recall@10": row["recall@10"], "n": row["n"]}
        for row in ours.rows
        if row["category"] == _ANSWERABLE
    ]
    asked = [[one for one in talk.questions if 1 <= one.category <= 4] for talk in talks]
    said = [
        [
            (turn.id, f"{turn.speaker} ({turn.said_at:%-d %B %Y}): {turn.text}")
            for part in talk.sessions
            for turn in part
        ]
        for talk in talks
    ]
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors.npz"
        known = {turn for turns in said for _, turn in turns} | {one.text for some in asked for one in some}
        asyncio.run(write_vectors(vectors, sorted(known)))
        job = {
            "kind": "recall",
            "vectors": str(vectors),
            "talks": [
                {"turns": turns, "questions": [one.text for one in some]}
                for turns, some in zip(said, asked, strict=True)
            ],
        }
        for system in PEERS:
            if (figures := run(system, job, peers)) is None:
                continue
            shares = [
                len(one.evidence.intersection(keys[:_DEPTH])) / len(one.evidence)
                for some, found in zip(asked, figures["found"], strict=True)
                for one, keys in zip(some, found, strict=True)
            ]
            rows.append({"system": system, "recall@10": round(statistics.fmean(shares), 4), "n": len(shares)})
    return rows


def show(cost: Sequence[Figures], recall: Sequence[Figures]) -> None:
    """Print the tables."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    if cost:
        table = Table(title="What a record and a search cost, embedding left out")
        for name in ("system", "records", "people", *_COST_COLUMNS):
            table.add_column(name, justify="left" if name == "system" else "right")
        for row in cost:
            numbers = [row[name] for name in ("add_ms", "search_ms", "search_p95_ms", "delete_ms", "found_of_10")]
            table.add_row(
                row["system"],
                f"{row['records']:,}",
                str(row["persons"]),
                *(f"{number:.1f}" for number in numbers),
                f"{row['memory_mb']:.0f}",
                f"{row['disk_mb']:.0f}",
            )
        console.print(table)
        for system, lacks in {row["system"]: row["lacks"] for row in cost}.items():
            console.print(f"{system} does without {lacks}.", highlight=False)
    if recall:
        table = Table(title="Turns that answer a question, among the first ten found (categories 1-4)")
        for name in ("system", "recall@10", "questions"):
            table.add_column(name, justify="left" if name == "system" else "right")
        for row in recall:
            table.add_row(row["system"], f"{row['recall@10']:.3f}", str(row["n"]))
        console.print(table)


def _numbers(listed: str) -> tuple[int, ...]:
    return tuple(int(number) for number in listed.split(","))


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, metavar="PYTHON", help="the Python that has bench/peers-requirements.txt")
    parser.add_argument("--sizes", type=_numbers, default=_SIZES, help="records, separated by commas; 0 for none")
    parser.add_argument("--persons", type=_numbers, default=_PERSONS, help="people, separated by commas")
    parser.add_argument("--data", type=Path, action="append", default=[], metavar="FILE", help="may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    sizes = [size for size in arguments.sizes if size]
    cost = measure_cost(sizes, arguments.persons, arguments.peers) if sizes else []
    recall = measure_recall([read_talk(path) for path in arguments.data], arguments.peers) if arguments.data else []
    show(cost, recall)
    if arguments.json:
        content = {"cost": cost, "recall": recall}
        arguments.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
