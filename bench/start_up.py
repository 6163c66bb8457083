"""How long a person waits for the first prompt of ``keepsake chat``, and for the first answer after it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import perf_counter

_NAME = "bench"
_QUESTION = "Where did Anna move the telescope?\n"
_ONLY = ("PATH", "PYTHONPATH", "HOME", "LANG", "TERM")  # no key, no token, no other setting


def start_up(folder: Path) -> tuple[float, float]:
    """Start the program on a terminal of its own.

    Args:
        folder: the data folder.

    Returns:
        Seconds from the command to the prompt, and from the first line typed to the next prompt.

    Raises:
        RuntimeError: the program ended; the text is what it said.
    """
    ours, theirs = pty.openpty()
    environment = {name: os.environ[name] for name in _ONLY if name in os.environ}
    command = [sys.executable, "-m", "bot", "chat", "--as", _NAME, "--data-dir", str(folder)]
    began = perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        prompt = f"{_NAME}> ".encode()
        _read_until(ours, prompt)
        prompted = perf_counter()
        os.write(ours, _QUESTION.encode())
        _read_until(ours, prompt)
        answered = perf_counter()
        os.write(ours, b"\x04")
        with suppress(OSError):
            while os.read(ours, 4_096):
                pass
        process.wait(timeout=30)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return prompted - began, answered - prompted


def _read_until(terminal: int, wanted: bytes) -> None:
    seen = b""
    while wanted not in seen:
        try:
            seen += os.read(terminal, 4_096)
        except OSError as error:  # Linux tells the end of a terminal's other side as an error
            raise RuntimeError(seen.decode(errors="replace")) from error
