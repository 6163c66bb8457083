"""One thread reads, and another while the first is at something long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from memory.readers import Readers

A_DAY = 86_400.0


@asynccontextmanager
async def reading(*, long: float) -> AsyncIterator[Readers]:
    readers = Readers(2, long=long)
    yield readers
    await readers.close()


def _thread() -> str:
    return threading.current_thread().name


async def test_short_pieces_of_work_are_done_by_one_thread() -> None:
    async with reading(long=A_DAY) as readers:
        names = await asyncio.gather(*(readers.run(_thread) for _ in range(20)))
        assert len(set(names)) == 1


async def test_work_beside_something_long_is_done_by_another_thread() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def long() -> str:
        begun.set()
        may_end.wait()
        return _thread()

    async with reading(long=0) as readers:
        slow = asyncio.create_task(readers.run(long))
        await asyncio.to_thread(begun.wait)
        quick = asyncio.create_task(readers.run(_thread))
        await asyncio.sleep(0)  # its thread is chosen
        may_end.set()
        assert await quick != await slow


async def test_what_work_raises_reaches_who_asked_and_the_thread_goes_on() -> None:
    def fail() -> None:
        raise LookupError("nothing there")

    async with reading(long=A_DAY) as readers:
        with pytest.raises(LookupError, match="nothing there"):
            await readers.run(fail)
        assert await readers.run(_thread)
