"""A host that wipes its disk on every deploy: the address of the mirror is all it takes to be remembered there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.doubles.turso_server import turso_server
from tests.forked import forked_keepsake


def chat(folder: Path, url: str, said: str) -> tuple[str, str]:
    """One life of the process, on a disk that holds nothing: what it answers, and what it says beside that."""
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "HOME")}
    settings = {**kept, "TURSO_URL": url, "DATA_DIR": "data"}
    with forked_keepsake("run", folder=folder, settings=settings) as process:
        process.stdin.write(said)
        process.stdin.close()
        answered = process.stdout.read()
        assert process.wait() == 0
        return answered, process.stderr.read()


def test_after_its_disk_was_wiped_the_bot_remembers(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    with turso_server(tmp_path) as server:
        _, told = chat(folder, server.url, "My sister Rosa is a pilot.\n")
        assert "The mirror holds nothing yet." in told
        shutil.rmtree(folder)
        answered, told = chat(folder, server.url, "What is my sister?\n")
    assert "came back from the mirror" in told
    assert "Rosa is a pilot" in answered
