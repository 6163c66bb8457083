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

# Tokens of the services we talk to, wherever they might turn up in an error's text; a ticket opens a socket of Slack.
_SECRET = re.compile(
    r"(sk-ant-[\w-]{6,}|xox[a-z]-[\w-]{6,}|xapp-[\w-]{6,}|[\w-]{23,28}\.[\w-]{6,7}\.[\w-]{27,}|ticket=[\w-]{6,})"
)


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


class SayPlainly(logging.Filter):
    """Lets a library tell certain errors by their reason alone: a connection that breaks is no fault of the program.

    Args:
        errors: those of which nobody needs the traceback.
    """

    def __init__(self, *errors: type[BaseException]) -> None:
        super().__init__()
        self._errors = errors

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, such an error in one line."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, self._errors):
            message, reason = record.getMessage(), str(error) or type(error).__name__
            record.msg = message if reason in message else f"{message} ({reason})"
            record.args, record.exc_info = (), None
        return True


def _redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = _SECRET.sub("[secret]", value)
    return event
