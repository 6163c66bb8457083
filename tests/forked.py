"""``keepsake`` as a process of its own, forked from one that has imported the program: imports are most of a start.

Invariant: the process has the arguments, the folder, the environment and the streams that it is given, and nothing of
the tester's; it runs the program's own entry point, and can be killed as any other. It does not outlive its tester.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import TextIO, cast

_WARM = ["tests.warm"]
_PATIENCE = 60.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked:
    """A process. Started by ``forked_keepsake``.

    Attributes:
        stdin: what it reads; closed, it has read everything.
        stdout, stderr: what it writes.
    """

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    _process: BaseProcess

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def sentinel(self) -> int:
        """A file that can be read once the process has ended."""
        return self._process.sentinel

    @property
    def returncode(self) -> int | None:
        """Its exit code, or less the number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL, which it cannot notice."""
        self._process.kill()

    def wait(self) -> int:
        """Wait until it has ended; its exit code. Raises AssertionError where it does not end."""
        self._process.join(_PATIENCE)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode


@contextmanager
def forked_keepsake(*arguments: str, folder: Path, settings: Mapping[str, str]) -> Iterator[Forked]:
    """Run ``keepsake`` with these arguments; killed at the end of the context where it still runs.

    Args:
        arguments: its command and options.
        folder: where it is started.
        settings: its environment.
    """
    server = get_context("forkserver")
    server.set_forkserver_preload(_WARM)
    (its_stdin, stdin), (stdout, its_stdout), (stderr, its_stderr) = (server.Pipe(duplex=False) for _ in range(3))
    streams = (its_stdin, its_stdout, its_stderr)
    process = server.Process(target=_run, args=(arguments, folder, dict(settings), streams))
    process.start()
    for stream in streams:
        stream.close()
    with _file(stdin, "w") as to_it, _file(stdout, "r") as out, _file(stderr, "r") as err:
        try:
            yield Forked(stdin=to_it, stdout=out, stderr=err, _process=process)
        finally:
            process.kill()
            process.join()


def _file(end: Connection, mode: str) -> TextIO:
    file = os.fdopen(os.dup(end.fileno()), mode, encoding="utf-8", buffering=1)
    end.close()
    return cast("TextIO", file)


def _run(
    arguments: tuple[str, ...], folder: Path, environment: dict[str, str], streams: tuple[Connection, ...]
) -> None:
    """What the forked process does."""
    Thread(target=_end_with_the_tester, daemon=True).start()
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115  # as Python opens them
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["keepsake", *arguments]
    from bot.cli import main

    main()


def _end_with_the_tester() -> None:
    # One that hangs would stay, and keep whoever reads what the tests print from its end.
    tester = parent_process()
    assert tester is not None
    tester.join()
    os._exit(1)
