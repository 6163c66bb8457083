"""The register of the devices that share a hosted database, by which it is known when a deletion was told to all.

Of a row that was deleted a mark is left: a version without data, so that every device deletes it too. A device leaves
its word in the register now and then, which says up to which number it has seen the marks of each other one; a mark
that all of them have seen may go. A device that was away for so long that its word is gone may have missed some, and
compares what it has with what is here. The row without a device names the hosted database: who finds another name
speaks to another database.

Invariant: a word is written by its own device alone, and a mark goes with all older versions of its record.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

REGISTER = "mirror_devices"
REGISTER_COLUMNS = "id TEXT PRIMARY KEY, device TEXT NOT NULL, data TEXT, updated_at INTEGER NOT NULL"

_NOBODY = ""
_IS_A_WORD = "device <> '' AND typeof(updated_at) = 'integer'"
_MARKS_AT_ONCE = 500  # in one push

_Numbers = Mapping[str, Mapping[str, int]]
"""Numbers by table and device."""


class Connection(Protocol):
    """To the copy, as its library gives it."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Any:
        """Run a statement."""
        ...

    def commit(self) -> object:
        """Keep what was written."""
        ...


class Register:
    """The register in the copy of a hosted database.

    Args:
        connection: to the copy.
        tables: which may hold marks.
        is_ours: the SQL condition on a row of them that some device of ours wrote.
        beside: for each table, the one in which a record of it may stand too.
    """

    def __init__(
        self, connection: Connection, tables: Sequence[str], *, is_ours: str, beside: Mapping[str, str]
    ) -> None:
        self._connection = connection
        self._tables = tables
        self._is_ours = is_ours
        self._beside = {table: other for table, other in beside.items() if other in tables}

    def read(self) -> dict[str, Any]:
        """What the hosted database is called (``mirror``, None for nothing yet), and when each device left its word
        (``words``, in milliseconds since 1970)."""
        names = self._connection.execute(f"SELECT min(id) FROM {REGISTER} WHERE device = ?", (_NOBODY,)).fetchall()
        words = self._connection.execute(
            f"SELECT device, max(updated_at) FROM {REGISTER} WHERE {_IS_A_WORD} GROUP BY device"
        ).fetchall()
        return {"mirror": names[0][0], "words": dict(words)}  # the least name, since two devices may name it at once

    def write(self, *, mirror: str, device: str, seen: _Numbers, at: int) -> None:
        """Leave a device's word, in the place of the one before.

        Args:
            mirror: what the hosted database is called; it is named so if it has no name.
            device: whose word it is.
            seen: up to which number it has seen the rows of each device.
            at: when, in milliseconds since 1970.
        """
        if self.read()["mirror"] is None:
            self._add(mirror, _NOBODY, None, at)
        known = {table: self._newest_marks(table, seen.get(table, {})) for table in self._tables}
        for (word,) in self._connection.execute(f"SELECT id FROM {REGISTER} WHERE device = ?", (device,)).fetchall():
            self._connection.execute(f"DELETE FROM {REGISTER} WHERE id = ?", (word,))
        said = json.dumps({table: numbers for table, numbers in known.items() if numbers})
        self._add(str(uuid.uuid4()), device, said, at)
        self._connection.commit()

    def tidy(self, *, away_since: int) -> bool:
        """Take devices that are away out of the register, and delete some of the marks that all others have seen.

        Args:
            away_since: a device whose last word is older is away; in milliseconds since 1970.

        Returns:
            whether there may be more to delete.
        """
        words = []
        for word, data, at in self._connection.execute(
            f"SELECT id, data, updated_at FROM {REGISTER} WHERE {_IS_A_WORD}"
        ).fetchall():
            if at < away_since:
                self._connection.execute(f"DELETE FROM {REGISTER} WHERE id = ?", (word,))
            else:
                words.append(_numbers(data))
        room = _MARKS_AT_ONCE
        for table in self._tables:
            seen_by_all = list(self._seen_by_all(table, words))[:room]
            for agent, record, at, key in seen_by_all:
                self._connection.execute(
                    f"DELETE FROM {table} WHERE agent_id = ? AND record = ? AND (updated_at, id) <= (?, ?)",
                    (agent, record, at, key),
                )
                if table in self._beside:
                    self._connection.execute(
                        f"DELETE FROM {self._beside[table]} WHERE agent_id = ? AND record = ? AND updated_at <= ?",
                        (agent, record, at),
                    )
            room -= len(seen_by_all)
        self._connection.commit()
        return room == 0

    def records(self, table: str, agents: Sequence[str]) -> list[tuple[str, str]]:
        """The agents and records of which a table holds anything but marks, of some agents."""
        of_agent = f"SELECT DISTINCT record FROM {table} WHERE agent_id = ? AND data IS NOT NULL AND {self._is_ours}"
        return [
            (agent, record) for agent in agents for (record,) in self._connection.execute(of_agent, (agent,)).fetchall()
        ]

    def _add(self, key: str, device: str, data: str | None, at: int) -> None:
        insertion = f"INSERT INTO {REGISTER} (id, device, data, updated_at) VALUES (?, ?, ?, ?)"
        self._connection.execute(insertion, (key, device, data, at))

    def _newest_marks(self, table: str, seen: Mapping[str, int]) -> dict[str, int]:
        """Up to which number a device has seen the rows of those that have left marks."""
        query = f"SELECT DISTINCT device FROM {table} WHERE data IS NULL AND {self._is_ours}"
        return {origin: seen[origin] for (origin,) in self._connection.execute(query).fetchall() if origin in seen}

    def _seen_by_all(self, table: str, words: Sequence[_Numbers]) -> Iterator[tuple[str, str, int, str]]:
        """The agent, record, date and key of the marks that each word says are seen."""
        query = (
            f"SELECT agent_id, record, updated_at, id, device, seq FROM {table} WHERE data IS NULL AND {self._is_ours}"
        )
        for agent, record, at, key, device, seq in self._connection.execute(query).fetchall():
            if all(word.get(table, {}).get(device, 0) >= seq for word in words):
                yield agent, record, at, key


def _numbers(data: object) -> _Numbers:
    """What a word says; one that somebody else put there says that nothing is seen."""
    try:
        said = json.loads(data) if isinstance(data, str) else {}
        return {table: {origin: int(seq) for origin, seq in own.items()} for table, own in said.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
