"""What a library logs, for a test that waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _FirstLine(logging.Handler):
    def __init__(self, beginning: str) -> None:
        super().__init__(logging.WARNING)
        self._beginning = beginning
        self.line: asyncio.Future[logging.LogRecord] = asyncio.get_running_loop().create_future()

    def emit(self, record: logging.LogRecord) -> None:
        if not self.line.done() and record.getMessage().startswith(self._beginning):
            self.line.set_result(record)


@contextmanager
def first_line(logger: str, beginning: str) -> Iterator[asyncio.Future[logging.LogRecord]]:
    """While the context is open, hear a library.

    Args:
        logger: its name.
        beginning: of the line that is waited for, at WARNING or above.

    Yields:
        The first such line, once it is logged.
    """
    handler = _FirstLine(beginning)
    logging.getLogger(logger).addHandler(handler)
    try:
        yield handler.line
    finally:
        logging.getLogger(logger).removeHandler(handler)
