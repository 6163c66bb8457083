"""``keepsake run`` as a process of its own, on loopback doubles of Discord, Slack and Claude.

``keepsake_run`` starts it as a shell does; ``forked_run`` in a tenth of the time, for what is not about the start.

Invariant: a process is ended by its own id, whatever a test does; nothing of the tester's environment reaches it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from memory.ports import Clock
from tests.doubles.claude import Answer, Body, Break, ClaudeDouble, Step, text
from tests.doubles.discord import DiscordDouble
from tests.doubles.discord_gateway import TOKEN as DISCORD_TOKEN
from tests.doubles.discord_world import Channel
from tests.doubles.slack import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET, SlackDouble
from tests.forked import Forked, forked_keepsake

CHAT_MODEL = "claude-sonnet-5-5"
API_KEY = "sk-ant-key-of-the-double"

_ROOT = Path(__file__).parents[2]
_PATIENCE = 40.0


class _Fork:
    """A forked process, shown as asyncio shows those that it starts."""

    def __init__(self, process: Forked, stderr: asyncio.StreamReader) -> None:
        self.stderr = stderr
        self.pid, self.terminate, self.kill = process.pid, process.terminate, process.kill
        self._process = process

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait(self) -> int:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._process.sentinel, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        return self._process.wait()


class Keepsake:
    """One process. Started by ``keepsake_run`` or ``forked_run``.

    Attributes:
        lines: what it has written to standard error.
    """

    def __init__(self, process: asyncio.subprocess.Process | _Fork) -> None:
        self.lines: list[str] = []
        self._process = process
        self._written = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        return "\n".join(self.lines)

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The log lines of an event."""
        entries = [json.loads(line) for line in self.lines if line.startswith("{")]
        return [entry for entry in entries if entry["event"] == event]

    async def until_logged(self, event: str, *, times: int = 1, patience: float = _PATIENCE) -> dict[str, Any]:
        """Wait for an event in the log. Raises AssertionError with all of the log if it does not come."""

        def seen() -> bool:
            return len(self.logged(event)) >= times or self._reading.done()

        try:
            async with asyncio.timeout(patience), self._written:
                await self._written.wait_for(seen)
        except TimeoutError:
            pass
        assert len(self.logged(event)) >= times, f"no {event!r} in the log:\n{self.stderr}"
        return self.logged(event)[-1]

    async def ended(self) -> int:
        """Wait until the process has ended; its exit code."""
        try:
            async with asyncio.timeout(_PATIENCE):
                code = await self._process.wait()
                await self._reading
        except TimeoutError:
            raise AssertionError(f"it does not end:\n{self.stderr}") from None
        return code

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    async def kill(self) -> None:
        """Send SIGKILL, which it cannot notice, and wait until it is gone."""
        if self._process.returncode is None:
            self._process.kill()
        await self.ended()

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            async with self._written:
                self.lines.append(line.decode().rstrip("\n"))
                self._written.notify_all()
        async with self._written:
            self._written.notify_all()


