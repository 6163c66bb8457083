"""Keepsake behind the calls that bench/peer_systems.py puts its peers behind.

Invariant: records go in as messages of conversations and come back through the public search, late interaction
included; the vectors alone are known beforehand.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeVar

from stand_ins import InstantModel
from synthetic_history import SyntheticEmbedder

from bot.logs import configure_logs
from memory.database import Transaction
from memory.exchange import Place
from memory.messages import user_message
from memory.parameters import MemoryParameters
from memory.ports import SystemClock, Vectors
from memory.records import EvictionReason, NewMessage, Session, StoredMessage
from memory.system import open_memory
from memory.tokens import TiktokenCounter

_Result = TypeVar("_Result")


class KeepsakeSystem:
    """Keepsake with everything that it does by default."""

    lacks = "a model, which would learn facts"

    def __init__(self, folder: Path, embed: Callable[[str], Vectors]) -> None:
        configure_logs("ERROR")
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self._sessions: dict[str, tuple[Place, Session]] = {}
        self._ids: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        embedder = self._run(SyntheticEmbedder.from_real())
        self._system = self._run(
            self._stack.enter_async_context(
                open_memory(
                    database_url=f"sqlite:///{folder}/keepsake.db",
                    embedder=embedder,
                    counter=TiktokenCounter(),
                    memory_model=InstantModel(),
                    parameters=MemoryParameters(),
                    clock=SystemClock(),
                )
            )
        )

    def fill(self, records: Sequence[tuple[str, str, str]]) -> None:
        """Store records in bulk."""
        of: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for person, key, text in records:
            of[person].append((key, text))
        for person, items in of.items():
            self._run(self._append(person, items))

    def add(self, person: str, key: str, text: str) -> None:
        """Store one record."""
        self._run(self._append(person, [(key, text)]))

    def search(self, person: str, query: str, limit: int) -> list[str]:
        """The keys of the best records of a person, best first."""
        hits = self._run(self._system.search(f"console:{person}", query, limit=limit))
        return [self._keys[message_id] for hit in hits for message_id in hit.message_ids]

    def delete(self, person: str, key: str) -> None:
        """Delete one record."""
        self._run(self._remove(person, self._ids.pop(key)))

    def settle(self) -> None:
        """Wait until everything is embedded."""
        self._run(self._system.embedded())

    def close(self) -> None:
        """Let go of everything."""
        self._run(self._stack.aclose())
        self._runner.close()

    def _run(self, work: Awaitable[_Result]) -> _Result:
        async def wait() -> _Result:
            return await work

        # Not by the runner's own ``run``, which sets up the handling of Ctrl-C each time.
        return self._runner.get_loop().run_until_complete(wait())

    async def _append(self, person: str, items: Sequence[tuple[str, str]]) -> None:
        now = SystemClock().now()
        said = [NewMessage(message=user_message(text), author="Ann", sent_at=now) for _, text in items]

        async def append(tx: Transaction) -> list[StoredMessage]:
            place, session = await self._session(person, tx)
            return await self._system.stores.recall.append(
                place.scope, tx, session=session, messages=said, evicted=EvictionReason.IMPORTED, at=now
            )

        stored = await self._system.write(append)  # as a conversation stores what is said
        for (key, _), message in zip(items, stored, strict=True):
            self._ids[key] = message.id
            self._keys[message.id] = key

    async def _session(self, person: str, tx: Transaction) -> tuple[Place, Session]:
        if person not in self._sessions:
            name = f"console:{person}"
            place = self._system.conversation(person=name, audience="dm", conversation=f"{name}:dm").place
            session = await self._system.stores.sessions.start(
                place.scope, tx, conversation=place.conversation, community=None, at=SystemClock().now()
            )
            self._sessions[person] = place, session
        return self._sessions[person]

    async def _remove(self, person: str, message_id: int) -> None:
        place, _ = self._sessions[person]
        recall = self._system.stores.recall
        await self._system.write(lambda tx: recall.remove(place.scope, tx, message_ids=[message_id]))
