"""The terminal as a platform: a prompt where a person types, lines where a program pipes.

A line that begins with a slash is a command; its answer is no part of the conversation.

Invariant: one line is one message and gets one reply; the next line is read after the reply is written. The
reading thread is a daemon, so that a signal ends the process although it waits for input.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from bot.chat import (
    AttachedFile,
    Conversation,
    DeliveryFailed,
    FileUnreadable,
    HistoryUnreadable,
    IncomingMessage,
    OnMessage,
    OutgoingMessage,
)
from bot.command_text import CONFIRMED, parse
from bot.commands import Attachment, Caller, Commands, Invocation
from memory.errors import InvalidInput
from memory.ports import Clock

_UNANSWERED = "No answer can be given right now. Your message is kept, and answered once that is possible."
_SILENCED = "The bot is silenced here; /memory unsilence ends that."

_YEARS = range(2000, 2100)  # of lines that begin with a time

ReadLine = Callable[[], str | None]


class ReplayClock:
    """A clock that stands where the conversation being replayed is, and never goes back.

    Args:
        start: where it stands before the first message.
    """

    def __init__(self, start: datetime) -> None:
        self._time = start

    def now(self) -> datetime:
        """The moment of the message last read."""
        return self._time

    def set(self, moment: datetime) -> None:
        """Move to the moment of the next message."""
        self._time = max(self._time, moment.astimezone(UTC))


class ConsoleAdapter:
    """A conversation in a terminal or a pipe.

    Args:
        name: who is typing; the person is ``console:<name>``.
        audience: who hears it, as in a chat platform, to try out what is remembered where.
        on_message: stores and queues a message.
        settled: waits until nothing is queued any more, with or without a reply.
        clock: stamps the messages.
        read_line: blocks for the next line; None at the end of the input.
        write: shows one reply.
        replay: the clock to set by the stamp that begins each line (see ``parse_stamped``); None for plain lines.
        commands: run for lines that begin with a slash. Who types here is the operator.
        tell: shows a notice, apart from the replies.
        downloads: where files that come with a reply are put.
    """

    platform = "console"

    def __init__(
        self,
        *,
        name: str,
        audience: str,
        on_message: OnMessage,
        settled: Callable[[], Awaitable[object]],
        clock: Clock,
        read_line: ReadLine,
        write: Callable[[str], None],
        replay: ReplayClock | None = None,
        commands: Commands | None = None,
        tell: Callable[[str], None] = lambda notice: print(notice, file=sys.stderr, flush=True),
        downloads: Path = Path(),
    ) -> None:
        self._name = name
        self._on_message = on_message
        self._settled = settled
        self._clock = clock
        self._read_line = read_line
        self._write = write
        self._replay = replay
        self._commands = commands
        self._tell = tell
        self._downloads = downloads
        self._asked: str | None = None  # the message whose reply is waited for
        self._replied = asyncio.Event()
        self._unread: BrokenPipeError | None = None
        self._conversation = Conversation(platform=self.platform, key=f"console:{name}:{audience}", audience=audience)

    @property
    def key(self) -> str:
        """The key of the conversation."""
        return self._conversation.key

    async def run(self) -> None:
        """Read and answer until the input ends. Raises BrokenPipeError once nobody reads the replies any more."""
        async for line in _lines(self._read_line):
            await self._handle(line)

    @property
    def shows_drafts(self) -> bool:
        """A line that is written cannot be taken back."""
        return False

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Nothing is shown before the reply is whole."""
        return ()

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Write the reply; a line of text has no id."""
        try:
            if message.notice is not None:
                self._tell(message.notice)
            self._write(message.text)
        except BrokenPipeError as error:
            self._unread = error
            raise DeliveryFailed("nobody reads the output any more") from error
        finally:
            if message.in_reply_to == self._asked:  # not a reply that an earlier process still owed
                self._replied.set()
        return ()

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        """A reply of an earlier process may stand on a terminal that nobody can look at any more."""
        return ()

    async def recent(self, conversation: Conversation, *, limit: int) -> Sequence[IncomingMessage]:
        """Nobody else speaks in a terminal."""
        raise HistoryUnreadable("A terminal has no channel that could be read.")

    async def fetch_file(self, message: IncomingMessage, file: AttachedFile, *, limit: int) -> bytes:
        """Nothing is attached to a line of text."""
        raise FileUnreadable("a terminal has no files")

    @asynccontextmanager
    async def typing(self, conversation: Conversation, asked: str) -> AsyncIterator[None]:
        """A terminal shows no typing sign."""
        yield

    async def _handle(self, line: str) -> None:
        text = line
        if self._replay is not None:
            try:
                said_at, text = parse_stamped(line)
            except ValueError as error:
                self._write(str(error))
                return
            self._replay.set(said_at)
        if self._commands is not None and text.startswith("/"):
            self._write(await self._run_command(text, self._commands))
            return
        incoming = IncomingMessage(
            id=uuid.uuid4().hex,
            conversation=self._conversation,
            person=f"console:{self._name}",
            author_name=self._name,
            text=text,
            sent_at=self._clock.now(),
        )
        self._asked = incoming.id
        self._replied.clear()
        if not await self._on_message(incoming):
            self._tell(_SILENCED)
            return
        await self._reply_or_none()
        if self._unread is not None:
            raise self._unread

    async def _reply_or_none(self) -> None:
        """Wait for the reply; where a turn broke so badly that none can be given, say so instead."""
        waits = [asyncio.ensure_future(self._replied.wait()), asyncio.ensure_future(self._settled())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        if not self._replied.is_set():
            self._tell(_UNANSWERED)

    async def _run_command(self, text: str, commands: Commands) -> str:
        """What a command answers."""
        try:
            typed = parse(text, commands.table)
        except InvalidInput as error:
            return str(error)
        caller = Caller(person=f"console:{self._name}", name=self._name, is_operator=True)
        reply = await commands.run(
            typed.group,
            typed.name,
            Invocation(
                caller=caller,
                conversation=self._conversation,
                arguments=typed.arguments,
                confirmed=typed.confirmed,
            ),
        )
        lines = [reply.text]
        if reply.attachment is not None:
            lines.append(await asyncio.to_thread(_saved, reply.attachment, self._downloads))
        if reply.confirm is not None:
            lines.append(f"{reply.confirm}? Then write the same command with {CONFIRMED}:yes behind it.")
        return "\n\n".join(lines)


def _saved(attachment: Attachment, folder: Path) -> str:
    """Write a file that is not there yet; a sentence on what became of it."""
    path = folder / attachment.name
    try:
        with path.open("xb") as file:
            file.write(attachment.content)
    except OSError as error:
        return f"The file {path} cannot be written: {error.strerror}."
    return f"Written to {path}."


def parse_stamped(line: str) -> tuple[datetime, str]:
    """A line that begins with an ISO 8601 time with its zone, then a space or tab, then the message.

    Raises:
        ValueError: with a sentence for the person, when the line does not begin so, or with a time that memory, which
            counts forwards and backwards from it, cannot stand at.
    """
    stamp, _, text = line.strip().partition("\t" if "\t" in line else " ")
    try:
        sent_at = datetime.fromisoformat(stamp)
    except ValueError:
        sent_at = None
    if sent_at is None or sent_at.tzinfo is None:
        raise ValueError(
            f"{stamp[:40]!r} is no time with a zone. Begin each line like this: 2023-05-08T13:56:00Z Hello"
        )
    if sent_at.year not in _YEARS:
        raise ValueError(f"{stamp[:40]!r} is too far away. A line may be of the years {_YEARS[0]} to {_YEARS[-1]}.")
    return sent_at, text


def pipe_reader(stream: TextIO) -> ReadLine:
    """Reads lines of a pipe or file; bytes that are no UTF-8 become replacement characters."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="utf-8", errors="replace")

    def read() -> str | None:
        line = stream.readline()
        return line.rstrip("\n") if line else None

    return read


def terminal_reader(prompt: str) -> ReadLine:
    """Reads lines that a person types, with editing and history."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # input() edits lines once this is imported

    def read() -> str | None:
        try:
            return input(prompt)
        except EOFError:
            print(file=sys.stdout)
            return None

    return read


async def _lines(read_line: ReadLine) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    wanted = threading.Semaphore(0)
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    def read_on() -> None:
        while wanted.acquire():
            line = read_line()
            with contextlib.suppress(RuntimeError):  # the loop has ended; nobody waits for this line
                loop.call_soon_threadsafe(queue.put_nowait, line)
            if line is None:
                return

    threading.Thread(target=read_on, name="console", daemon=True).start()
    while True:
        wanted.release()
        line = await queue.get()
        if line is None:
            return
        yield line
