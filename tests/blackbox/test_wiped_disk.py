"""A host that wipes its disk on every deploy: the address of the mirror is all it takes to be remembered there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.doubles.turso_server import turso_server


def chat(folder: Path, url: str, said: str) -> subprocess.CompletedProcess[str]:
    """One life of the process, on a disk that holds nothing."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "HOME")}
    return subprocess.run(
        [sys.executable, "-m", "bot", "run"],
        input=said,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**kept, "TURSO_URL": url, "DATA_DIR": "data"},
        timeout=120,
        check=True,
    )


def test_after_its_disk_was_wiped_the_bot_remembers(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with turso_server(tmp_path) as server:
        first = chat(folder, server.url, "My sister Rosa is a pilot.\n")
        assert "The mirror holds nothing yet." in first.stderr
        shutil.rmtree(folder)
        second = chat(folder, server.url, "What is my sister?\n")
    assert "came back from the mirror" in second.stderr
    assert "Rosa is a pilot" in second.stdout
