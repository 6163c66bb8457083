"""The transaction in which the agent's tools save something of an exchange.

Invariant: nothing is saved where the person asked that nothing be remembered, nor of a person erased meanwhile, nor
of words that their author took back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memory.database import Transaction
from memory.errors import NotKept
from memory.exchange import Exchange, present_session
from memory.policy.audience import OFF_RECORD
from memory.services import Services


@asynccontextmanager
async def saving(services: Services, exchange: Exchange) -> AsyncIterator[Transaction]:
    """A transaction for what the agent saves of an exchange.

    Raises:
        NotKept: the conversation is off the record, memory is paused, or the message was edited or deleted meanwhile.
        PersonErased: the person was erased meanwhile.
    """
    if not exchange.session.kept:
        raise NotKept(OFF_RECORD)
    async with services.database.transaction() as tx:
        await present_session(services.stores.sessions, exchange)
        if not await services.stores.recall.unchanged(exchange.user.scope, [exchange.user]):
            raise NotKept("The person has just edited or deleted this message. Do not save anything from it.")
        yield tx
