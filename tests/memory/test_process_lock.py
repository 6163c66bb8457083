"""The sign of life of a process beside its database."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memory.process_lock import ProcessLock

_HOLD = (
    "import sys; from pathlib import Path; from memory.process_lock import ProcessLock\n"
    "print(ProcessLock.of(Path(sys.argv[1])).name, flush=True); sys.stdin.read()"
)


def test_a_process_is_alive_until_it_ends_or_is_killed(tmp_path: Path) -> None:
    database = tmp_path / "keepsake.db"
    mine = ProcessLock.of(database)
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        assert mine.is_alive(name)
        other.kill()
        other.wait()
        assert [path.name for path in tmp_path.glob(f"*{name}")] != []
        assert not mine.is_alive(name)
    mine.release()
    mine.release()
    assert list(tmp_path.iterdir()) == []


def test_what_dead_processes_left_is_cleared_away_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "keepsake.db.process-dead").touch()
    (tmp_path / "other.db.process-dead").touch()
    lock = ProcessLock.of(tmp_path / "keepsake.db")
    assert not (tmp_path / "keepsake.db.process-dead").exists()
    assert (tmp_path / "other.db.process-dead").exists()
    lock.release()


def test_without_a_file_every_process_counts_as_alive() -> None:
    assert ProcessLock.of(None).is_alive("another")
