"""One connection to an MCP server, kept up in the background.

Invariant: whatever a server does, a call raises nothing but ``ToolFailed`` with one plain sentence. A server that
hangs, dies or floods is left and started again, after growing pauses. What keeps a connection is cancelled by anyio
alone: the library ends a server behind a shield, which a task's own ``cancel`` breaks, and then waits for it for ever.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any, TextIO

import anyio
import httpx2
import structlog
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, TextContent

from bot.mcp_config import McpServerConfig
from bot.tools import ToolFailed
from bot.tools_mcp import CONNECTED
from memory.ports import Sleep

_log = structlog.get_logger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_START_SECONDS = 30.0  # some programs fetch themselves first
_MOST_PAGES = 10
_LONGEST_ERROR = 300  # characters
_MOST_STRAYS = 1_000  # messages of one connection that nobody asked for
_FAILURES = (
    MCPError,
    anyio.ClosedResourceError,
    anyio.BrokenResourceError,
    anyio.EndOfStream,
    httpx2.HTTPError,
    OSError,
    ValueError,  # what does not fit the protocol, pydantic's errors among them
    RuntimeError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """A tool as its server describes it; nothing of it is to be trusted."""

    name: str
    description: str
    input_schema: dict[str, Any]


class McpConnection:
    """A server, reached for as long as ``keep`` runs.

    Args:
        name: what the configuration calls it.
        config: how to reach it.
        sleep: waits some seconds before it is started again.

    Attributes:
        tools: what it offers, as it said when it was last reached.
        state: in a few words; ``connected``, or why not.
        settled: set once it is known whether it can be reached.

    To be made on the event loop.
    """

    def __init__(self, name: str, config: McpServerConfig, *, sleep: Sleep = asyncio.sleep) -> None:
        self.name = name
        self.tools: tuple[ServedTool, ...] = ()
        self.state = "it is being started"
        self.settled = asyncio.Event()
        self._config = config
        self._sleep = sleep
        self._client: Client | None = None
        self._over = asyncio.Event()
        self._kept = anyio.CancelScope()
        self._strays = 0
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # below it, the library writes out what servers send

    async def keep(self) -> None:
        """Connect, and again whenever the connection is lost, until it is ended. Must not be cancelled."""
        pause = _FIRST_PAUSE
        try:
            with self._kept:
                while True:
                    was_connected = await self._connection()
                    pause = _FIRST_PAUSE if was_connected else pause
                    self.settled.set()
                    _log.warning("mcp_server_lost", server=self.name, reason=self.state, retry_seconds=pause)
                    await self._sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            self.state = "it is left alone until the next start"
            self.settled.set()

    def end(self) -> None:
        """End the server; ``keep`` returns once it is gone, within seconds."""
        self._kept.cancel()

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """What a tool answers, as text.

        Raises:
            ToolFailed: the server is not there, did not answer in time, or says that the call failed.
        """
        client = self._client
        if client is None:
            raise ToolFailed(f"The server {self.name} is not there just now ({self.state}). Go on without it.")
        try:
            async with asyncio.timeout(self._config.timeout_seconds):
                result = await client.call_tool(tool, arguments)
        except TimeoutError as error:
            self._leave("it did not answer in time")
            raise ToolFailed(
                f"The server {self.name} did not answer within {self._config.timeout_seconds:g} seconds. "
                "It is started again; go on without it."
            ) from error
        except _FAILURES as error:
            if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
                reason = str(error)[:_LONGEST_ERROR]
                raise ToolFailed(f"The server {self.name} refuses the call: {reason}") from error
            self._leave("it broke off")
            raise ToolFailed(f"The server {self.name} broke off. It is started again; go on without it.") from error
        text = _text(result)
        if result.is_error:
            raise ToolFailed(f"The server {self.name} says that the call failed: {text[:_LONGEST_ERROR]}")
        return text

    async def _connection(self) -> bool:
        """Connect and stay connected; whether it was. ``state`` then says why it is no longer."""
        self._over.clear()
        self._strays = 0
        connected = False
        with anyio.move_on_after(_START_SECONDS) as starting:
            try:
                async with AsyncExitStack() as stack:
                    client = await stack.enter_async_context(await self._new_client(stack))
                    self.tools = await self._listed(client)
                    starting.deadline = math.inf
                    self._client, self.state, connected = client, CONNECTED, True
                    self.settled.set()
                    _log.info("mcp_server_connected", server=self.name, tools=len(self.tools))
                    await self._over.wait()
            except* _FAILURES as lost:
                self.state = f"it cannot be reached ({_first(lost)})"
            finally:
                self._client = None
        if starting.cancelled_caught:
            self.state = "it did not start in time"
        return connected

    async def _new_client(self, stack: AsyncExitStack) -> Client:
        config = self._config
        transport: AbstractAsyncContextManager[Any]
        if config.url is not None:
            headers = {name: value.get_secret_value() for name, value in config.headers.items()}
            http_client = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            transport = streamable_http_client(config.url, http_client=http_client)
        else:
            parameters = StdioServerParameters(
                command=config.command or "",
                args=list(config.args),
                env={name: value.get_secret_value() for name, value in config.env.items()},
                cwd=config.cwd,
            )
            # What a server writes to its standard error may hold anything, its secrets too.
            transport = stdio_client(parameters, errlog=stack.enter_context(_nowhere()))
        return Client(
            transport, message_handler=self._count, cache=None, client_info=Implementation(name="keepsake", version="1")
        )

    async def _listed(self, client: Client) -> tuple[ServedTool, ...]:
        found: list[ServedTool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            found += [
                ServedTool(name=tool.name, description=tool.description or "", input_schema=tool.input_schema)
                for tool in page.tools
                if self._config.allows(tool.name)
            ]
            cursor = page.next_cursor
            if cursor is None:
                break
        return tuple(found)

    async def _count(self, message: object) -> None:
        """Hears what the server sends unasked; of too much of it, the server is left."""
        self._strays += 1
        if self._strays > _MOST_STRAYS:
            self._leave("it sent too much that nobody asked for")

    def _leave(self, reason: str) -> None:
        self.state = reason
        self._client = None
        self._over.set()


def _text(result: CallToolResult) -> str:
    parts = [part.text if isinstance(part, TextContent) else f"[{part.type}]" for part in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _first(lost: BaseExceptionGroup[BaseException]) -> str:
    """The name of the first error inside; its text may hold an address with a secret."""
    error: BaseException = lost
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")
