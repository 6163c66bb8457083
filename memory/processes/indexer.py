"""Embeds in the background what was stored without its vector yet.

Invariant: the rows are the queue. A crash, a failing embedder or a change of embedder only delays vectors; full
text answers meanwhile.
"""

from __future__ import annotations

import asyncio

import structlog

from memory.errors import EmbedderError, StorageError
from memory.stores.search import EMBEDDED_AT_ONCE, SearchStore

_log = structlog.get_logger(__name__)


class Indexer:
    """One background task over all scopes.

    Args:
        search: knows which entries lack a vector of the current embedder.
    """

    def __init__(self, search: SearchStore) -> None:
        self._search = search
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def kick(self) -> None:
        """Something was stored: embed it soon."""
        self._again = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="indexer")

    async def settle(self) -> None:
        """Wait until nothing is left to embed, or the embedder or the database failed."""
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    async def close(self) -> None:
        """Stop where it is; what is left is embedded after the next start."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while self._again:
            self._again = False
            try:
                while await self._search.embed_pending() == EMBEDDED_AT_ONCE:
                    pass  # there may be more; whoever stores something meanwhile asks for another look
            except (EmbedderError, StorageError) as error:
                _log.warning("embedding_postponed", error=str(error))
