"""The signals that tell the process to end, and what happens where it does not.

Invariant: the first signal asks. A second one, or a minute without an end, ends the process where it stands, whatever
it waits for. Nothing is lost by that: what was accepted stands in the inbox, and the next start goes on with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import structlog

_LONGEST_END = 60.0  # seconds; hosts wait for 10 to 30
_APART = 1.0  # seconds; what starts a program may pass on to it what the terminal has sent it already
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_BY_SIGNAL = 128  # shells add the signal's number to it

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def stop_signals(
    *, longest_end: float = _LONGEST_END, apart: float = _APART, end: Callable[[int], object] = os._exit
) -> AsyncIterator[asyncio.Event]:
    """Catch the signals while the context is open; the event is set by the first one.

    Args:
        longest_end: seconds that everything may take from then on, also what comes after the context.
        apart: seconds within which a second signal is the first one, sent twice.
        end: ends the process at once with an exit code.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    second_from = 0.0

    def told(number: signal.Signals) -> None:
        nonlocal second_from
        if stop.is_set():
            if loop.time() >= second_from:
                _log.warning("stopped_at_once")
                end(_BY_SIGNAL + number)
            return
        stop.set()
        second_from = loop.time() + apart
        last = threading.Timer(longest_end, not_over)
        last.daemon = True
        last.start()

    def not_over() -> None:
        _log.error("not_stopped_in_time", seconds=longest_end)
        end(1)

    for number in _SIGNALS:
        loop.add_signal_handler(number, partial(told, number))
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
