"""How the process lives and ends: take up what was left, answer until told to stop, finish, close.

Invariant: after SIGTERM or SIGINT the running turns are finished and delivered before anything is closed; what is
only queued stays in the inbox for the next start. A start that cannot succeed ends the process; nothing is tried
over and over.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from bot.application import Application
from bot.chat import ChannelAdapter, PlatformAdapter
from bot.coming_back import bring_back
from bot.loop_watch import watching_the_loop
from bot.scheduler import Scheduler
from bot.stop_signals import stop_signals

if TYPE_CHECKING:
    from bot.web import Handler

_log = structlog.get_logger(__name__)

# Hosts give a process about 10 seconds (Procfile hosts, Docker) to 30 (Kubernetes) before they kill it.
DRAIN_SECONDS = 9.0
_LAST_SEEN_SECONDS = 5.0
_TIDY_SECONDS = 3_600.0
_BACKUP_LOOK_SECONDS = 600.0
# How long the end of a conversation waits for vectors; the words of what was said are found without them.
_EMBEDDING_SECONDS = 5.0
_GARBAGE_THRESHOLDS = (700, 10, 10)  # Python's own; while it starts, the first one is higher
_MIRROR_LOOK_SECONDS = 5.0
_MIRROR_END_SECONDS = 5.0  # for what the mirror does not have yet when the process is to end


class ConsoleChannel(ChannelAdapter, Protocol):
    """A terminal or pipe: one conversation."""

    @property
    def key(self) -> str:
        """The key of its conversation."""
        ...

    async def run(self) -> None:
        """Read and answer until the input ends."""
        ...


async def serve(app: Application, adapters: Sequence[PlatformAdapter], *, slack_events: Handler | None = None) -> None:
    """Answer on platforms, and over HTTP, until a signal comes or a platform stops for good.

    Args:
        app: the application.
        adapters: the platforms.
        slack_events: answers Slack's requests where its events come over HTTP.

    Raises:
        AdapterStartFailed: a platform refuses us or cannot be reached.
        ConfigurationError: the web server cannot listen where HOST and PORT say.
    """
    from bot.pages import listen  # aiohttp, which the terminal does without

    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(stop_signals())
        answering = asyncio.Event()
        for server in await listen(app, adapters, answering, slack_events):
            stack.push_async_callback(server.close)
        app.attach({adapter.platform: adapter for adapter in adapters})
        await stack.enter_async_context(_background(app))
        await stack.enter_async_context(watching_the_loop(app.measures))
        for adapter in adapters:
            stack.push_async_callback(adapter.stop)
        await _first(stop.wait(), _start(adapters))
        if stop.is_set():
            return
        app.handler.open()
        answering.set()
        _log.info("ready", platforms=[adapter.platform for adapter in adapters])
        try:
            await _first(stop.wait(), *(adapter.closed() for adapter in adapters))
        finally:
            _log.info("stopping")
            answering.clear()
            await app.handler.drain(DRAIN_SECONDS)


async def _start(adapters: Sequence[PlatformAdapter]) -> None:
    await asyncio.gather(*(adapter.start() for adapter in adapters))


async def converse(app: Application, console: ConsoleChannel) -> None:
    """Chat in a terminal or over a pipe until the input ends or a signal comes."""
    app.attach({console.key: console})
    async with stop_signals() as stop, _background(app):
        app.handler.open()
        await app.reminders.deliver_due()
        try:
            await _first(stop.wait(), _whole_input(app, console))
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await app.handler.idle()  # nobody else will answer the line that was read last
            await app.handler.drain(0)


async def _whole_input(app: Application, console: ConsoleChannel) -> None:
    """Answer until the input ends, then learn from what was said: the next command may ask for it."""
    await console.run()
    await app.handler.idle()
    await app.system.settle(embedding_seconds=_EMBEDDING_SECONDS)


@asynccontextmanager
async def _background(app: Application) -> AsyncIterator[None]:
    """Take up what an earlier process left, and do what the clock asks for."""
    await bring_back(app.system, app.settings)
    await app.system.resume()
    left = await app.handler.recover()
    if left:
        _log.info("recovered", messages=left)
    scheduler = Scheduler()
    scheduler.every(app.settings.idle_sweep_seconds, app.system.sweep_idle, name="idle_sweep")
    scheduler.every(app.settings.idle_sweep_seconds, app.handler.recover, name="redelivery")
    scheduler.every(app.settings.reminder_sweep_seconds, app.reminders.deliver_due, name="reminders")
    scheduler.every(_LAST_SEEN_SECONDS, app.last_seen.flush, name="last_seen")
    scheduler.every(_TIDY_SECONDS, app.system.tidy, name="tidy")
    if app.backups is not None:
        scheduler.every(_BACKUP_LOOK_SECONDS, app.backups.run_due, name="backup")
    if (mirror := app.system.mirror) is not None:
        scheduler.every(_MIRROR_LOOK_SECONDS, mirror.run_due, name="mirror")
    consolidate, parameters = app.system.consolidator.run_all, app.system.parameters
    scheduler.every(parameters.consolidation_interval.total_seconds(), consolidate, name="consolidation")
    scheduler.at_midnight(consolidate, zone=parameters.zone, name="daily_consolidation")
    scheduler.start()
    warming = asyncio.create_task(_warm_up(app))
    warming.add_done_callback(_tell_of_cold_start)
    try:
        async with app.servers.running():
            yield
    finally:
        scheduler.stop()
        warming.cancel()
        await asyncio.wait([warming])
        await app.last_seen.flush()
        if mirror is not None:
            await mirror.tell_rest(seconds=_MIRROR_END_SECONDS)


async def _warm_up(app: Application) -> None:
    """Load what the first message would wait for, while nobody waits yet."""
    await app.system.warm_up()
    gc.freeze()  # all that is loaded now stays; to look through it for garbage would stop everything for 70 ms
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


def _tell_of_cold_start(task: asyncio.Task[None]) -> None:
    """What could not be loaded is loaded where it is needed, and fails there with its own sentence if it still does."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("not_warmed_up", exc_info=error)


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
