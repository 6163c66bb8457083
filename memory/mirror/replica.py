"""The local copy of the hosted database: appends rows, exchanges them with the server, and tells what is new.

Each mirrored store has a table of its own. Rows are appended under random keys and never changed, since of two devices
that change the same row the last one to push wins whatever the statement says. Several rows of one record are versions
of it: the newest counts, and whoever appends one deletes those that it has seen. What the archive holds stands in a
table that other programs read too, under keys that follow from the record.

Invariant: nothing but this module knows the library of Turso; it runs in a process of its own, which may be killed at
any instant.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.errors import MirrorUnavailable
from memory.mirror.register import REGISTER, REGISTER_COLUMNS, Register

if TYPE_CHECKING:
    from turso.lib_sync import ConnectionSync

CRITICAL, COLD, ERASED = "critical_state", "cold_memories", "erased_agents"
"""The tables whose columns are fixed; all others are named after their store."""

ENTRIES = "mirrored_entries"
_BESIDE = {COLD: ENTRIES, ENTRIES: COLD}  # a record moves from one to the other, and may be in both after a race

_LARGEST_LOG = 16 * 2**20

_KEY = "id TEXT PRIMARY KEY, agent_id TEXT NOT NULL"
_ORIGIN = "device TEXT NOT NULL, seq INTEGER NOT NULL"
_COLUMNS = {
    CRITICAL: f"{_KEY}, data TEXT, updated_at INTEGER NOT NULL, record TEXT NOT NULL, {_ORIGIN}",
    COLD: (
        f"{_KEY}, text TEXT NOT NULL, category TEXT NOT NULL, importance REAL DEFAULT 0.5, "
        f"created_at INTEGER NOT NULL, access_count INTEGER DEFAULT 0, data TEXT, updated_at INTEGER NOT NULL, "
        f"record TEXT NOT NULL, {_ORIGIN}"
    ),
}
_OF_A_STORE = f"{_KEY}, data TEXT, updated_at INTEGER NOT NULL, record TEXT NOT NULL, {_ORIGIN}"
_BEFORE_AUDIENCE = "_2f"  # a slash, in an agent's name: the slug of a scope
_SPLIT_OFF = ("text", "category", "importance", "created_at", "access_count")  # columns of the archive's own

_IS_OURS = " AND ".join(
    f"typeof({column}) = '{kind}'"
    for column, kind in (("agent_id", "text"), ("record", "text"), ("seq", "integer"), ("updated_at", "integer"))
)
"""Leaves out rows that somebody else put there by hand, in whose columns anything may stand."""

Row = dict[str, Any]
"""A version of a record: ``table``, ``agent_id``, ``record``, ``device``, ``seq``, ``updated_at`` in milliseconds, and
``data``: its values, or None where it was deleted; also ``beside``, a table from which it has moved here."""


class Replica:
    """An open copy. Made by ``opened``.

    Args:
        connection: of the library, or one like it.
        tables: the tables of all stores.
        log: the copy's write-ahead log; None for none.
    """

    def __init__(self, connection: ConnectionSync, tables: Sequence[str], *, log: Path | None = None) -> None:
        self._connection = connection
        self._log = log
        self._tables = tables
        self._columns = {table: _COLUMNS.get(table, _OF_A_STORE) for table in (*tables, ERASED)}
        self._register = Register(connection, tables, is_ours=_IS_OURS, beside=_BESIDE)

    def exchange(self, *, pull: bool = True, push: bool = True) -> None:
        """Fetch what others have pushed, then push what was appended. Raises MirrorUnavailable."""
        with _said_plainly():
            if pull:
                self._connection.pull()
            self.make_tables()
            if push:
                self._connection.push()
            if self._log is not None and self._log.exists() and self._log.stat().st_size > _LARGEST_LOG:
                self._connection.checkpoint()  # nothing else ever empties it

    def make_tables(self) -> None:
        """Make the tables that are missing."""
        found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        there = {name for (name,) in found}
        if REGISTER not in there:
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS {REGISTER} ({REGISTER_COLUMNS})")
        for table, columns in self._columns.items():
            if table in there:
                continue
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            indexes = {"record": "agent_id, record", "origin": "device, seq"}
            if table == COLD:
                indexes |= {"category": "agent_id, category", "date": "agent_id, created_at"}
            for name, indexed in indexes.items():
                self._connection.execute(f"CREATE INDEX IF NOT EXISTS {table}_by_{name} ON {table} ({indexed})")
        self._connection.commit()

    def append(self, rows: Sequence[Row]) -> int:
        """Append versions of records, to be pushed; how many are news here."""
        with _said_plainly():
            news = sum(self._append(row) for row in rows)
            self._connection.commit()
        return news

    def since(self, table: str, seen: Mapping[str, int], *, limit: int) -> list[Row]:
        """The newest versions that a device has not seen yet, in the order of their numbers.

        Args:
            table: which.
            seen: by device, the number up to which its rows are known.
            limit: of rows.
        """
        same = "other.agent_id = mine.agent_id AND other.record = mine.record"
        later = [
            f"SELECT 1 FROM {table} AS other WHERE {same} AND (other.updated_at, other.id) > (mine.updated_at, mine.id)"
        ]
        if _BESIDE.get(table) in self._tables:
            later.append(f"SELECT 1 FROM {_BESIDE[table]} AS other WHERE {same} AND other.updated_at > mine.updated_at")
        newest = (
            f"SELECT * FROM {table} AS mine WHERE device = ? AND seq > ? AND {_IS_OURS} "
            f"AND {' AND '.join(f'NOT EXISTS ({query})' for query in later)} ORDER BY seq LIMIT ?"
        )
        with _said_plainly():
            found = [
                one
                for device in self._devices(table)
                for one in self._found(newest, (device, seen.get(device, 0), limit))
            ]
            found = sorted(found, key=lambda one: int(one["seq"]))[:limit]
            if table != ERASED:
                self._leave_out_erased(table, found)
        return [_row(table, one) for one in found]

    def unseen(self, seen: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
        """How many rows of each table a device has not seen."""
        with _said_plainly():
            return {table: self._count(table, seen.get(table, {})) for table in self._columns}

    def erase(self, agents: Sequence[Row]) -> None:
        """Delete what is older than the erasure of its agent, and leave word of it for other devices.

        Numbers of two devices do not compare, since their clocks differ. So of an agent that is erased the rows of a
        device count from its own word on that it has erased it too.

        Args:
            agents: rows of the table of erased agents, each the word of one device; ``agent_id`` is one of an agent's
                ``digests_of``.
        """
        with _said_plainly():
            for table in self._tables:
                self._forget(table, agents)
            for row in agents:
                self._append(row)
            self._connection.commit()

    @contextmanager
    def register(self) -> Iterator[Register]:
        """The register of the devices, while it is read or written. Raises MirrorUnavailable."""
        with _said_plainly():
            yield self._register

    def close(self) -> None:
        """Close the files."""
        self._connection.close()

    def _forget(self, table: str, erasures: Sequence[Row]) -> None:
        query = f"SELECT DISTINCT agent_id FROM {table} WHERE {_IS_OURS}"
        agents: defaultdict[str, list[str]] = defaultdict(list)
        for (agent,) in self._connection.execute(query).fetchall():
            for digest in digests_of(agent):
                agents[digest].append(agent)
        for row in erasures:
            old = "device = ? AND seq < ?" if follows(row) else "(device <> ? OR seq < ?)"
            for agent in agents.get(row["agent_id"], ()):
                origin = (agent, row["device"], row["seq"])
                self._connection.execute(f"DELETE FROM {table} WHERE agent_id = ? AND {old}", origin)

    def _append(self, row: Row) -> bool:
        table, record = row["table"], (row["agent_id"], row["record"])
        query = f"SELECT id, data FROM {table} WHERE agent_id = ? AND record = ? ORDER BY updated_at, id"
        known = self._connection.execute(query, record).fetchall()
        moved = "beside" in row and self._leave(row["beside"], record)
        values = _values(table, row)
        is_known = known[-1][1] == values["data"] if known else values["data"] is None
        if is_known and not moved:
            return False
        for version, _ in known:
            self._connection.execute(f"DELETE FROM {table} WHERE id = ?", (version,))
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self._connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))
        return True

    def _leave_out_erased(self, table: str, found: Sequence[Row]) -> None:
        """Delete what a device told before it knew that the agent is erased."""
        query = f"SELECT agent_id, device, max(seq) FROM {ERASED} WHERE {_IS_OURS} GROUP BY agent_id, device"
        words = {(agent, device): seq for agent, device, seq in self._connection.execute(query).fetchall()}
        erased = {agent for agent, _ in words}
        if not erased:
            return
        digests = {agent: erased.intersection(digests_of(agent)) for agent in {one["agent_id"] for one in found}}
        for one in found:
            said = [words.get((digest, one["device"])) for digest in digests[one["agent_id"]]]
            if any(word is None or one["seq"] < word for word in said):
                self._connection.execute(f"DELETE FROM {table} WHERE id = ?", (one["id"],))
                one["data"] = None
        self._connection.commit()

    def _devices(self, table: str) -> Iterator[str]:
        """The devices with rows in a table, by one step in its index for each: a large table is not walked for it."""
        device = ""
        query = f"SELECT device FROM {table} WHERE device > ? ORDER BY device LIMIT 1"
        while found := self._connection.execute(query, (device,)).fetchall():
            [(device,)] = found
            yield device

    def _count(self, table: str, seen: Mapping[str, int]) -> int:
        query = f"SELECT count(*) AS n FROM {table} WHERE device = ? AND seq > ?"
        return sum(int(self._found(query, (device, seen.get(device, 0)))[0]["n"]) for device in self._devices(table))

    def _leave(self, table: str, record: tuple[str, str]) -> bool:
        """Delete a record that has moved from a table; whether it was there."""
        query = f"SELECT id FROM {table} WHERE agent_id = ? AND record = ?"
        versions = self._connection.execute(query, record).fetchall()
        for version in versions:
            self._connection.execute(f"DELETE FROM {table} WHERE id = ?", tuple(version))
        return bool(versions)

    def _found(self, query: str, values: Sequence[Any]) -> list[Row]:
        cursor = self._connection.execute(query, tuple(values))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, found, strict=True)) for found in cursor.fetchall()]


def opened(path: Path, *, url: str, token: str | None, tables: Sequence[str]) -> Replica:
    """Open the copy; where there is none it is fetched, and where it is damaged it is fetched anew.

    Args:
        path: its file; others stand beside it.
        url: ``https://``, ``libsql://``, or ``http://`` on this machine.
        token: what the server knows us by.
        tables: those of the stores.

    Raises:
        MirrorUnavailable: the server cannot be reached, or refuses us.
    """
    from turso import sync

    path.parent.mkdir(parents=True, exist_ok=True)
    with _said_plainly():
        try:
            connection = sync.connect(str(path), remote_url=url, auth_token=token, client_name="keepsake")
        except sync.DatabaseError:
            remove_replica(path)
            connection = sync.connect(str(path), remote_url=url, auth_token=token, client_name="keepsake")
    return Replica(connection, tables, log=path.with_name(f"{path.name}-wal"))


def remove_replica(path: Path) -> None:
    """Delete the copy and all that stands beside it. Nothing is lost but the time to fetch it."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink(missing_ok=True)


