"""Structured logs on standard error: ids and counts, secrets blacked out.

Invariant: standard output belongs to replies and data; a log line never goes there.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

# Tokens of the services we talk to, wherever they might turn up in an error's text.
_SECRET = re.compile(r"(sk-ant-[\w-]{6,}|xox[a-z]-[\w-]{6,}|xapp-[\w-]{6,}|[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,})")


def configure_logs(level: str) -> None:
    """Send all logs, those of libraries included, to standard error.

    Args:
        level: the least severe level written, for example ``INFO``.
    """
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _redact,
    ]
    readable = sys.stderr.isatty()
    renderer: Any = (
        structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    # Libraries speak at INFO of every request; what an operator needs from them is a warning.
    logging.basicConfig(level=max(logging.WARNING, logging.getLevelName(level)), handlers=[handler], force=True)


def _redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = _SECRET.sub("[secret]", value)
    return event
