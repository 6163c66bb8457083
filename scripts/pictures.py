"""Draws what people see of the main commands, from what is really sent, into ``docs/pictures``.

Somebody talks to the bot as it answers without a key; then the commands are run, their answers laid out as each
platform gets them, and drawn by ``scripts/drawing.py``. Names that differ with every run are replaced by fixed ones,
so that the same payloads make the same pictures. Run it as ``python -m scripts.pictures``.
"""

from __future__ import annotations

import asyncio
import io
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import discord

from adapters.console import ConsoleAdapter, ReplayClock, pipe_reader
from adapters.discord_buttons import below as below_on_discord
from adapters.discord_message import MESSAGE_LIMIT
from adapters.slack_blocks import messages_for
from adapters.slack_views import below as below_on_slack
from adapters.slack_views import home_view
from adapters.text import split
from bot.actions import Press
from bot.application import Application, open_application
from bot.chat import Conversation
from bot.commands import Caller, CommandReply, Group, Invocation
from bot.config import load_settings
from bot.logs import configure_logs
from scripts.drawing import drawn_discord, drawn_slack

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"

_CONVERSATION = """\
2026-03-02T09:30Z I live in Oslo.
2026-03-02T09:31Z I like green tea.
2026-03-02T12:00Z I moved to Rome last week.
2026-03-02T12:01Z My sister Mia is allergic to nuts.
2026-03-02T14:00Z /memory end-session console:ann
"""
_ANN = Caller(person="console:ann", name="ann")
_ADMIN = Caller(person="console:ada", name="ada", is_operator=True)
_HANDLE = re.compile(r"(?m)^([a-z2-7]{6})  \d{4}-\d\d-\d\d")
_FIXED_HANDLES = ("k3x2ab", "q7d4mz", "v5t6pe", "r2c3ws", "h4n5yk", "b6j7uf")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """What the commands answered."""

    view: CommandReply
    facts: CommandReply
    rollback: CommandReply
    own: CommandReply
    page: CommandReply


async def pictures() -> dict[str, str]:
    """Every picture as SVG, by the name of its file."""
    configure_logs("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"data_dir": folder}, env_file=None)
        clock = ReplayClock(datetime(2026, 1, 1, tzinfo=UTC))
        async with open_application(settings, clock=clock) as app:
            await _talk(app, clock)
            answers = await _called(app)
            drawn = {**_on_discord(app, answers), **_on_slack(app, answers)}
    return {name: _with_fixed_handles(picture, answers.facts.text) for name, picture in drawn.items()}


async def _talk(app: Application, clock: ReplayClock) -> None:
    console = ConsoleAdapter(
        name="ann",
        audience="dm",
        on_message=app.handler.accept,
        settled=app.handler.idle,
        clock=clock,
        read_line=pipe_reader(io.StringIO(_CONVERSATION)),
        write=lambda text: None,
        replay=clock,
        commands=app.commands,
        tell=lambda notice: None,
    )
    app.handler.attach({console.key: console})
    app.handler.open()
    await console.run()
    await app.handler.idle()
    await app.system.settle()


async def _called(app: Application) -> _Answers:
    ann = Conversation(platform="console", key="console:ann:dm", audience="dm")

    async def call(group: Group, name: str, who: Caller, **arguments: str) -> CommandReply:
        return await app.commands.run(group, name, Invocation(caller=who, conversation=ann, arguments=arguments))

    page = Press(action="facts", subject="1", person=_ANN.person)
    return _Answers(
        view=await call(Group.MEMORY, "view", _ADMIN, person=_ANN.person),
        facts=await call(Group.MYDATA, "facts", _ANN),
        rollback=await call(Group.MEMORY, "rollback", _ADMIN, person=_ANN.person, version="1"),
        own=await call(Group.MYDATA, "show", _ANN),
        page=await app.actions.run(page, Invocation(caller=_ANN, conversation=ann)),
    )


def _on_discord(app: Application, answers: _Answers) -> dict[str, str]:
    def payload(reply: CommandReply) -> list[Mapping[str, Any]]:
        view = below_on_discord(reply, app.actions, _ANN.person) or discord.ui.View()
        if reply.confirm is not None:
            view.add_item(discord.ui.Button(label=reply.confirm, style=discord.ButtonStyle.danger, custom_id="confirm"))
        *before, last = split(reply.text, MESSAGE_LIMIT)
        return [*({"content": text} for text in before), {"content": last, "components": view.to_components()}]

    return {
        "discord-view.svg": drawn_discord("/memory view", payload(answers.view)),
        "discord-facts.svg": drawn_discord("/mydata facts", payload(answers.facts)),
        "discord-rollback.svg": drawn_discord("/memory rollback", payload(answers.rollback)),
    }


def _on_slack(app: Application, answers: _Answers) -> dict[str, str]:
    def blocks(reply: CommandReply) -> Sequence[Mapping[str, Any]]:
        offered = below_on_slack(reply, app.actions, _ANN.person)
        messages = messages_for(reply.text, confirm=reply.confirm, token="token", below=offered)
        return [block for message in messages for block in message["blocks"]]

    home = home_view(memory=answers.own, facts=answers.page, actions=app.actions, person=_ANN.person, page=1)
    return {
        "slack-view.svg": drawn_slack("/memory view", blocks(answers.view)),
        "slack-facts.svg": drawn_slack("/mydata facts", blocks(answers.facts)),
        "slack-rollback.svg": drawn_slack("/memory rollback", blocks(answers.rollback)),
        "slack-home.svg": drawn_slack("Home", home["blocks"]),
    }


def _with_fixed_handles(picture: str, facts: str) -> str:
    for handle, fixed in zip(_HANDLE.findall(facts), _FIXED_HANDLES, strict=False):
        picture = picture.replace(handle, fixed)
    return picture


def main() -> None:
    """Draw them all."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in asyncio.run(pictures()).items():
        (FOLDER / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
