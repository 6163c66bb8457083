"""Who calls what on Discord, as the application knows it; pure.

Invariant: who administers a server is read from the very interaction that needs it, whatever the server's settings
let through.
"""

from __future__ import annotations

from collections.abc import Mapping

import discord

from adapters.discord_message import PLATFORM, conversation_in, link_to
from bot.commands import Caller, Invocation


def invocation_of(
    interaction: discord.Interaction, options: Mapping[str, object] | None = None, *, message: int | None = None
) -> Invocation:
    """A call as the application knows it.

    Args:
        interaction: the call.
        options: what was filled in; persons become ``discord:<id>``, options left out nothing.
        message: the message that it was called on.
    """
    channel = interaction.channel or discord.Object(interaction.channel_id or 0)
    return Invocation(
        caller=caller_of(interaction),
        conversation=conversation_in(channel, interaction.guild),
        arguments={name: _as_text(value) for name, value in (options or {}).items() if value is not None},
        message=None if message is None else str(message),
        link_to=link_to,
    )


def caller_of(interaction: discord.Interaction) -> Caller:
    """Who called, with the server as administered only where Discord says so in this interaction."""
    return Caller(
        person=person_of(interaction),
        name=interaction.user.display_name,
        admin_of=frozenset({f"guild:{interaction.guild_id}"} if _administers(interaction) else ()),
    )


def person_of(interaction: discord.Interaction) -> str:
    """Who called."""
    return f"{PLATFORM}:{interaction.user.id}"


def _administers(interaction: discord.Interaction) -> bool:
    """By the channel and by the member's roles: what a channel's settings grant counts for that channel only."""
    guild, member = interaction.guild, interaction.user
    if guild is None or guild.unavailable or not isinstance(member, discord.Member):
        return False
    return all(
        permissions.administrator or permissions.manage_guild
        for permissions in (interaction.permissions, member.guild_permissions)
    )


def _as_text(value: object) -> str:
    if isinstance(value, discord.abc.User | discord.Object):
        return f"{PLATFORM}:{value.id}"
    return str(value)
