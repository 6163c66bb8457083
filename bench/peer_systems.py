"""The memory systems that Keepsake is measured beside, each behind the same few calls, and a plain reference.

They run in an environment of their own, and know nothing of Keepsake's packages.

Invariant: a system is used through its own public calls; only the filling before the measurement may take the bulk
call of its store.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

DIMENSIONS = 384
_CANDIDATES = 200  # of the plain reference, by words and by likeness
Embed = Callable[[str], "np.ndarray[Any, Any]"]


class System(Protocol):
    """A memory of many people. ``key`` is the caller's own name of a record."""

    lacks: str  # of what it could do, when there is no network

    def fill(self, records: Sequence[tuple[str, str, str]]) -> None:
        """Store records (person, key, text) in bulk."""

    def add(self, person: str, key: str, text: str) -> None:
        """Store one record."""

    def search(self, person: str, query: str, limit: int) -> list[str]:
        """The keys of the best records of a person, best first."""

    def delete(self, person: str, key: str) -> None:
        """Delete one record."""

    def settle(self) -> None:
        """Wait for what is done in the background."""

    def close(self) -> None:
        """Let go of everything."""


class _Mem0:
    """mem0 without its model: texts are stored as they are (``infer=False``)."""

    lacks = ""
    provider = ""
    _key = "bench_key"

    def __init__(self, folder: Path, embed: Embed) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0"), "OPENAI_API_KEY": "unused"}
        from mem0 import Memory

        store = {"path": str(folder / self.provider), "collection_name": "bench", "embedding_model_dims": DIMENSIONS}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": self.provider, "config": store | self._options()},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._embed = embed
        self._memory.embedding_model = self  # in place of the one that would ask a service
        self._ids: dict[str, str] = {}

    def _options(self) -> dict[str, Any]:
        return {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """What mem0 asks of an embedding model."""
        vector: list[float] = self._embed(text).tolist()
        return vector

    def fill(self, records: Sequence[tuple[str, str, str]]) -> None:
        now = datetime.now(UTC).isoformat()
        for start in range(0, len(records), 1_000):
            some = records[start : start + 1_000]
            ids = [str(uuid.uuid4()) for _ in some]
            payloads = [
                {
                    "data": text,
                    "hash": hashlib.md5(text.encode()).hexdigest(),
                    "created_at": now,
                    "updated_at": now,
                    "user_id": person,
                    "role": "user",
                    self._key: key,
                }
                for person, key, text in some
            ]
            self._memory.vector_store.insert(
                vectors=[self.embed(text) for _, _, text in some], payloads=payloads, ids=ids
            )
            self._ids |= {key: memory_id for (_, key, _), memory_id in zip(some, ids, strict=True)}

    def add(self, person: str, key: str, text: str) -> None:
        [added] = self._memory.add(text, user_id=person, metadata={self._key: key}, infer=False)["results"]
        self._ids[key] = added["id"]

    def search(self, person: str, query: str, limit: int) -> list[str]:
        found = self._memory.search(query, top_k=limit, filters={"user_id": person}, threshold=0.0)["results"]
        return [one["metadata"][self._key] for one in found]

    def delete(self, person: str, key: str) -> None:
        self._memory.delete(self._ids.pop(key))

    def settle(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self._memory.close()


class Mem0Faiss(_Mem0):
    """mem0 on its FAISS store."""

    provider = "faiss"
    lacks = "a model, which would learn facts; full text, which this store has not"

    def _options(self) -> dict[str, Any]:
        return {"distance_strategy": "cosine"}


class Mem0Qdrant(_Mem0):
    """mem0 on Qdrant in the same process."""

    provider = "qdrant"
    lacks = "a model, which would learn facts; full text, whose encoder is downloaded; Qdrant's server, which is faster"

    def _options(self) -> dict[str, Any]:
        return {"on_disk": True}


class LanggraphSqlite:
    """langgraph's SqliteStore with its vector search."""

    lacks = "full text, which it has not"

    def __init__(self, folder: Path, embed: Embed) -> None:
        import pysqlite3
        from langgraph.store.sqlite import SqliteStore

        # The vectors need a SQLite that loads extensions, which the Python they run on may lack.
        connection = pysqlite3.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
        self._connection = connection
        self._store = SqliteStore(
            connection,
            index={
                "dims": DIMENSIONS,
                "embed": lambda texts: [embed(text).tolist() for text in texts],
                "text_fields": ["text"],
            },
        )
        self._store.setup()

    def fill(self, records: Sequence[tuple[str, str, str]]) -> None:
        from langgraph.store.base import PutOp

        for start in range(0, len(records), 500):
            some = records[start : start + 500]
            self._store.batch([PutOp(namespace=(person,), key=key, value={"text": text}) for person, key, text in some])

    def add(self, person: str, key: str, text: str) -> None:
        self._store.put((person,), key, {"text": text})

    def search(self, person: str, query: str, limit: int) -> list[str]:
        return [item.key for item in self._store.search((person,), query=query, limit=limit)]

    def delete(self, person: str, key: str) -> None:
        self._store.delete((person,), key)

    def settle(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self._connection.close()


class PlainReference:
    """What one would write in an afternoon: SQLite with FTS5, a flat index for each person, both scores added up."""

    lacks = "whatever goes beyond words and likeness"

    def __init__(self, folder: Path, embed: Embed) -> None:
        self._embed = embed
        self._connection = sqlite3.connect(folder / "plain.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, key TEXT UNIQUE, vector BLOB)")
        self._connection.execute("CREATE VIRTUAL TABLE words USING fts5 (owner, body, tokenize = 'porter')")
        self._indexes: dict[str, Any] = {}

    def fill(self, records: Sequence[tuple[str, str, str]]) -> None:
        self._connection.execute("BEGIN")
        for person, key, text in records:
            self._store(person, key, text)
        self._connection.execute("COMMIT")

    def add(self, person: str, key: str, text: str) -> None:
        self.fill([(person, key, text)])

    def search(self, person: str, query: str, limit: int) -> list[str]:
        vector = self._embed(query).reshape(1, -1)
        likeness, ids = self._index(person).search(vector, _CANDIDATES)
        scores = {int(one): 2.0 * float(score) for one, score in zip(ids[0], likeness[0], strict=True) if one >= 0}
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", query.lower())))
        found = self._connection.execute(
            "SELECT rowid, -bm25(words, 0.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score DESC LIMIT ?",
            (f"owner : {_owner(person)} AND body : ({words})", _CANDIDATES),
        ).fetchall()
        best = max((score for _, score in found), default=1.0)
        for one, score in found:
            scores[one] = scores.get(one, 0.0) + score / best
        top = sorted(scores, key=lambda one: -scores[one])[:limit]
        keys = dict(
            self._connection.execute(f"SELECT id, key FROM records WHERE id IN ({','.join('?' * len(top))})", top)
        )
        return [keys[one] for one in top]

    def delete(self, person: str, key: str) -> None:
        [record_id] = self._connection.execute("SELECT id FROM records WHERE key = ?", (key,)).fetchone()
        self._connection.execute("BEGIN")
        self._connection.execute("DELETE FROM words WHERE rowid = ?", (record_id,))
        self._connection.execute("DELETE FROM records WHERE id = ?", (record_id,))
        self._connection.execute("COMMIT")
        self._index(person).remove_ids(np.array([record_id], dtype=np.int64))

    def settle(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        self._connection.close()

    def _store(self, person: str, key: str, text: str) -> None:
        vector = self._embed(text)
        record_id = self._connection.execute(
            "INSERT INTO records (key, vector) VALUES (?, ?)", (key, vector.tobytes())
        ).lastrowid
        self._connection.execute(
            "INSERT INTO words (rowid, owner, body) VALUES (?, ?, ?)", (record_id, _owner(person), text)
        )
        self._index(person).add_with_ids(vector.reshape(1, -1), np.array([record_id], dtype=np.int64))

    def _index(self, person: str) -> Any:
        import faiss

        if person not in self._indexes:
            self._indexes[person] = faiss.IndexIDMap2(faiss.IndexFlatIP(DIMENSIONS))
        return self._indexes[person]


def _owner(person: str) -> str:
    return "o" + hashlib.blake2b(person.encode(), digest_size=8).hexdigest() + "0"


PEERS: dict[str, Callable[[Path, Embed], System]] = {
    "mem0, FAISS": Mem0Faiss,
    "mem0, Qdrant": Mem0Qdrant,
    "langgraph SqliteStore": LanggraphSqlite,
    "plain reference": PlainReference,
}
