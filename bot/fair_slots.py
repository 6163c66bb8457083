"""How many model calls run at the same time, and whose turn is next when more are wanted.

Everybody who waits is served once before anybody is served twice. Memory work of all people together waits as one
more person does, so that it neither holds up a conversation for long nor is put off for ever.

Invariant: no more than the given number run at once, and a place is given back however a call ends.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable

from memory.messages import ModelRequest, ModelResponse
from memory.ports import ChatModel, OnText

_MEMORY_WORK = "memory"


@runtime_checkable
class HearsWaiting(Protocol):
    """A listener of a model call that can also be told that the call has to wait."""

    async def __call__(self, text: str) -> None:
        """Take a piece of text."""
        ...

    async def waits(self, position: int) -> None:
        """The call waits; so many are served up to and with it."""
        ...


class FairSlots:
    """Places for model calls.

    Args:
        places: how many calls run at the same time.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def place(self, who: str, listener: HearsWaiting | None = None) -> AsyncIterator[None]:
        """Have a place for as long as the context is open.

        Args:
            who: for whom; each is served in order, and all in turns.
            listener: told where it has to wait.
        """
        if self._free and not self._waiting:
            self._free -= 1
        else:
            await self._wait(who, listener)
        try:
            yield
        finally:
            self._give_back()

    async def _wait(self, who: str, listener: HearsWaiting | None) -> None:
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(granted)
        try:
            if listener is not None:
                await listener.waits(self._position(who))
            await granted
        except BaseException:
            if granted.done() and not granted.cancelled():
                self._give_back()
            else:
                self._leave(who, granted)
            raise

    def _position(self, who: str) -> int:
        """How many are served up to and with the last call of somebody."""
        own = len(self._waiting[who])
        order = list(self._waiting)
        mine = order.index(who)
        others = (
            min(len(calls), own if place < mine else own - 1)
            for place, calls in enumerate(self._waiting.values())
            if place != mine
        )
        return own + sum(others)

    def _give_back(self) -> None:
        """Give the place to whoever is next; to nobody where nobody waits."""
        while self._waiting:
            who, calls = self._waiting.popitem(last=False)
            granted = calls.popleft()
            if calls:
                self._waiting[who] = calls
            if not granted.cancelled():  # a call that has just been cancelled has not left yet
                granted.set_result(None)
                return
        self._free += 1

    def _leave(self, who: str, granted: asyncio.Future[None]) -> None:
        calls = self._waiting.get(who, deque())
        if granted in calls:
            calls.remove(granted)
            if not calls:
                del self._waiting[who]


class QueuedModel:
    """A ``ChatModel`` whose calls take a place first.

    Args:
        model: the model.
        slots: the places, shared by all models.
    """

    def __init__(self, model: ChatModel, slots: FairSlots) -> None:
        self._model = model
        self._slots = slots

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """One answer, once there is a place. Raises as the model does, whose deadline begins with the place."""
        listener = on_text if isinstance(on_text, HearsWaiting) else None
        async with self._slots.place(request.person_hash or _MEMORY_WORK, listener):
            return await self._model.complete(request, on_text=on_text)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
