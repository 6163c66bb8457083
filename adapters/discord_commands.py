"""The command table as Discord's slash commands: registered, offered, run, and answered.

Invariant: every command is acknowledged before anything else is done, and answered for its caller alone. Whoever
calls while the bot stops is told so.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import discord
import structlog
from discord import app_commands

from adapters.discord_actions import DiscordActions
from adapters.discord_answers import Confirmation, send_reply, tell
from adapters.discord_calls import caller_of, invocation_of
from adapters.discord_underway import Underway
from bot import replies
from bot.actions import Actions
from bot.commands import Argument, Command, Commands, Group, Invocation, Kind

_log = structlog.get_logger(__name__)

_DESCRIPTION_LIMIT = 100
_MOST_CHOICES = 25
_COMMAND_CHANGED = "This command has changed. Reload Discord (Ctrl+R) and choose it again."
_BUTTON_OF_BEFORE = "I was restarted since this was asked, and have done nothing. Call the command again."
_CONFIRM = "confirm"

# Unknown interaction, unknown webhook, token expired, acknowledged already: nobody waits for an answer any more.
_ENDED = frozenset({10062, 10015, 50027, 40060})

_OPTION_TYPES: Mapping[Kind, type] = {Kind.TEXT: str, Kind.NUMBER: int, Kind.PERSON: discord.User}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """How a top-level command appears. ``permissions`` are what a server's settings start from."""

    description: str
    contexts: app_commands.AppCommandContext
    permissions: discord.Permissions | None = None


_SHOWN: Mapping[Group, _Shown] = {
    Group.MYDATA: _Shown(
        description="What I remember about you: see it, take it along, stop it, erase it.",
        contexts=app_commands.AppCommandContext(guild=True, dm_channel=True, private_channel=False),
    ),
    Group.MEMORY: _Shown(
        description="For admins of this server: look at what I remember of its members, and put it right.",
        contexts=app_commands.AppCommandContext(guild=True, dm_channel=False, private_channel=False),
        permissions=discord.Permissions(manage_guild=True),
    ),
}


