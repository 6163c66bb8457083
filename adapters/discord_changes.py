"""From discord.py's events to what the application follows: edits, deletions, reactions, places that are left.

Only raw events say of messages that are in no cache, which is nearly all of them.

Invariant: an edit whose new words cannot be seen counts as a deletion, since the old words are gone in any case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

import discord

from adapters.discord_message import PLATFORM, words_of
from bot.changes import MessageEdited, MessagesDeleted, PlaceLeft, PlacesKnown, PlatformChange, Reaction


class ChangeEvents(discord.AutoShardedClient, ABC):
    """A client that tells of changes."""

    @abstractmethod
    async def follow(self, change: PlatformChange) -> None:
        """Have a change followed."""

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        if self.user is not None and (change := edit_of(event.message, self.user)) is not None:
            await self.follow(change)

    async def on_raw_message_delete(self, event: discord.RawMessageDeleteEvent) -> None:
        await self.follow(deletion_of(event.channel_id, {event.message_id}))

    async def on_raw_bulk_message_delete(self, event: discord.RawBulkMessageDeleteEvent) -> None:
        await self.follow(deletion_of(event.channel_id, event.message_ids))

    async def on_raw_reaction_add(self, event: discord.RawReactionActionEvent) -> None:
        await self.follow(reaction_of(event, taken_back=False))

    async def on_raw_reaction_remove(self, event: discord.RawReactionActionEvent) -> None:
        await self.follow(reaction_of(event, taken_back=True))

    async def on_guild_remove(self, guild: discord.Guild) -> None:  # not called for an outage
        await self.follow(PlaceLeft(place=_server(guild)))

    async def on_guild_join(self, _: discord.Guild) -> None:
        await self.follow(servers_of(self))

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        await self.follow(PlaceLeft(place=f"channel:{channel.id}"))

    async def on_raw_thread_delete(self, event: discord.RawThreadDeleteEvent) -> None:
        await self.follow(PlaceLeft(place=f"channel:{event.thread_id}"))


def edit_of(message: discord.Message, me: discord.ClientUser) -> MessageEdited | MessagesDeleted | None:
    """What a message that was updated says now; None where no words changed, as when a link gets its preview.

    Args:
        message: as it is by now.
        me: the bot's own user.
    """
    if message.edited_at is None or message.author.id == me.id:
        return None
    text = words_of(message, me)
    if not text:  # without the message content intent, or nothing but an embed
        return deletion_of(message.channel.id, {message.id})
    return MessageEdited(channel=_channel(message.channel.id), id=str(message.id), text=text, at=message.edited_at)


def deletion_of(channel_id: int, message_ids: Collection[int]) -> MessagesDeleted:
    """Messages that are gone: one, or many at a moderator's hand."""
    return MessagesDeleted(channel=_channel(channel_id), ids=tuple(map(str, sorted(message_ids))))


def reaction_of(event: discord.RawReactionActionEvent, *, taken_back: bool) -> Reaction:
    """A reaction that somebody added or took back."""
    return Reaction(
        channel=_channel(event.channel_id),
        id=str(event.message_id),
        person=f"{PLATFORM}:{event.user_id}",
        sign=str(event.emoji),
        taken_back=taken_back,
    )


def servers_of(client: discord.Client) -> PlacesKnown:
    """Every server that the bot is in, those in an outage included."""
    return PlacesKnown(kind="guild", places=frozenset(map(_server, client.guilds)))


def _server(guild: discord.Guild) -> str:
    return f"guild:{guild.id}"


def _channel(channel_id: int) -> str:
    return f"{PLATFORM}:{channel_id}"
