"""What the agent itself pages in and out of memory in a conversation, by its tools.

Invariant: nothing is saved where the person asked that nothing be remembered, nor of a person erased meanwhile.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time

from memory.errors import NotKept
from memory.exchange import Exchange, Place
from memory.policy.tree_search import entries_among
from memory.processes.tree_search import TreeFindings
from memory.records import Passage, SearchHit, StoredMessage
from memory.saving import saving
from memory.services import Services


class Paging:
    """Core memory, recall, archival memory and the tree of categories as the agent uses them.

    Args:
        place: the conversation.
        services: every store and process.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self._place = place
        self._services = services
        self._stores = services.stores

    async def core_append(self, exchange: Exchange, *, label: str, text: str) -> None:
        """Add a line to a core memory block. Raises CoreMemoryFull, UnknownBlock, NotKept or PersonErased."""
        async with saving(self._services, exchange) as tx:
            await self._stores.blocks.append(
                self._place.scope,
                tx,
                label=label,
                text=text,
                change=exchange.by_agent("core_memory_append"),
                at=self._services.clock.now(),
            )

    async def core_replace(self, exchange: Exchange, *, old: str, new: str, label: str | None = None) -> None:
        """Rewrite a piece of a block, or of the first that holds it where none is named.

        Raises CoreMemoryFull, TextNotFound, UnknownBlock, NotKept or PersonErased.
        """
        async with saving(self._services, exchange) as tx:
            await self._stores.blocks.replace(
                self._place.scope,
                tx,
                label=label,
                old=old,
                new=new,
                change=exchange.by_agent("core_memory_replace"),
                at=self._services.clock.now(),
            )

    async def core_rewrite(self, exchange: Exchange, *, label: str, text: str) -> None:
        """Write a whole block anew. Raises CoreMemoryFull, UnknownBlock, NotKept or PersonErased."""
        async with saving(self._services, exchange) as tx:
            await self._stores.blocks.rewrite(
                self._place.scope,
                tx,
                label=label,
                value=text,
                change=exchange.by_agent("core_memory_rewrite"),
                at=self._services.clock.now(),
            )

    async def archival_insert(self, exchange: Exchange, content: str) -> Passage:
        """Keep a fact or document in archival memory. Raises NotKept or PersonErased."""
        async with saving(self._services, exchange) as tx:
            passage = await self._stores.archival.insert(
                self._place.scope, tx, content=content, source_message=exchange.user.id
            )
        self._services.indexer.kick()
        return passage

    async def archival_search(self, query: str, *, limit: int) -> list[SearchHit]:
        """Look up archival memory."""
        embedded = await self._services.retriever.embed(query)
        return await self._stores.archival.search(
            self._place.scope, self._place.reach, query, limit=limit, embedded=embedded
        )

    async def recall_search(self, query: str, *, limit: int, evicted_only: bool) -> list[SearchHit]:
        """Search past messages: those that left the window, or all."""
        return await self._services.retriever.messages(self._place.reach, query, limit=limit, evicted_only=evicted_only)

    async def tree_search(self, exchange: Exchange, query: str, *, limit: int) -> TreeFindings:
        """Search by the tree of categories. What is given counts as used where anything may be kept."""
        scope, services = self._place.scope, self._services
        found = await services.tree_search.search(scope, self._place.reach, query, limit=limit)
        entries = entries_among(found.hits, scope.person)
        if entries and exchange.session.kept:
            with suppress(NotKept):
                async with saving(services, exchange) as tx:
                    await self._stores.warm.reinforce(tx, entries, at=services.clock.now())
        zone = await self._stores.preferences.zone(scope)
        return replace(found, hits=tuple(hit.seen_from(zone) for hit in found.hits))

    async def messages_between(self, first: date, last: date, *, limit: int) -> list[StoredMessage]:
        """Past messages of these days and those between them, oldest first."""
        zone = await self._stores.preferences.zone(self._place.scope)
        start = datetime.combine(first, time.min, tzinfo=zone)
        end = datetime.combine(last, time.max, tzinfo=zone)
        return await self._stores.recall.between(self._place.reach, start, end, limit=limit)
