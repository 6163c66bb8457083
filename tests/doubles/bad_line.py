"""A line to a server that can be slow or be cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_PIECE = 4_096


class BadLine:
    """Forwards connections to a port of this machine.

    Attributes:
        port: where it listens.
        cut_after: bytes of a connection that reach the server before the connection is cut; None for all.
        silent: whether nothing that is asked reaches the server.
        asked: set once somebody has asked something while it is silent.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.cut_after: int | None = None
        self.silent = False
        self.asked = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The address of the server over this line."""
        return f"http://127.0.0.1:{self.port}"

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        server_writer = None
        try:
            if self.silent:
                self.asked.set()
                await reader.read()  # until the other side gives up
                return
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
            back = asyncio.create_task(_forward(server_reader, writer, None))
            await _forward(reader, server_writer, self.cut_after)
            if self.cut_after is None:
                await back
            back.cancel()
            await asyncio.gather(back, return_exceptions=True)
        except asyncio.CancelledError:
            pass
        finally:
            self._open.discard(task)
            for end in filter(None, (writer, server_writer)):
                end.close()

    async def close(self) -> None:
        """Cut what is open."""
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most: int | None) -> None:
    with suppress(ConnectionError):
        sent = 0
        while piece := await reader.read(_PIECE):
            if most is not None and sent + len(piece) > most:
                writer.write(piece[: most - sent])
                await writer.drain()
                return
            sent += len(piece)
            writer.write(piece)
            await writer.drain()


@asynccontextmanager
async def bad_line(server_port: int) -> AsyncIterator[BadLine]:
    """A line that is good until it is told otherwise."""
    line = BadLine(server_port)
    server = await asyncio.start_server(line.carry, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        await line.close()
        await server.wait_closed()
