"""Brings application and adapters together: the only module that names adapters.

Invariant: an adapter is imported only where it is asked for, which keeps the first prompt close.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from bot.application import Application, open_application
from bot.config import Settings
from bot.disk import wiped_disk
from bot.lifecycle import converse, serve
from bot.logs import configure_logs
from bot.offline import OFFLINE_NOTICE
from memory.ports import SystemClock
from memory.records import Archive

if TYPE_CHECKING:
    from adapters.discord_adapter import DiscordAdapter
    from adapters.slack_adapter import SlackAdapter

# Where a replayed conversation's clock stands before its first message: earlier than any chat platform's messages.
_LONG_AGO = timedelta(days=365 * 30)


async def run_platforms(settings: Settings) -> None:
    """Answer on every platform that has its tokens, until a signal comes.

    Raises:
        AdapterStartFailed: a platform refuses us or cannot be reached.
        ConfigurationError: the web server cannot listen where HOST and PORT say.
        StorageError: the database cannot be used.
    """
    configure_logs(settings.log_level)
    if settings.anthropic_api_key is None:
        print(OFFLINE_NOTICE, file=sys.stderr)
    if (warning := wiped_disk(settings)) is not None:
        print(f"WARNING: {warning}", file=sys.stderr)
    async with open_application(settings, clock=SystemClock()) as application:
        discord = _discord(application)
        slack = _slack(application)
        await serve(
            application,
            [adapter for adapter in (discord, slack) if adapter is not None],
            slack_events=None if slack is None else slack.http_handler,
        )


def open_archive(path: Path, *, public: bool, team: str | None) -> Archive | None:
    """The archive of a platform that a file is, checked as a whole; None where it is no archive.

    Args:
        path: the file.
        public: for a channel of Discord, whether everyone on its server can read it.
        team: for Slack, the workspace's id, where the archive does not tell it.

    Raises:
        InvalidInput: it is damaged, or cannot be trusted.
    """
    from adapters.discord_archive import discord_archive, is_discord_archive
    from adapters.slack_archive import slack_archive

    with path.open("rb") as file:
        beginning = file.read(512)
    if beginning.startswith(b"PK"):
        return slack_archive(path, team=team)
    return discord_archive(path, public=public) if is_discord_archive(beginning) else None


async def run_console(settings: Settings, *, name: str, audience: str, replay: bool = False) -> None:
    """Chat in this terminal, or over a pipe, until the input ends.

    Args:
        settings: checked settings.
        name: who is talking.
        audience: who hears it.
        replay: each line begins with the time it was said.

    Raises:
        StorageError: the database cannot be used.
    """
    from adapters.console import ConsoleAdapter, ReplayClock, pipe_reader, terminal_reader

    at_terminal = sys.stdin.isatty()
    # People and programs that chat here want replies, not a log, unless they ask for it.
    configure_logs(settings.log_level if "log_level" in settings.model_fields_set else "WARNING")
    if settings.anthropic_api_key is None:
        print(OFFLINE_NOTICE, file=sys.stderr)
    if at_terminal:
        print(f"You are console:{name}. /mydata help lists what you can do, Ctrl-D ends the chat.", file=sys.stderr)
    replayed = ReplayClock(SystemClock().now() - _LONG_AGO) if replay else None
    clock = replayed or SystemClock()
    async with open_application(settings, clock=clock) as application:
        console = ConsoleAdapter(
            name=name,
            audience=audience,
            on_message=application.listener.guard(application.handler.accept),
            settled=application.handler.idle,
            clock=clock,
            read_line=terminal_reader(f"{name}> ") if at_terminal else pipe_reader(sys.stdin),
            write=_show_reply(settings.agent_name) if at_terminal else _print_reply,
            replay=replayed,
            commands=application.commands,
        )
        await converse(application, console)


def _print_reply(text: str) -> None:
    print(text, flush=True)


def _show_reply(agent_name: str) -> Callable[[str], None]:
    from rich.console import Console
    from rich.markdown import Markdown

    terminal = Console()

    def show(text: str) -> None:
        terminal.print(agent_name, style="bold", markup=False)
        terminal.print(Markdown(text.replace("\n", "  \n")))  # a line stays a line, as on the chat platforms

    return show


def _discord(application: Application) -> DiscordAdapter | None:
    """The adapter for Discord, where its token is set."""
    settings = application.settings
    if settings.discord_token is None:
        return None
    from adapters.discord_adapter import DiscordAdapter

    return DiscordAdapter(
        token=settings.discord_token.get_secret_value(),
        on_message=application.following.accept,
        is_for_us=application.listener.is_for_us,
        on_change=application.following.apply,
        commands=application.commands,
        actions=application.actions,
        api_url=settings.discord_api_url,
        gateway_url=settings.discord_gateway_url,
        last_seen=application.last_seen,
        look_back=application.look_back,
        shards=settings.discord_shards or None,
    )


def _slack(application: Application) -> SlackAdapter | None:
    """The adapter for Slack, where its token is set."""
    settings = application.settings
    if settings.slack_bot_token is None:
        return None
    from adapters.slack_adapter import SlackAdapter

    return SlackAdapter(
        bot_token=settings.slack_bot_token.get_secret_value(),
        on_message=application.following.accept,
        is_for_us=application.listener.is_for_us,
        on_change=application.following.apply,
        commands=application.commands,
        actions=application.actions,
        app_token=_revealed(settings.slack_app_token),
        signing_secret=_revealed(settings.slack_signing_secret),
        api_url=settings.slack_api_url,
        last_seen=application.last_seen,
        look_back=application.look_back,
    )


async def ask_platforms(settings: Settings) -> dict[str, list[str]]:
    """What each platform that has its tokens says is missing, by its name."""
    found = {}
    if settings.discord_token is not None:
        from adapters.discord_checkup import problems_on_discord

        token = settings.discord_token.get_secret_value()
        found["Discord"] = await problems_on_discord(token, api_url=settings.discord_api_url)
    if settings.slack_bot_token is not None:
        from adapters.slack_adapter import SLACK_API
        from adapters.slack_checkup import problems_on_slack

        found["Slack"] = await problems_on_slack(
            settings.slack_bot_token.get_secret_value(),
            _revealed(settings.slack_app_token),
            api_url=settings.slack_api_url or SLACK_API,
        )
    return found


def slack_manifest() -> dict[str, Any]:
    """The manifest of the Slack app, as the code needs it."""
    from adapters.slack_manifest import manifest

    return manifest()


def _revealed(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
