"""The web servers: the pages about health and numbers, and Slack's events where they come over HTTP.

Invariant: ``/healthz`` answers without touching the database or any service, so that it tells of this process
and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Health = Callable[[], Mapping[str, Any]]

HEALTH_PATH = "/healthz"
READY_PATH = "/readyz"
METRICS_PATH = "/metrics"
SLACK_PATH = "/slack/events"

_SHUTDOWN_PATIENCE = 5.0


def build_app(
    *, health: Health, is_ready: Callable[[], bool] = lambda: True, slack_events: Handler | None = None
) -> web.Application:
    """The routes.

    Args:
        health: what stands on the health page; its entry ``ok`` decides between status 200 and 503.
        is_ready: whether messages are answered now; decides on the page for whoever sends traffic here.
        slack_events: answers Slack's requests; it verifies their signature itself. None where Slack is not used
            or comes over Socket Mode.
    """

    async def readyz(_: web.Request) -> web.Response:
        return web.Response(status=200 if is_ready() else 503, text="ready" if is_ready() else "not ready")

    async def healthz(_: web.Request) -> web.Response:
        report = health()
        return web.json_response(
            report, status=200 if report.get("ok", True) else 503, dumps=partial(json.dumps, default=str)
        )

    app = web.Application()
    app.router.add_get(HEALTH_PATH, healthz)
    app.router.add_get(READY_PATH, readyz)
    if slack_events is not None:
        app.router.add_post(SLACK_PATH, slack_events)
    return app


def build_metrics_app(page: Callable[[], Awaitable[bytes]], *, content_type: str) -> web.Application:
    """The page for monitoring systems, on a server of its own: the other one may be open to the world.

    Args:
        page: makes the page.
        content_type: says how it is written.
    """

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=await page(), headers={"Content-Type": content_type})

    app = web.Application()
    app.router.add_get(METRICS_PATH, metrics)
    return app


@dataclass(frozen=True, slots=True, kw_only=True)
class WebServer:
    """A running server.

    Attributes:
        port: the port it is bound to.
    """

    port: int
    runner: web.AppRunner

    async def close(self) -> None:
        """Stop listening and finish open requests, for a few seconds at most. Safe to call twice."""
        await self.runner.cleanup()


async def serve(app: web.Application, host: str, port: int) -> WebServer:
    """Start to listen.

    Args:
        app: the routes.
        host: the address to listen on.
        port: the port; 0 for any free one.

    Raises:
        OSError: the port cannot be bound.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_PATIENCE)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    bound: int = runner.addresses[0][1]
    return WebServer(port=bound, runner=runner)
