"""A mirror in a file that several devices open, in place of the worker and a server between them.

What a device appends reaches the file when it pushes, and what stands there is seen at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from memory.errors import MirrorUnavailable
from memory.mirror.process import MirrorAddress, MirrorProcess
from memory.mirror.replica import Replica, Row


class SharedMirror(MirrorProcess):
    """The mirror as one device sees it.

    Attributes:
        breaks: whether the next push fails, with nothing of it done.
    """

    def __init__(self, file: Path, tables: Sequence[str]) -> None:
        super().__init__(MirrorAddress(url="", folder=file.parent), tables)
        self._connection = sqlite3.connect(file)
        self._replica = Replica(cast("Any", self._connection), tables)
        self._replica.make_tables()
        self._to_push: list[tuple[str, Sequence[Row]]] = []
        self.breaks = False

    async def exchange(self, *, pull: bool = True, push: bool = True) -> None:
        """Do what was asked since the last push."""
        if not push:
            return
        if self.breaks:
            self.breaks = False
            raise MirrorUnavailable("The mirror cannot be reached.")
        for asked, rows in self._to_push:
            self._replica.append(rows) if asked == "append" else self._replica.erase(rows)
        self._to_push.clear()

    async def append(self, rows: Sequence[Row]) -> int:
        """Keep rows for the next push."""
        self._to_push.append(("append", rows))
        return len(rows)

    async def erase(self, agents: Sequence[Row]) -> None:
        """Keep erasures for the next push."""
        self._to_push.append(("erase", agents))

    async def since(self, table: str, seen: Mapping[str, int], *, limit: int) -> list[Row]:
        """As the worker answers."""
        return self._replica.since(table, seen, limit=limit)

    async def register(self) -> dict[str, Any]:
        """As the worker answers."""
        with self._replica.register() as register:
            return register.read()

    async def write_word(self, **word: Any) -> None:
        """Leave a word at once."""
        with self._replica.register() as register:
            register.write(**word)

    async def tidy(self, *, away_since: int) -> bool:
        """Delete marks at once."""
        with self._replica.register() as register:
            return register.tidy(away_since=away_since)

    async def records(self, table: str, agents: Sequence[str]) -> list[tuple[str, str]]:
        """As the worker answers."""
        with self._replica.register() as register:
            return register.records(table, agents)

    async def forget_copy(self) -> None:
        """There is no copy."""

    async def close(self) -> None:
        """Close the file."""
        self._connection.close()
