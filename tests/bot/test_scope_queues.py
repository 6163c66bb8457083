"""In order within a key, side by side between keys, and a clean end."""

from __future__ import annotations

import asyncio

import pytest

from bot.scope_queues import ScopeQueues, Work


def opened() -> ScopeQueues:
    queues = ScopeQueues()
    queues.open()
    return queues


def noting(log: list[str], name: str, until: asyncio.Event | None = None) -> Work:
    async def work() -> None:
        log.append(f"{name} begins")
        if until is not None:
            await until.wait()
        log.append(f"{name} ends")

    return work


async def test_work_of_one_key_runs_one_by_one_in_order() -> None:
    log: list[str] = []
    queues = opened()
    for name in "abc":
        queues.submit("ann", noting(log, name))
    await queues.idle()
    assert log == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]


async def test_work_of_another_key_does_not_wait() -> None:
    log: list[str] = []
    gate, done = asyncio.Event(), asyncio.Event()
    queues = opened()

    async def finish() -> None:
        done.set()

    queues.submit("ann", noting(log, "slow", gate))
    queues.submit("bob", finish)
    await done.wait()
    assert log == ["slow begins"]
    gate.set()
    await queues.idle()


async def test_nothing_begins_before_the_queues_are_opened() -> None:
    log: list[str] = []
    queues = ScopeQueues()
    queues.submit("ann", noting(log, "a"))
    queues.submit("ann", noting(log, "b"))
    assert log == []
    queues.open()
    await queues.idle()
    assert log == ["a begins", "a ends", "b begins", "b ends"]


async def test_draining_finishes_what_runs_and_starts_nothing_more() -> None:
    log: list[str] = []
    gate, begun = asyncio.Event(), asyncio.Event()
    queues = opened()

    async def running() -> None:
        begun.set()
        await gate.wait()
        log.append("finished")

    queues.submit("ann", running)
    queues.submit("ann", noting(log, "queued"))
    await begun.wait()
    draining = asyncio.create_task(queues.drain(60))
    gate.set()
    assert await draining is True
    queues.submit("bob", noting(log, "late"))
    await queues.idle()
    assert log == ["finished"]


async def test_what_runs_longer_than_the_drain_may_take_is_cancelled() -> None:
    queues, begun = opened(), asyncio.Event()

    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    queues.submit("ann", forever)
    await begun.wait()
    assert await queues.drain(0) is False


async def test_an_empty_drain_ends_at_once() -> None:
    assert await opened().drain(0) is True


async def test_an_idle_key_is_forgotten_and_can_be_used_again() -> None:
    log: list[str] = []
    queues = opened()
    for name in "ab":
        queues.submit("ann", noting(log, name))
        await queues.idle()
    assert log[-1] == "b ends"


@pytest.mark.parametrize("waiting", [0, 1])
async def test_work_that_raises_does_not_hold_up_what_waits_behind_it(waiting: int) -> None:
    log: list[str] = []
    loop = asyncio.get_running_loop()
    reported: list[object] = []
    loop.set_exception_handler(lambda _, context: reported.append(context.get("exception")))
    queues = opened()

    async def broken() -> None:
        raise ZeroDivisionError

    queues.submit("ann", broken)
    for number in range(waiting):
        queues.submit("ann", noting(log, str(number)))
    await asyncio.sleep(0)
    await queues.idle()
    assert len(log) == 2 * waiting


async def test_a_key_whose_worker_is_cancelled_before_it_begins_is_idle_and_can_be_used_again() -> None:
    log: list[str] = []
    queues, others = opened(), asyncio.all_tasks()
    queues.submit("ann", noting(log, "never"))
    [worker] = asyncio.all_tasks() - others
    worker.cancel()
    await asyncio.wait_for(queues.idle(), 10)
    queues.submit("ann", noting(log, "a"))
    await queues.idle()
    assert log == ["a begins", "a ends"]
