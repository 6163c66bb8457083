"""What the agent's tool does with the working memory of its conversation.

Invariant: each change is read, made and written in one transaction, so that two calls never undo each other.
"""

from __future__ import annotations

from collections.abc import Callable

from memory.exchange import Exchange, Place
from memory.policy.working_memory import WorkingMemory
from memory.saving import saving
from memory.services import Services

Change = Callable[[WorkingMemory], WorkingMemory]


class Working:
    """Working memory as the agent uses it.

    Args:
        place: the conversation.
        services: every store and process.
    """

    def __init__(self, place: Place, services: Services) -> None:
        self._place = place
        self._services = services
        self._store = services.stores.working

    async def load(self, exchange: Exchange) -> WorkingMemory:
        """The working memory of the exchange's session."""
        return await self._store.load(exchange.session)

    async def change(self, exchange: Exchange, change: Change) -> WorkingMemory:
        """Make one change; the state after it.

        Raises:
            InvalidInput: the change cannot be made.
            NotKept: the person asked that nothing be remembered.
            PersonErased: the person was erased meanwhile.
        """
        async with saving(self._services, exchange) as tx:
            memory = change(await self._store.load(exchange.session))
            await self._store.save(
                self._place.scope, tx, session=exchange.session, memory=memory, at=self._services.clock.now()
            )
        return memory
