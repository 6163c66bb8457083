"""Which processes work on a database, so that what one has claimed is taken over once it is gone, and not before.

A process holds a lock on a small file beside the database. The operating system lets go of it however the process
ends, so that a lock that can be taken belongs to nobody.

Invariant: a process is never taken for dead while it lives; where it cannot be told, it is taken for alive.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import Self

_PREFIX = "process"


class ProcessLock:
    """The sign of life of one process. Made by ``of``.

    Args:
        name: no other process has it.
        database: the file beside which the lock stands; None where there is none.

    Attributes:
        name: as given.
    """

    def __init__(self, name: str, database: Path | None) -> None:
        self.name = name
        self._database = database
        self._file: int | None = None

    @classmethod
    def of(cls, database: Path | None) -> Self:
        """Show that this process works on a database, and clear away what dead ones left beside it.

        Args:
            database: its file; None for one without.
        """
        lock = cls(secrets.token_hex(8), database)
        if database is not None:
            for left in database.parent.glob(f"{database.name}.{_PREFIX}-*"):
                lock.is_alive(left.name.rpartition("-")[2])
            lock._file = os.open(lock._path(lock.name), os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(lock._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock

    @classmethod
    def in_use(cls, database: Path) -> bool:
        """Whether any process works on a database."""
        looking = cls("", database)
        found = database.parent.glob(f"{database.name}.{_PREFIX}-*")
        return any([looking.is_alive(left.name.rpartition("-")[2]) for left in found])

    def is_alive(self, name: str) -> bool:
        """Whether a process of that name still works on the database."""
        if self._database is None or name == self.name:
            return True
        path = self._path(name)
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except OSError:
            return True
        finally:
            os.close(file)
        return False

    def is_alone(self) -> bool:
        """Whether no other process works on the database."""
        if self._database is None:
            return False
        left = self._database.parent.glob(f"{self._database.name}.{_PREFIX}-*")
        others = {path.name.rpartition("-")[2] for path in left} - {self.name}
        return not any(map(self.is_alive, others))

    def release(self) -> None:
        """The process ends. Safe to call twice."""
        if self._file is not None:
            self._path(self.name).unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def _path(self, name: str) -> Path:
        assert self._database is not None
        return self._database.with_name(f"{self._database.name}.{_PREFIX}-{name}")