class SlashCommands(app_commands.CommandTree[discord.Client]):
    """The commands of one connection.

    Args:
        client: the connection.
        commands: the table, and what runs it.
        actions: what is offered in the menus of messages and below answers.
    """

    def __init__(self, client: discord.Client, commands: Commands, actions: Actions) -> None:
        super().__init__(client, allowed_installs=app_commands.AppInstallationType(guild=True, user=False))
        self._commands = commands
        self._underway = Underway()
        self._actions = DiscordActions(actions, underway=self._underway, failed=self.on_error)
        self._start = secrets.token_hex(4)  # told apart by it are the buttons of this process, which wait for a click
        for group in Group:
            rows = [row for row in commands.table if row.group is group]
            if rows:
                self.add_command(self._top_level(group, rows))
        for menu in self._actions.menus():
            self.add_command(menu)

    # registration

    async def register(self) -> None:
        """Tell Discord which commands there are, if it knows others. Without them, chatting still works."""
        try:
            if await self._registered() == _essences(command.to_dict(self) for command in self.get_commands()):
                return
            await self.sync()
            _log.info("discord_commands_registered", count=len(self._commands.table))
        except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
            _log.warning(
                "discord_commands_not_registered",
                error=type(error).__name__,
                status=getattr(error, "status", None),
                remedy="start again; if it stays so, invite the bot anew with the scope applications.commands",
            )

    async def _registered(self) -> dict[str, dict[str, Any]]:
        # As Discord writes them down: discord.py's own value for a fetched command loses where it may be used.
        application = self.client.application_id
        return {} if application is None else _essences(await self.client.http.get_global_commands(application))

    def _top_level(self, group: Group, rows: list[Command]) -> app_commands.Group:
        shown = _SHOWN[group]
        top = app_commands.Group(
            name=group.value,
            description=shown.description,
            allowed_contexts=shown.contexts,
            guild_only=not shown.contexts.dm_channel,
            default_permissions=shown.permissions,
        )
        for row in rows:
            top.add_command(self._sub_command(row))
        return top

    def _sub_command(self, row: Command) -> app_commands.Command[Any, ..., None]:
        async def callback(interaction: discord.Interaction, **options: object) -> None:
            await self._perform(interaction, row, options)

        # discord.py reads the options of a command from the signature of its function.
        callback.__signature__ = _signature(row)  # type: ignore[attr-defined]  # functions have no such attribute, but may
        app_commands.describe(**{argument.name: _cut(argument.help) for argument in row.arguments})(callback)
        command: app_commands.Command[Any, ..., None] = app_commands.Command(
            name=row.name, description=_cut(row.help), callback=callback
        )
        for argument in row.arguments:
            if argument.suggest is not None and argument.kind is not Kind.PERSON:  # Discord offers persons itself
                self._offer(command, row, argument)
        return command

    def _offer(self, command: app_commands.Command[Any, ..., None], row: Command, argument: Argument) -> None:
        async def choices(interaction: discord.Interaction, typed: str | int) -> list[app_commands.Choice[Any]]:
            filled = {name: value for name, value in interaction.namespace if name != argument.name}
            invocation = invocation_of(interaction, filled)
            found = await self._commands.suggest(row.group, row.name, argument.name, invocation)
            return [
                app_commands.Choice(name=_cut(known.label), value=_option_value(argument, known.value))
                for known in found
                if str(typed).casefold() in f"{known.value} {known.label}".casefold()
            ][:_MOST_CHOICES]

        command.autocomplete(argument.name)(choices)

    # calls

    async def interaction_check(self, interaction: discord.Interaction, /) -> bool:
        """Nothing is begun while the bot is stopping, and whoever calls then is told so."""
        if self._underway.stopping and interaction.type is not discord.InteractionType.autocomplete:
            await tell(interaction, replies.STOPPING)
        return not self._underway.stopping

    async def stop(self) -> None:
        """Begin no more commands, and end with those that run; see ``Underway.stop``."""
        await self._underway.stop()

    async def clicked(self, interaction: discord.Interaction) -> None:
        """Take in any interaction: the clicks among them that are ours are answered here."""
        data: Mapping[str, Any] = interaction.data or {}
        kind, _, of = str(data.get("custom_id", "")).partition(":")
        if kind == _CONFIRM and not of.startswith(f"{self._start}:"):
            await tell(interaction, _BUTTON_OF_BEFORE)
        else:
            await self._actions.clicked(interaction)

    async def _perform(self, interaction: discord.Interaction, row: Command, options: Mapping[str, object]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await self._underway.follow(interaction, self._answer(interaction, row, invocation_of(interaction, options)))

    async def _answer(self, interaction: discord.Interaction, row: Command, invocation: Invocation) -> None:
        reply = await self._commands.run(row.group, row.name, invocation)
        below = self._actions.below(interaction, reply)
        if reply.confirm is not None:

            async def confirmed(click: discord.Interaction) -> None:
                if self._underway.stopping:
                    await tell(click, replies.STOPPING)
                    return
                # Who clicks is asked anew: permissions may have been taken away meanwhile.
                again = replace(invocation, caller=caller_of(click), confirmed=True)
                await self._underway.follow(click, self._answer(click, row, again))

            below = Confirmation(
                label=reply.confirm,
                custom_id=f"{_CONFIRM}:{self._start}:{interaction.id}",
                asked=interaction,
                confirmed=confirmed,
                failed=self.on_error,
            )
        await send_reply(interaction, reply, below)

    async def on_error(self, interaction: discord.Interaction, error: Exception, /) -> None:
        """Say that a command failed, to its caller; where nobody waits any more, only log it."""
        cause = error.original if isinstance(error, app_commands.CommandInvokeError) else error
        if isinstance(cause, aiohttp.ClientError | OSError) or getattr(cause, "code", None) in _ENDED:
            _log.warning("discord_command_unanswered", error=type(cause).__name__, interaction_id=interaction.id)
            return
        if isinstance(error, app_commands.CommandNotFound | app_commands.CommandSignatureMismatch):
            await tell(interaction, _COMMAND_CHANGED)
            return
        error_id = secrets.token_hex(4)
        _log.error("discord_command_broke", error_id=error_id, exc_info=cause)
        await tell(interaction, replies.bug(error_id))


def _option_value(argument: Argument, value: str) -> str | int:
    return int(value) if argument.kind is Kind.NUMBER else value


def _cut(text: str) -> str:
    return text if len(text) <= _DESCRIPTION_LIMIT else text[: _DESCRIPTION_LIMIT - 1] + "…"


def _signature(row: Command) -> inspect.Signature:
    parameters = [
        inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=discord.Interaction)
    ]
    for argument in row.arguments:
        kind = _OPTION_TYPES[argument.kind]
        parameters.append(
            inspect.Parameter(
                argument.name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind if argument.required else kind | None,
                default=inspect.Parameter.empty if argument.required else None,
            )
        )
    return inspect.Signature(parameters)


def _essences(commands: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {command["name"]: _essence(command) for command in commands}


def _essence(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What people notice of a command; what Discord adds, or leaves out as its default, is left out here too."""
    essence = {"name": payload["name"], "type": payload["type"]}
    if payload.get("description"):  # what stands in the menu of a message has none
        essence["description"] = payload["description"]
    for name in ("default_member_permissions", "required", "autocomplete"):
        if payload.get(name):
            essence[name] = int(payload[name])  # Discord writes permissions as text
    for name in ("contexts", "integration_types"):
        if payload.get(name):
            essence[name] = sorted(payload[name])
    if payload.get("options"):
        essence["options"] = [_essence(option) for option in payload["options"]]
    return essence