def digests_of(agent: str) -> tuple[str, str]:
    """What an agent is known by once it, or its person, is erased: their names are not kept for that.

    Args:
        agent: the slug of a scope; the audience may be left out for what stands for the person alone.
    """
    person, slash, _ = agent.rpartition(_BEFORE_AUDIENCE)
    return digest_of(agent), digest_of(person + slash)


def digest_of(name: str) -> str:
    """A name that cannot be read."""
    return hashlib.sha256(name.encode()).hexdigest()


def follows(erasure: Row) -> bool:
    """Whether a row of the table of erased agents says that a device followed another one."""
    data = erasure["data"]
    return isinstance(data, dict) and data.get("follows") is True


def _values(table: str, row: Row) -> Row:
    """The columns of a row."""
    data = row["data"]
    split: Row = {}
    if table == COLD and data is not None:
        split = {name: data[name] for name in _SPLIT_OFF}
        split["created_at"] = round(datetime.fromisoformat(split["created_at"]).timestamp() * 1000)
        data = {name: value for name, value in data.items() if name not in _SPLIT_OFF}
        key = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{row['agent_id']} {row['record']}"))
    else:
        key = str(uuid.uuid4())
    text = None if data is None else json.dumps(data, ensure_ascii=False, sort_keys=True)
    origin = {name: row[name] for name in ("agent_id", "updated_at", "record", "device", "seq")}
    return {"id": key, **origin, **split, "data": text}


def _row(table: str, found: Row) -> Row:
    """The inverse of ``_values``; of a row that is none of ours the data are an empty text, which nothing takes."""
    try:
        data = None if found["data"] is None else json.loads(found["data"])
        if table == COLD and data is not None:
            data |= {name: found[name] for name in _SPLIT_OFF}
            data["created_at"] = datetime.fromtimestamp(found["created_at"] / 1000, UTC).isoformat()
    except (ValueError, TypeError, OverflowError, RecursionError):
        data = ""
    origin = {name: found[name] for name in ("agent_id", "updated_at", "record", "device", "seq")}
    return {"table": table, **origin, "data": data}


@contextmanager
def _said_plainly() -> Iterator[None]:
    from turso import Error

    try:
        yield
    except Error as error:
        raise MirrorUnavailable(f"The mirror cannot be used: {error}. Check TURSO_URL and TURSO_AUTH_TOKEN.") from error
