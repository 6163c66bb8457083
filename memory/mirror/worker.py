"""The process that works on the mirror's copy: reads requests from its input, writes answers to its output.

A push holds the interpreter for tens of milliseconds and waits for a server without an end, so it has a process of its
own, which its parent kills when it takes too long.

Invariant: a request is answered by one frame, with a value or with one plain sentence. The process ends when its parent
does, and not by a signal that a terminal or host sends to all processes at once: its parent still needs it then. A
frame is the length of its JSON in four bytes, and the JSON.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import IO, Any

from memory.errors import MirrorUnavailable
from memory.mirror.replica import Replica, opened

_SILENCE_SECONDS = 30.0  # of a server, after which a request to it has failed
_NICENESS = 10


class Worker:
    """Answers requests, in order."""

    def __init__(self) -> None:
        self._replica: Replica | None = None
        self._lock: IO[str] | None = None

    def answer(self, request: dict[str, Any]) -> Any:
        """What a request asks for. Raises MirrorUnavailable."""
        match request.pop("do"):
            case "open":
                return self._open(**request)
            case "exchange" | "append" | "since" | "unseen" | "erase" as what:
                return getattr(self._opened, what)(**request)
            case "read" | "write" | "tidy" | "records" as what:
                with self._opened.register() as register:
                    return getattr(register, what)(**request)
        raise AssertionError("no such request")

    @property
    def _opened(self) -> Replica:
        if self._replica is None:
            raise MirrorUnavailable("The mirror is not open.")
        return self._replica

    def _open(self, path: str, url: str, token: str | None, tables: list[str]) -> None:
        folder = Path(path).parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise MirrorUnavailable("Another process works on the mirror. Try again once it is done.") from error
        self._replica = opened(Path(path), url=url, token=token, tables=tables)


def write_frame(stream: IO[bytes], value: Any) -> None:
    """Write a frame."""
    stream.write(frame_of(value))
    stream.flush()


def frame_of(value: Any) -> bytes:
    """A value as a frame."""
    data = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return len(data).to_bytes(4, "big") + data


def read_frame(stream: IO[bytes]) -> Any:
    """The next frame; None at the end."""
    header = stream.read(4)
    return json.loads(stream.read(int.from_bytes(header, "big"))) if len(header) == 4 else None


def main() -> None:
    """Answer until the input ends."""
    for told_to_stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(told_to_stop, signal.SIG_IGN)
    socket.setdefaulttimeout(_SILENCE_SECONDS)
    os.nice(_NICENESS)
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    worker = Worker()
    while True:
        request = requests.get()
        try:
            answer = {"value": worker.answer(request)}
        except MirrorUnavailable as error:
            answer = {"error": str(error)}
        write_frame(sys.stdout.buffer, answer)


def _read(requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    while (request := read_frame(sys.stdin.buffer)) is not None:
        requests.put(request)
    os._exit(0)  # also out of a push: our parent is gone, and the copy is a cache


if __name__ == "__main__":
    main()
