"""The action table on Discord: in the menu of messages, and as the buttons, menus and forms below answers.

Invariant: a click is acknowledged before anything is done for it, and answered for whoever clicked alone. Nothing is
kept between a button and its click.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import discord
from discord import app_commands

from adapters.discord_answers import OnFailure, send_reply, tell
from adapters.discord_buttons import below, filled_in, form_of, pressed
from adapters.discord_calls import invocation_of, person_of
from adapters.discord_errors import CONNECTION_ERRORS
from adapters.discord_underway import Underway
from bot import replies
from bot.actions import Action, Actions, Form, Place, Press, is_press
from bot.commands import CommandReply
from memory.errors import InvalidInput

_CONTEXTS = app_commands.AppCommandContext(guild=True, dm_channel=True, private_channel=False)
# Discord waits three seconds for a form; what is to stand in it must not take them up.
_FORM_SECONDS = 1.5


class DiscordActions:
    """Takes clicks in.

    Args:
        actions: the table, and what runs it.
        underway: the calls that are being answered.
        failed: told what went wrong with an answer.
    """

    def __init__(self, actions: Actions, *, underway: Underway, failed: OnFailure) -> None:
        self._actions = actions
        self._underway = underway
        self._failed = failed

    def menus(self) -> list[app_commands.ContextMenu]:
        """What the menu of every message offers."""
        return [self._menu(action) for action in self._actions.at(Place.MESSAGE)]

    def below(self, interaction: discord.Interaction, reply: CommandReply) -> discord.ui.View | None:
        """What stands below the answer to a command."""
        return below(reply, self._actions, person_of(interaction))

    def _menu(self, action: Action) -> app_commands.ContextMenu:
        async def chosen(interaction: discord.Interaction, message: discord.Message) -> None:
            press = Press(action=action.name, subject=str(message.id), person=person_of(interaction))
            await interaction.response.defer(ephemeral=True, thinking=True)
            await self._underway.follow(interaction, self._answer(interaction, press, message=message.id))

        return app_commands.ContextMenu(
            name=action.label, callback=chosen, type=discord.AppCommandType.message, allowed_contexts=_CONTEXTS
        )

    async def clicked(self, interaction: discord.Interaction) -> None:
        """Do what a click or a form that was sent asks for, if it is one of ours."""
        data = interaction.data
        if data is None or interaction.type not in (
            discord.InteractionType.component,
            discord.InteractionType.modal_submit,
        ):
            return
        carried = pressed(data)
        if not is_press(carried):
            return
        try:
            await self._pressed(interaction, carried)
        except InvalidInput as error:
            await tell(interaction, str(error))
        except (discord.DiscordException, *CONNECTION_ERRORS) as error:
            await self._failed(interaction, error)

    async def _pressed(self, interaction: discord.Interaction, carried: str) -> None:
        press = self._actions.read(carried, person_of(interaction))
        sent = interaction.type is discord.InteractionType.modal_submit
        if self._underway.stopping:
            await tell(interaction, replies.STOPPING)
        elif self._actions.asks_for(press) and not sent:
            await interaction.response.send_modal(form_of(await self._form(interaction, press), press))
        else:
            if press.confirmed:
                await interaction.response.edit_message(view=None)
            else:
                await interaction.response.defer(ephemeral=True, thinking=True)
            fields = filled_in(interaction.data or {}) if sent else {}
            await self._underway.follow(interaction, self._answer(interaction, press, fields))

    async def _form(self, interaction: discord.Interaction, press: Press) -> Form:
        try:
            async with asyncio.timeout(_FORM_SECONDS):
                return await self._actions.form(press, invocation_of(interaction))
        except TimeoutError:
            return self._actions.empty_form(press)

    async def _answer(
        self,
        interaction: discord.Interaction,
        press: Press,
        fields: Mapping[str, str] | None = None,
        *,
        message: int | None = None,
    ) -> None:
        reply = await self._actions.run(press, invocation_of(interaction, message=message), fields)
        await send_reply(interaction, reply, below(reply, self._actions, press.person, again=press))
