"""Turso's own sync server on this machine, for tests of the mirror.

The binary comes from npm and is kept in a folder of the user's cache; where npm is absent, tests that need it are
skipped.
"""

from __future__ import annotations

import fcntl
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_PACKAGE = "@tursodatabase/cli-linux-x64-gnu"
_VERSION = "0.7.0"
_CACHE = Path.home() / ".cache" / "keepsake-tests"
_INSTALL_SECONDS = 90
_START_SECONDS = 30


@dataclass(slots=True, kw_only=True)
class TursoServer:
    """A server that can be stopped and started again on its file.

    Attributes:
        file: its database.
        port: where it listens.
    """

    file: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What TURSO_URL is set to."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen, and return once it does."""
        self._process = subprocess.Popen(
            [turso_binary(), str(self.file), "--sync-server", f"127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                assert self._process.poll() is None, "the server ended"
                assert time.monotonic() < until, "the server does not listen"
                time.sleep(0.01)  # another program, whose one word comes before it listens
            else:
                return

    def stop(self) -> None:
        """Be gone. What was pushed is on disk."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def turso_binary() -> Path:
    """The server, installed where it is missing; skips the test where there is no npm."""
    folder = _CACHE / f"turso-{_VERSION}"
    binary = folder / "node_modules" / _PACKAGE / "tursodb"
    if binary.exists():
        return binary
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("Turso's sync server comes from npm, which is not installed here.")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may need it at once
        if not binary.exists():
            command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), f"{_PACKAGE}@{_VERSION}"]
            with (folder / "npm.log").open("wb") as log:  # no pipe: what npm starts may outlive it
                subprocess.run(command, check=True, stdout=log, stderr=log, timeout=_INSTALL_SECONDS)
    return binary


@contextmanager
def turso_server(folder: Path) -> Iterator[TursoServer]:
    """A server on an empty database in a folder."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = TursoServer(file=folder / "hosted.db", port=port)
    server.start()
    try:
        yield server
    finally:
        server.stop()
