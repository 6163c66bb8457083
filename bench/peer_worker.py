"""Measures one memory system in a process of its own: reads a job as JSON, writes the figures as JSON.

Started by bench/peers.py, with the Python that has the system's packages.

Invariant: what is measured and in which order is the same for every system; embedding takes no time, since the
vectors are known beforehand.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from process_memory import peak_mb

KEEPSAKE = "Keepsake"
_ADDS = 100
_SEARCHES = 100
_DELETES = 20
_LIMIT = 10
_NOISE = 0.8  # against 1 for the real sentence, as in synthetic_history


class KnownVectors:
    """The vectors of a file: of its own texts, and of others one of those with noise added.

    Args:
        path: with ``vectors`` (texts, dimensions), and the texts beside it as JSON.
        others: whether other texts than its own are asked for.
    """

    def __init__(self, path: Path, *, others: bool) -> None:
        self._others = others
        self._vectors = np.load(path)["vectors"]
        texts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        self._rows = {text: row for row, text in enumerate(texts)}

    def of(self, text: str) -> np.ndarray[Any, Any]:
        """The vector of a text, float32, of length 1."""
        row = self._rows.get(text) if self._others else self._rows[text]
        if row is not None:
            known: np.ndarray[Any, Any] = self._vectors[row]
            return known
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        base = self._vectors[seed % len(self._vectors)]
        noise = np.random.default_rng(seed).standard_normal(len(base)) / np.sqrt(len(base))
        moved = (base + _NOISE * noise).astype(np.float32)
        unit: np.ndarray[Any, Any] = moved / np.linalg.norm(moved)
        return unit


def cost(system: Any, job: dict[str, Any]) -> dict[str, Any]:
    """What adding, searching and deleting take with so many records of so many people."""
    texts, queries, persons = job["texts"], job["queries"], [f"person-{number}" for number in range(job["persons"])]
    size = job["records"]
    records = [(persons[number % len(persons)], f"k{number}", texts[number]) for number in range(size)]
    system.fill(records)
    system.settle()
    more = [(persons[number % len(persons)], f"k{number}", texts[number]) for number in range(size, size + _ADDS)]
    began = perf_counter()
    for person, key, text in more:
        system.add(person, key, text)
    system.settle()
    add = (perf_counter() - began) / len(more)
    for person in persons:  # what is loaded at a person's first search is not counted
        system.search(person, queries[0], _LIMIT)
    found: list[int] = []
    searches = [
        _timed(
            lambda number=number: found.append(
                len(system.search(persons[number % len(persons)], queries[number % len(queries)], _LIMIT))
            )
        )
        for number in range(_SEARCHES)
    ]
    deletes = [_timed(lambda person=person, key=key: system.delete(person, key)) for person, key, _ in more[:_DELETES]]
    return {
        "add_ms": add * 1_000,
        "search_ms": statistics.median(searches) * 1_000,
        "search_p95_ms": statistics.quantiles(searches, n=20)[-1] * 1_000,
        "delete_ms": statistics.median(deletes) * 1_000,
        "found_of_10": statistics.fmean(found),
    }


def recall(system: Any, job: dict[str, Any]) -> dict[str, Any]:
    """The turns found for each question of some conversations, each of a person of its own."""
    for number, talk in enumerate(job["talks"]):
        system.fill([(f"person-{number}", f"{number} {key}", text) for key, text in talk["turns"]])
    system.settle()
    found = []
    for number, talk in enumerate(job["talks"]):
        keys = [system.search(f"person-{number}", question, _LIMIT) for question in talk["questions"]]
        found.append([[key.split(" ", 1)[1] for key in some] for some in keys])
    return {"found": found}


def _timed(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return perf_counter() - began


def _open(name: str, folder: Path, vectors: KnownVectors) -> Any:
    if name == KEEPSAKE:
        from peer_keepsake import KeepsakeSystem

        return KeepsakeSystem(folder, vectors.of)
    from peer_systems import PEERS

    return PEERS[name](folder, vectors.of)


def main() -> None:
    """Do the job on standard input."""
    job = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    vectors = KnownVectors(Path(job["vectors"]), others=job["kind"] == "cost")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        system = _open(job["system"], folder, vectors)
        figures = {"cost": cost, "recall": recall}[job["kind"]](system, job)
        figures |= {"lacks": system.lacks, "memory_mb": peak_mb()}
        system.close()
        figures["disk_mb"] = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
    json.dump(figures, answers)


if __name__ == "__main__":
    main()
