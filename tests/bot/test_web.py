"""The web server."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from bot.web import build_app, serve


async def get(port: int, path: str, method: str = "GET") -> tuple[int, Any]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"http://127.0.0.1:{port}{path}") as response,
    ):
        is_json = response.content_type == "application/json"
        return response.status, await response.json() if is_json else await response.text()


@pytest.mark.parametrize(("report", "status"), [({}, 200), ({"ok": True}, 200), ({"ok": False}, 503)])
async def test_the_health_page_shows_the_report(report: Mapping[str, Any], status: int) -> None:
    server = await serve(build_app(health=lambda: report), "127.0.0.1", 0)
    assert await get(server.port, "/healthz") == (status, report)
    await server.close()


async def test_a_time_in_the_report_is_readable() -> None:
    now = datetime(2026, 3, 2, tzinfo=UTC)
    server = await serve(build_app(health=lambda: {"since": now}), "127.0.0.1", 0)
    assert await get(server.port, "/healthz") == (200, {"since": str(now)})
    await server.close()


async def test_without_slack_over_http_there_is_no_such_page() -> None:
    server = await serve(build_app(health=dict), "127.0.0.1", 0)
    status, _ = await get(server.port, "/slack/events", "POST")
    await server.close()
    assert status == 404


async def test_slacks_requests_reach_its_handler() -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(text="taken")

    server = await serve(build_app(health=dict, slack_events=handler), "127.0.0.1", 0)
    assert await get(server.port, "/slack/events", "POST") == (200, "taken")
    await server.close()
    await server.close()


async def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="address already in use"):
            await serve(build_app(health=dict), "127.0.0.1", taken.getsockname()[1])
