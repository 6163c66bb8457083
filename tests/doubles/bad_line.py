"""A line to a server that can be slow, be cut, or lose answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

_PIECE = 4_096


class Trouble(StrEnum):
    """What happens to a request that is too long for the line."""

    CUT = "cut"  # its beginning reaches the server, and the connection is closed
    HELD = "held"  # nothing more reaches the server, and nothing comes back
    UNANSWERED = "unanswered"  # all of it reaches the server, and its answer is lost


class BadLine:
    """Forwards connections to a port of this machine; good until it is told otherwise.

    Attributes:
        port: where it listens.
        most: bytes of a connection above which there is trouble; None for none.
        trouble: which.
        held: set once something is held.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.most: int | None = None
        self.trouble = Trouble.CUT
        self.held = asyncio.Event()
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
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        lost = asyncio.Event()
        back = asyncio.create_task(_forward(server_reader, writer, lost))
        try:
            with suppress(ConnectionError, asyncio.CancelledError):
                if await self._there(reader, server_writer, lost):
                    await back
        finally:
            back.cancel()
            await asyncio.gather(back, return_exceptions=True)
            self._open.discard(task)
            for end in (writer, server_writer):
                end.close()

    async def close(self) -> None:
        """Cut what is open."""
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _there(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> bool:
        """Forward what is asked; whether answers may come back."""
        sent = 0
        while piece := await reader.read(_PIECE):
            sent += len(piece)
            if self.most is not None and sent > self.most:
                match self.trouble:
                    case Trouble.CUT:
                        writer.write(piece[: max(0, len(piece) - (sent - self.most))])
                        await writer.drain()
                        return False
                    case Trouble.HELD:
                        self.held.set()
                        await reader.read()  # until the other side gives up
                        return False
                    case Trouble.UNANSWERED:
                        lost.set()
            writer.write(piece)
            await writer.drain()
        return True


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(_PIECE):
            if lost.is_set():
                break
            writer.write(piece)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def bad_line(server_port: int) -> AsyncIterator[BadLine]:
    """A line to a server on this machine."""
    line = BadLine(server_port)
    server = await asyncio.start_server(line.carry, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        server.close()
        await line.close()
        await server.wait_closed()
