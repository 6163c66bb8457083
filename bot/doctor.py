"""keepsake doctor: what is set up, what works, and what to do about the rest.

Invariant: every finding is a plain sentence; nothing here prints a secret, and nothing it looks at is changed,
except that a missing database is created.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from enum import StrEnum

import numpy as np

from bot.application import embedder_of, open_application
from bot.backups import backups_in
from bot.bootstrap import ask_platforms
from bot.config import ConfigurationError, Settings
from bot.disk import existing, file_system, wiped_disk
from bot.tool_table import toolbox_for
from bot.tools_mcp import CONNECTED, served_tools
from memory.errors import EmbedderError, MemorySystemError, StorageError
from memory.indexes.faiss_index import FaissIndex
from memory.messages import user_message
from memory.ports import SystemClock
from memory.prompt.assembler import Gathered, assemble
from memory.records import BLOCK_LABELS, MemoryBlock
from memory.stores.mirror_changes import MirrorProgress
from memory.tokens import TiktokenCounter

_LITTLE_ROOM = 500 * 2**20
_OVERDUE = 2  # times the interval
_LAGGING = timedelta(hours=1)


class Verdict(StrEnum):
    """How a check came out."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One checked thing.

    Attributes:
        name: what was checked.
        verdict: how it came out.
        sentence: what was found, and what to do where something is wrong.
    """

    name: str
    verdict: Verdict
    sentence: str

    @property
    def failed(self) -> bool:
        """Whether the bot cannot work like this."""
        return self.verdict is Verdict.FAILED


async def examine(settings: Settings, *, online: bool = False) -> list[Finding]:
    """Check everything that checked settings can still get wrong.

    Args:
        settings: checked settings.
        online: whether to ask the platforms too what is missing there.
    """
    return [
        _ok("settings", "Every setting can be used."),
        *[finding async for finding in _database(settings)],
        await asyncio.to_thread(_disk, settings),
        await asyncio.to_thread(_backups, settings),
        await _embedder(settings),
        await asyncio.to_thread(_index),
        await asyncio.to_thread(_window, settings),
        *_tokens(settings),
        *await _servers(settings),
        *(await _platforms(settings) if online else ()),
    ]


def show(findings: Sequence[Finding], *, as_json: bool) -> None:
    """Print the findings, as a table or as JSON."""
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    colours = {Verdict.OK: "green", Verdict.NOTE: "yellow", Verdict.FAILED: "red"}
    for finding in findings:
        colour = colours[finding.verdict]
        table.add_row(finding.name, Text(finding.verdict, style=colour), Text(finding.sentence))
    Console().print(table)


def _ok(name: str, sentence: str) -> Finding:
    return Finding(name=name, verdict=Verdict.OK, sentence=sentence)


def _note(name: str, sentence: str) -> Finding:
    return Finding(name=name, verdict=Verdict.NOTE, sentence=sentence)


def _failed(name: str, sentence: str) -> Finding:
    return Finding(name=name, verdict=Verdict.FAILED, sentence=sentence)


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    try:
        async with open_application(settings, clock=SystemClock()) as application:
            progress = await application.system.stores.search.progress()
            failing = await application.system.oversight.failing_sources()
            mirrored = await application.system.stores.mirror_changes.progress()
            await application.system.oversight.try_writing()
    except StorageError as error:
        yield _failed("database", str(error))
        return
    where = "the database of DATABASE_URL" if settings.database_url else settings.database_address
    yield _ok("database", f"{where} can be read and written, and has the newest schema.")
    if progress.waiting:
        yield _note("search", f"{progress}, while the bot runs. Until then those texts are found by their words alone.")
    else:
        yield _ok("search", f"{progress}.")
    if failing:
        yield _failed(
            "sources",
            f"Could not be searched: {', '.join(failing)}. The log line search_failed says why. Where the database is "
            "damaged, put a backup back with keepsake restore.",
        )
    else:
        yield _ok("sources", "Every kind of memory can be searched.")
    yield mirror_finding(mirrored, settings)


def mirror_finding(progress: MirrorProgress, settings: Settings) -> Finding:
    """How the mirror stands."""
    if settings.mirror is None:
        return _note("mirror", "There is none. With TURSO_URL set, memory outlives this machine.")
    if progress.mirrored_at is None:
        return _note("mirror", "Nothing is mirrored yet. The running bot does it.")
    age = SystemClock().now() - progress.mirrored_at
    sentence = f"It had everything {age / timedelta(minutes=1):.0f} minutes ago; {progress.waiting:,} rows wait."
    if progress.waiting and age > _LAGGING:
        return _failed("mirror", f"{sentence} Look for mirror_postponed in the log of the running bot.")
    return _ok("mirror", sentence)


def _disk(settings: Settings) -> Finding:
    folder = existing(settings.data_dir)
    free = shutil.disk_usage(folder).free
    if free < _LITTLE_ROOM:
        return _failed("disk", f"Only {free // 2**20} MB are free in {folder}. Make room, or set DATA_DIR elsewhere.")
    if (warning := wiped_disk(settings)) is not None:
        return _note("disk", warning)
    return _ok("disk", f"{free // 2**30} GB are free in {folder} ({file_system(folder) or 'unknown kind of disk'}).")


def _backups(settings: Settings) -> Finding:
    if settings.backup_dir is None:
        return _note("backup", "None is made by the clock. Set BACKUP_DIR, or run keepsake backup FILE yourself.")
    made = backups_in(settings.backup_dir)
    if not made:
        return _note("backup", f"There is none in {settings.backup_dir} yet. The running bot makes them.")
    at, newest = made[-1]
    age = SystemClock().now() - at
    sentence = f"The newest of {len(made)} is {newest.name}, {age / timedelta(hours=1):.0f} hours old."
    if age > _OVERDUE * timedelta(hours=settings.backup_every_hours):
        return _failed("backup", f"{sentence} It is overdue: look for backup_failed in the log of the running bot.")
    return _ok("backup", sentence)


async def _embedder(settings: Settings) -> Finding:
    embedder = embedder_of(settings)
    try:
        near, far, ask = await embedder.embed(["Ann likes jasmine tea.", "The server is down.", "favourite drink"])
    except EmbedderError as error:
        return _failed("embedder", str(error))
    finally:
        await embedder.close()
    if float(ask @ near) <= float(ask @ far):
        return _failed("embedder", f"{embedder.name} gives wrong vectors. Install the packages again.")
    return _ok("embedder", f"{embedder.name} works.")


def _index() -> Finding:
    index = FaissIndex(4)
    vectors = np.eye(4, dtype=np.float32)
    index.add([1, 2, 3, 4], vectors)
    [(found, _), *_] = index.search(vectors[2], 1)
    if found != 3:
        return _failed("index", "FAISS finds the wrong vector. Install faiss-cpu again.")
    return _ok("index", "FAISS works.")


def _window(settings: Settings) -> Finding:
    parameters = settings.memory_parameters
    full = MemoryBlock(label=BLOCK_LABELS[0], value="word " * (parameters.core_memory_limit // 5), version=1)
    try:
        prompt = assemble(
            Gathered(
                agent_name=parameters.agent_name,
                audience_note="Only this person hears this conversation.",
                summary="",
                blocks=(full,),
                window_summary="word " * parameters.window_summary_max_words,
                history=(),
                turn=(user_message("Hello"),),
                hits=(),
                now=SystemClock().now(),
                tools=toolbox_for(parameters).specs,
            ),
            parameters=parameters,
            counter=TiktokenCounter(),
        )
    except MemorySystemError as error:
        return _failed("window", str(error))
    room = parameters.eviction_target * parameters.context_window_tokens
    if prompt.fixed_tokens > room:
        return _failed(
            "window",
            f"The fixed parts of a prompt take {prompt.fixed_tokens} tokens, more than an eviction leaves "
            f"({int(room)} of CONTEXT_WINDOW_TOKENS={parameters.context_window_tokens}). Raise it, "
            "for example to 32000.",
        )
    return _ok(
        "window",
        f"The fixed parts of a prompt take up to {prompt.fixed_tokens} of {parameters.context_window_tokens} tokens.",
    )


async def _servers(settings: Settings) -> list[Finding]:
    """What became of each MCP server when it was started."""
    try:
        servers = served_tools(settings.mcp_config, TiktokenCounter())
    except ConfigurationError as error:
        return [_failed("MCP", problem) for problem in error.problems]
    async with servers.running():
        for connection in servers.connections:
            await connection.settled.wait()
        return [
            _ok(f"MCP {one.name}", f"It offers {len(one.tools)} tools.")
            if one.state == CONNECTED
            else _failed(f"MCP {one.name}", f"{one.state[:1].upper()}{one.state[1:]}. See docs/tools.md.")
            for one in servers.connections
        ]


async def _platforms(settings: Settings) -> list[Finding]:
    """What the platforms themselves say of the bot."""
    findings = []
    for platform, problems in (await ask_platforms(settings)).items():
        findings += [_failed(f"{platform} online", problem) for problem in problems]
        if not problems:
            findings.append(_ok(f"{platform} online", "It knows the bot, and nothing is missing there."))
    return findings


def _tokens(settings: Settings) -> Iterator[Finding]:
    if settings.anthropic_api_key is None:
        yield _note("Claude", "No ANTHROPIC_API_KEY: the rule-based model answers.")
    else:
        yield _ok("Claude", f"A key is set; {settings.chat_model} answers, {settings.memory_model} looks after memory.")
    if settings.discord_token is None:
        yield _note("Discord", "No DISCORD_TOKEN: not started. See docs/discord.md.")
    else:
        yield _ok("Discord", "A token is set.")
    yield _slack(settings)


def _slack(settings: Settings) -> Finding:
    if settings.slack_bot_token is None:
        return _note("Slack", "No SLACK_BOT_TOKEN: not started. See docs/slack.md.")
    for name, secret, prefix in (
        ("SLACK_BOT_TOKEN", settings.slack_bot_token, "xoxb-"),
        ("SLACK_APP_TOKEN", settings.slack_app_token, "xapp-"),
    ):
        if secret is not None and not secret.get_secret_value().startswith(prefix):
            return _failed("Slack", f"{name} does not begin with {prefix}. Copy it again; see docs/slack.md.")
    way = "Socket Mode" if settings.slack_app_token else "HTTP"
    return _ok("Slack", f"Tokens are set; events come over {way}.")
