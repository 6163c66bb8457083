"""The mirror's worker as the program sees it: started when first needed, killed when it takes too long.

Invariant: every call ends within its time. A worker that is gone, for whatever reason, is started anew by the next
call; one that broke down on its copy finds the copy deleted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from memory.errors import MirrorUnavailable
from memory.mirror.replica import Row, remove_replica
from memory.mirror.worker import frame_of

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorAddress:
    """Where the mirror is, and what goes there.

    Attributes:
        url: of the hosted database.
        token: what it knows us by.
        folder: where the copy is.
        with_messages: whether what was said goes there word for word.
        seconds: how long a call may take; to fetch everything for the first time may take ten times as long.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    folder: Path
    with_messages: bool = False
    seconds: float = 60.0


class MirrorProcess:
    """Talks to the worker.

    Args:
        address: where the mirror is.
        tables: of the mirrored stores.
    """

    def __init__(self, address: MirrorAddress, tables: Sequence[str]) -> None:
        self._path = address.folder / "replica.db"
        self._open = {
            "do": "open",
            "path": str(self._path),
            "url": address.url,
            "token": address.token,
            "tables": list(tables),
        }
        self._seconds = address.seconds
        self._process: asyncio.subprocess.Process | None = None
        self._asking = asyncio.Lock()

    async def exchange(self, *, pull: bool = True, push: bool = True) -> None:
        """See ``Replica.exchange``. Raises MirrorUnavailable, as all calls do."""
        await self._ask({"do": "exchange", "pull": pull, "push": push})

    async def append(self, rows: Sequence[Row]) -> int:
        """See ``Replica.append``."""
        return int(await self._ask({"do": "append", "rows": list(rows)}))

    async def since(self, table: str, seen: Mapping[str, int], *, limit: int) -> list[Row]:
        """See ``Replica.since``."""
        found: list[Row] = await self._ask({"do": "since", "table": table, "seen": dict(seen), "limit": limit})
        return found

    async def unseen(self, seen: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
        """See ``Replica.unseen``."""
        counts: dict[str, int] = await self._ask({"do": "unseen", "seen": dict(seen)})
        return counts

    async def erase(self, agents: Sequence[Row]) -> None:
        """See ``Replica.erase``."""
        await self._ask({"do": "erase", "agents": list(agents)})

    async def register(self) -> dict[str, Any]:
        """See ``Register.read``."""
        found: dict[str, Any] = await self._ask({"do": "read"})
        return found

    async def write_word(self, *, mirror: str, device: str, seen: Mapping[str, Mapping[str, int]], at: int) -> None:
        """See ``Register.write``."""
        await self._ask({"do": "write", "mirror": mirror, "device": device, "seen": dict(seen), "at": at})

    async def tidy(self, *, away_since: int) -> bool:
        """See ``Register.tidy``."""
        return bool(await self._ask({"do": "tidy", "away_since": away_since}))

    async def records(self, table: str, agents: Sequence[str]) -> list[tuple[str, str]]:
        """See ``Register.records``."""
        found = await self._ask({"do": "records", "table": table, "agents": list(agents)})
        return [(agent, record) for agent, record in found]

    async def forget_copy(self) -> None:
        """Delete the copy; the next call fetches it anew. A call that goes on fails."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        async with self._asking:
            await self._end()
            await asyncio.to_thread(remove_replica, self._path)

    async def close(self) -> None:
        """End the worker."""
        async with self._asking:
            await self._end()

    async def _ask(self, request: dict[str, Any]) -> Any:
        async with self._asking:
            if self._process is None or self._process.returncode is not None:
                await self._start()
            return await self._answer(request, self._seconds)

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "memory.mirror.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            await self._answer(self._open, self._seconds * 10)
        except MirrorUnavailable:
            await self._end()
            raise

    async def _answer(self, request: dict[str, Any], seconds: float) -> Any:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                process.stdin.write(frame_of(request))
                await process.stdin.drain()
                length = int.from_bytes(await process.stdout.readexactly(4), "big")
                answer = json.loads(await process.stdout.readexactly(length))
        except TimeoutError as error:
            await self._end()
            raise MirrorUnavailable(f"The mirror did not answer within {seconds:.0f} seconds.") from error
        except (OSError, asyncio.IncompleteReadError) as error:
            await self._end()
            await asyncio.to_thread(remove_replica, self._path)
            _log.warning("mirror_worker_broke")
            raise MirrorUnavailable("The mirror's worker broke down; its copy is fetched anew.") from error
        except asyncio.CancelledError:
            await self._end()  # half an answer is in the pipe
            raise
        if "error" in answer:
            raise MirrorUnavailable(answer["error"])
        return answer["value"]

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
