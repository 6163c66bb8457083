"""How long it takes until an empty machine knows everybody again, from a mirror with a large archive.

Run it as ``python bench/restore.py``; see bench/README.md.

Invariant: the mirror is Turso's own server on this machine, and the way back is the one that ``keepsake run`` takes on
an empty disk. Only the filling is a short cut: rows are written to the server's file before it starts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from process_memory import peak_mb
from rich.console import Console
from rich.table import Table
from stand_ins import ConstantEmbedder, InstantModel
from synthetic_history import text

from bot.logs import configure_logs
from memory.mirror.process import MirrorAddress
from memory.mirror.replica import Replica, Row
from memory.parameters import MemoryParameters
from memory.policy.fact_text import text_hash
from memory.policy.hot_state import as_value
from memory.ports import SystemClock
from memory.records import HotState, Scope, scope_slug
from memory.stores.mirrored import COLD, CRITICAL, STORES, tables_of
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter
from tests.doubles.turso_server import turso_server

_ROWS = 1_000_000
_PERSONS = 1_000
_FACTS = 30
_SUMMARIES = 5
_AT_ONCE = 5_000
_FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
_NOBODY: dict[str, Any] = {
    "actor": "system",
    "reason": "made up",
    "source_message": None,
    "session_id": None,
    "job": None,
}


def main() -> None:
    """Fill a mirror, lose the machine, and time the way back."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=_ROWS, help="archived entries")
    options.add_argument("--persons", type=int, default=_PERSONS)
    options.add_argument("--without-archive", action="store_true", help="do not wait for the archive")
    options.add_argument("--json", type=Path, help="write the figures there too")
    given = options.parse_args()
    configure_logs("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(_measured(Path(folder), given.rows, given.persons, archive=not given.without_archive))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2))
    table = Table("", "")
    for name, figure in figures.items():
        table.add_row(name, f"{figure:,.1f}")
    Console().print(table)


async def _measured(folder: Path, rows: int, persons: int, *, archive: bool) -> dict[str, float]:
    began = perf_counter()
    _fill(folder / "hosted.db", rows, persons)
    figures: dict[str, float] = {"archived entries": rows, "persons": persons, "filling, s": perf_counter() - began}
    with turso_server(folder) as server:
        address = MirrorAddress(url=server.url, folder=folder / "new" / "mirror")
        async with open_memory(
            database_url=f"sqlite:///{folder}/new/keepsake.db",
            embedder=ConstantEmbedder(),
            counter=TiktokenCounter(),
            memory_model=InstantModel(),
            parameters=MemoryParameters(),
            clock=SystemClock(),
            mirror=address,
        ) as system:
            assert system.mirror is not None
            began, used = perf_counter(), process_time()
            figures["critical rows"] = await system.mirror.restore(archive=False)
            figures["critical state, s"] = perf_counter() - began
            figures["critical state, processor time here, s"] = process_time() - used
            await _known(system, persons)
            if archive:
                began, used = perf_counter(), process_time()
                figures["archive rows"] = await system.mirror.restore()
                figures["archive, s"] = perf_counter() - began
                figures["archive, processor time here, s"] = process_time() - used
    figures["processor time of server and worker, s"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    figures["peak memory, MB"] = peak_mb()
    return figures


async def _known(system: MemorySystem, persons: int) -> None:
    """Whether somebody in the middle is known again."""
    scope = _scope(persons // 2)
    assert (await system.stores.hot.load(scope)).agent_name == "Keepsake"
    assert await system.stores.facts.count(scope) == _FACTS
    assert await system.stores.summaries.latest(scope) is not None
    assert (await system.search(scope.person, "fact", limit=5)) is not None


def _fill(file: Path, rows: int, persons: int) -> None:
    """Write the server's file. It serves what stands in its write-ahead log, so all of it goes there."""
    filled, logged = file.with_name("filled.db"), file.with_name("logged.db")
    _write(filled, rows, persons)
    with closing(sqlite3.connect(filled)) as source, closing(sqlite3.connect(logged)) as target:
        target.execute("PRAGMA journal_mode = WAL")
        target.execute("PRAGMA wal_autocheckpoint = 0")
        source.backup(target)
        for end in ("", "-wal"):
            shutil.copyfile(f"{logged}{end}", f"{file}{end}")
    filled.unlink()
    logged.unlink()


def _write(file: Path, rows: int, persons: int) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        replica = Replica(connection, tables_of(STORES))  # type: ignore[arg-type]  # as far as it is used here
        replica.make_tables()
        made = _rows(rows, persons)
        while some := list(islice(made, _AT_ONCE)):
            replica.append(some)


def _rows(rows: int, persons: int) -> Iterator[Row]:
    draw = random.Random(11)
    seq = 0
    for person in range(persons):
        scope = _scope(person)
        for table, record, data in _of_person(draw, rows // persons):
            seq += 1
            yield {
                "table": table,
                "agent_id": scope_slug(scope),
                "record": record,
                "device": "lost",
                "seq": seq,
                "updated_at": round(_FIRST_DAY.timestamp() * 1000) + seq,
                "data": data,
            }


def _of_person(draw: random.Random, archived: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    at = _FIRST_DAY.isoformat()
    hot = {"version": 1, "state": as_value(HotState(agent_name="Keepsake")), "changed_at": at, **_NOBODY}
    node = {"description": "", "warm": 0, "cold": archived, "created_at": at, "last_active_at": at}
    nodes = [{"path": path, **node} for path in ("", "life", "work")]
    yield CRITICAL, "[]", {"hot_state": hot, "tree_nodes": nodes, "timestamp": at}
    made, human = round(_FIRST_DAY.timestamp() * 1000), text(draw)
    block = {"label": "human", "version": 1, "value": human, "changed_at": at, **_NOBODY}
    yield "mirrored_blocks", f'["human",{made},null,null]', block
    for version in range(1, _SUMMARIES + 1):
        said, changed_at = text(draw), (_FIRST_DAY + timedelta(days=version)).isoformat()
        summary = {"version": version, "text": said, "words": len(said.split()), "changed_at": changed_at, **_NOBODY}
        del summary["source_message"]
        summary |= {"first_message": None, "last_message": None}
        yield "mirrored_summaries", f"[{made + version * 86_400_000},null]", summary
    for number in range(1, _FACTS + 1):
        yield "mirrored_facts", f"[{number}]", _fact(number, text(draw), at)
    for number in range(1, archived + 1):
        yield COLD, f"[{number}]", _entry(number, text(draw), (_FIRST_DAY + timedelta(hours=number)).isoformat())


def _fact(number: int, said: str, at: str) -> dict[str, Any]:
    return {
        "id": str(number),
        "text": said,
        "text_hash": text_hash(said),
        "subject": "user",
        "predicate": "",
        "object": "",
        "confidence": 0.9,
        "category": "life",
        "importance": 0.5,
        "metadata": {},
        "source_message": None,
        "created_at": at,
        "updated_at": at,
        "valid_from": None,
        "expires_at": None,
        "state": "current",
        "superseded_by": None,
        "pinned": False,
    }


def _entry(number: int, said: str, at: str) -> dict[str, Any]:
    return {
        "id": str(number),
        "tier": "cold",
        "text": said,
        "text_hash": text_hash(said),
        "category": "life",
        "importance": 0.5,
        "created_at": at,
        "access_count": 0,
        "touched_at": at,
        "frozen_at": (_FIRST_DAY + timedelta(days=3_650)).isoformat(),
        "score": 0.1,
        "bytes": len(said.encode()),
        "metadata": {},
        "source_message": None,
        "session_id": None,
        "job": None,
        "archived_at": at,
        "archive_reason": "age",
        "archived_by": None,
        "removed_at": None,
        "removed_by": None,
    }


def _scope(person: int) -> Scope:
    return Scope(person=f"discord:{person + 1}", audience="dm")


if __name__ == "__main__":
    main()