@asynccontextmanager
async def keepsake_run(folder: Path, settings: Mapping[str, str]) -> AsyncIterator[Keepsake]:
    """Start ``keepsake run`` with exactly these settings, and end it at the end of the context.

    Args:
        folder: where it is started; the database is in ``data`` below it.
        settings: its environment. The web server takes any free port unless they say otherwise.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "run"),
        cwd=folder,
        env={"PYTHONPATH": str(_ROOT), **_environment(settings)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    keepsake = Keepsake(process)
    try:
        yield keepsake
    finally:
        await keepsake.kill()


@asynccontextmanager
async def forked_run(folder: Path, settings: Mapping[str, str]) -> AsyncIterator[Keepsake]:
    """The same in a process that is forked from one that has imported the program."""
    with forked_keepsake("run", folder=folder, settings=_environment(settings)) as process:
        stderr = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stderr), process.stderr
        )
        keepsake = Keepsake(_Fork(process, stderr))
        try:
            yield keepsake
        finally:
            await keepsake.kill()
            transport.close()


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PORT": "0", "METRICS_PORT": "0", **settings}


@dataclass(kw_only=True)
class Mind:
    """What Claude says: ``replies`` by the person's words, an echo of them where there is none, and a word after a
    tool call.

    Attributes:
        replies: answers to certain words. One that is no text is the whole step.
        held: words that get no answer until the double is released.
    """

    replies: dict[str, str | Step] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)

    def __call__(self, body: Body) -> Step:
        if body["model"] != CHAT_MODEL:
            return Answer(blocks=(text("Nothing to add."),))
        words = words_asked(body)
        if words is None:
            return Answer(blocks=(text("Noted."),))
        reply = self.replies.get(words, f"You said: {words}")
        if not isinstance(reply, str):
            return reply
        return Answer(blocks=(text(reply),), breaks=Break.HOLD if words in self.held else None)


@dataclass(frozen=True, kw_only=True)
class Services:
    """The services that a process talks to; they outlive it."""

    discord: DiscordDouble
    slack: SlackDouble
    claude: ClaudeDouble
    mind: Mind

    @property
    def claude_settings(self) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": API_KEY, "ANTHROPIC_BASE_URL": self.claude.url}

    @property
    def discord_settings(self) -> dict[str, str]:
        return {
            "DISCORD_TOKEN": DISCORD_TOKEN,
            "DISCORD_API_URL": self.discord.api_url,
            "DISCORD_GATEWAY_URL": self.discord.gateway_url,
        }

    @property
    def slack_settings(self) -> dict[str, str]:
        """Slack over Socket Mode."""
        return {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_APP_TOKEN": APP_TOKEN,
            "SLACK_API_URL": self.slack.api_url,
        }

    @property
    def slack_http_settings(self) -> dict[str, str]:
        return {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": self.slack.api_url,
        }

    @property
    def all_settings(self) -> dict[str, str]:
        return self.claude_settings | self.discord_settings | self.slack_settings

    def discord_answers(self, chat: Channel) -> list[str]:
        """What the bot said in a channel, without the notice below its first answer."""
        said = [message for message in chat.messages if message["author"]["id"] == self.discord.bot.id]
        return [without_notice(message["content"]) for message in said]

    def slack_answers(self, channel: str) -> list[str]:
        """What the bot said in a channel, without the notice below its first answer."""
        return [without_notice(post["text"]) for post in self.slack.posts(channel)]

    def prompts(self, words: str) -> list[Body]:
        """What Claude was asked in answer to these words of a person."""
        return [body for body in self.claude.requests if body["model"] == CHAT_MODEL and words_asked(body) == words]

    def prompt(self, words: str) -> str:
        """The one request in answer to these words, as text."""
        [body] = self.prompts(words)
        return json.dumps(body, ensure_ascii=False)


@asynccontextmanager
async def services(*, clock: Clock | None = None) -> AsyncIterator[Services]:
    """All three doubles.

    Args:
        clock: that of the platforms, where it must agree with that of the process.
    """
    platforms = DiscordDouble() if clock is None else DiscordDouble(clock.now)
    async with platforms.running() as discord, SlackDouble() as slack, ClaudeDouble(piece=500) as claude:
        if clock is not None:
            slack.first_ts = int(clock.now().timestamp())
        mind = Mind()
        claude.default = mind
        yield Services(discord=discord, slack=slack, claude=claude, mind=mind)


def without_notice(answer: str) -> str:
    """An answer of one paragraph, without what a person is told once, below the first."""
    return answer.partition("\n\n")[0]


def words_asked(body: Body) -> str | None:
    """The person's words in the newest turn, behind the block of memory; None after a tool call."""
    newest: str | None = body["messages"][-1]["content"][-1].get("text")
    return newest


def log_is_clean(keepsake: Keepsake, *also_secret: str) -> bool:
    """Whether the output shows no traceback and no token."""
    return not unclean_lines(keepsake, *also_secret)


def unclean_lines(keepsake: Keepsake, *also_secret: str) -> list[str]:
    """The lines of the output that show a traceback or a token, each with the lines below it that are no log line."""
    signs = ("Traceback", API_KEY, DISCORD_TOKEN, BOT_TOKEN, APP_TOKEN, SIGNING_SECRET, *also_secret)
    found = []
    for number, line in enumerate(keepsake.lines):
        if any(sign in line for sign in signs):
            below = takewhile(lambda later: not later.startswith("{"), keepsake.lines[number + 1 :])
            found.append("\n".join([line, *below]))
    return found
