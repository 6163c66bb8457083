"""What this process shows over HTTP, and on which servers.

Invariant: the numbers are on a server of their own, on this machine alone unless METRICS_HOST says otherwise, since
the other server may be open to the world for Slack.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog
from aiohttp.web import Application as Pages

from bot import web
from bot.chat import PlatformAdapter
from bot.config import ConfigurationError
from bot.metrics import CONTENT_TYPE, Observed, metrics_page

if TYPE_CHECKING:
    from bot.application import Application

_log = structlog.get_logger(__name__)


async def listen(
    app: Application,
    adapters: Sequence[PlatformAdapter],
    answering: asyncio.Event,
    slack_events: web.Handler | None,
) -> list[web.WebServer]:
    """Start the servers.

    Args:
        app: what they tell of.
        adapters: the platforms.
        answering: set while messages are answered.
        slack_events: answers Slack's requests where its events come over HTTP.

    Raises:
        ConfigurationError: a port cannot be had.
    """

    def states() -> dict[str, Mapping[str, Any]]:
        return {adapter.platform: adapter.state() for adapter in adapters}

    def health() -> Mapping[str, Any]:
        return {"ok": all(state["connected"] for state in states().values()), "platforms": states()}

    def is_ready() -> bool:
        return answering.is_set() and bool(health()["ok"])

    async def metrics() -> bytes:
        return await metrics_page(
            Observed(
                measures=app.measures,
                system=app.system,
                slots=app.slots,
                breakers=app.breakers,
                prices=app.settings.prices,
                platforms=states(),
                now=app.clock.now(),
                backups=app.backups,
            )
        )

    settings = app.settings
    pages = web.build_app(health=health, is_ready=is_ready, slack_events=slack_events)
    server = await _serve(pages, settings.host, settings.port, prefix="")
    try:
        numbers = web.build_metrics_app(metrics, content_type=CONTENT_TYPE)
        return [server, await _serve(numbers, settings.metrics_host, settings.metrics_port, prefix="METRICS_")]
    except ConfigurationError:
        await server.close()
        raise


async def _serve(pages: Pages, host: str, port: int, *, prefix: str) -> web.WebServer:
    try:
        server = await web.serve(pages, host, port)
    except OSError as error:
        problem = f"{prefix}PORT: the web server cannot listen on {host}:{port} ({error.strerror})."
        remedy = f"Choose another port, or 0 for any free one; the address is {prefix}HOST."
        example = f"Example: {prefix}PORT={'9465' if prefix else '8081'}"
        raise ConfigurationError([f"{problem} {remedy} {example}"]) from error
    _log.info("metrics_listening" if prefix else "listening", host=host, port=server.port)
    return server
