"""How the process lives and ends: take up what was left, answer until told to stop, finish, close.

Invariant: after SIGTERM or SIGINT the running turns are finished and delivered before anything is closed; what is
only queued stays in the inbox for the next start.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from bot.chat import ChannelAdapter, PlatformAdapter
from bot.config import Settings
from bot.handler import ChatHandler
from bot.scheduler import Scheduler
from memory.ports import Clock
from memory.system import MemorySystem

_log = structlog.get_logger(__name__)

# Hosts give a process about 10 seconds (Procfile hosts, Docker) to 30 (Kubernetes) before they kill it.
_DRAIN_SECONDS = 9.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The parts that every way of running shares."""

    settings: Settings
    system: MemorySystem
    handler: ChatHandler
    clock: Clock


class ConsoleChannel(ChannelAdapter, Protocol):
    """A terminal or pipe: one conversation."""

    @property
    def key(self) -> str:
        """The key of its conversation."""
        ...

    async def run(self) -> None:
        """Read and answer until the input ends."""
        ...


async def serve(app: Application, adapters: Sequence[PlatformAdapter]) -> None:
    """Answer on platforms until a signal comes or one of them stops for good.

    Raises:
        AdapterStartFailed: a platform refuses us or cannot be reached.
    """
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(_stop_signals())
        app.handler.attach({adapter.platform: adapter for adapter in adapters})
        await stack.enter_async_context(_background(app))
        for adapter in adapters:
            stack.push_async_callback(adapter.stop)
        await asyncio.gather(*(adapter.start() for adapter in adapters))
        app.handler.open()
        _log.info("ready", platforms=[adapter.platform for adapter in adapters])
        try:
            await _first(stop.wait(), *(adapter.closed() for adapter in adapters))
        finally:
            _log.info("stopping")
            await app.handler.drain(_DRAIN_SECONDS)


async def converse(app: Application, console: ConsoleChannel) -> None:
    """Chat in a terminal or over a pipe until the input ends or a signal comes."""
    app.handler.attach({console.key: console})
    async with _stop_signals() as stop, _background(app):
        app.handler.open()
        try:
            await _first(stop.wait(), console.run())
            await app.handler.idle()
        finally:
            await app.handler.drain(_DRAIN_SECONDS)


@asynccontextmanager
async def _background(app: Application) -> AsyncIterator[None]:
    """Take up what an earlier process left, and do what the clock asks for."""
    left = await app.handler.recover()
    if left:
        _log.info("recovered", messages=left)
    scheduler = Scheduler()
    scheduler.every(app.settings.idle_sweep_seconds, app.system.sweep_idle, name="idle_sweep")
    scheduler.every(app.settings.idle_sweep_seconds, app.handler.recover, name="redelivery")
    scheduler.start()
    try:
        yield
    finally:
        scheduler.stop()


@asynccontextmanager
async def _stop_signals() -> AsyncIterator[asyncio.Event]:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _first(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for the first to end, cancel the others, and raise what it raised."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
