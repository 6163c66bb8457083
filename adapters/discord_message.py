"""From a message of discord.py to what the application hears; pure.

Invariant: the audience is never wider than the people who could read the message. Whatever is not known for
certain to be a direct chat or a channel that the whole server reads counts as private.
"""

from __future__ import annotations

import re

import discord

from bot.attachments import named
from bot.chat import AttachedFile, Conversation, IncomingMessage
from bot.commands import MessagePlace
from bot.speaking import Addressed, Heard, Speaker

PLATFORM = "discord"
MESSAGE_LIMIT = 2_000

_MENTION = re.compile(r"<(@[!&]?|#)(\d+)>( ?)")
_FIRST_MENTION = re.compile(r"\s*<@[!&]?\d+>")
_SAID_BY_PEOPLE = (discord.MessageType.default, discord.MessageType.reply)


def heard_in(message: discord.Message, me: discord.ClientUser) -> Heard | None:
    """The message as the application knows it, or None if nobody said anything with it.

    Args:
        message: as it came from the gateway.
        me: the bot's own user.
    """
    said = said_in(message, me, conversation_in(message.channel, message.guild))
    if said is None:
        return None
    thread = message.channel if isinstance(message.channel, discord.Thread) else None
    return Heard(
        message=said,
        speaker=_speaker(message, me),
        addressed=_addressed(message, me),
        in_thread=thread is not None,
        server=str(message.guild.id) if message.guild is not None else None,
        channels=frozenset(map(str, filter(None, (message.channel.id, thread.parent_id if thread else None)))),
        roles=frozenset(str(role.id) for role in getattr(message.author, "roles", ())),
    )


def said_in(message: discord.Message, me: discord.ClientUser, conversation: Conversation) -> IncomingMessage | None:
    """A message of a known conversation, or None if nobody said anything with it."""
    text = words_of(message, me) if message.type in _SAID_BY_PEOPLE else ""
    if not text:
        return None
    return IncomingMessage(
        id=str(message.id),
        conversation=conversation,
        person=f"{PLATFORM}:{message.author.id}",
        author_name=message.author.display_name,
        text=text,
        sent_at=message.created_at,
        attachments=_files(message),
        from_admin=_is_admin(message.author),
    )


def _is_admin(author: discord.User | discord.Member) -> bool:
    """Whether a server lets its author manage it; nobody is an admin of a direct chat."""
    return isinstance(author, discord.Member) and author.guild_permissions.manage_guild


def words_of(message: discord.Message, me: discord.ClientUser) -> str:
    """What a message says, the mention of the bot removed unless it is all that there is; empty for nothing."""
    text = _text(message, me)
    return text or (f"@{me.display_name}" if _mentions(message, me) else "")


def _speaker(message: discord.Message, me: discord.ClientUser) -> Speaker:
    if message.author.id == me.id:
        return Speaker.OURSELVES
    if message.webhook_id is not None:
        return Speaker.WEBHOOK
    return Speaker.BOT if message.author.bot else Speaker.PERSON


def _addressed(message: discord.Message, me: discord.ClientUser) -> Addressed:
    if _mentions(message, me) or _replies_to(message, me):
        return Addressed.US
    if message.type is discord.MessageType.reply or _FIRST_MENTION.match(message.content):
        return Addressed.OTHERS
    return Addressed.NOBODY


def conversation_in(channel: discord.abc.Snowflake, guild: discord.Guild | None) -> Conversation:
    """The conversation of a channel, and who can read it.

    Args:
        channel: where something is said; its id alone where Discord told no more.
        guild: the server it belongs to; None in a direct chat, or where the server is not known yet.
    """
    key = f"{PLATFORM}:{channel.id}"
    if isinstance(channel, discord.DMChannel):
        return Conversation(platform=PLATFORM, key=key, audience="dm")
    if guild is None:  # a group chat, or a server that is not known yet
        return Conversation(platform=PLATFORM, key=key, audience=f"channel:{channel.id}")
    community = f"guild:{guild.id}"
    place_id, parent = channel.id, None
    if isinstance(channel, discord.Thread):
        parent = f"{PLATFORM}:{channel.parent_id}"
        place_id = channel.id if channel.is_private() else channel.parent_id
    place = guild.get_channel(place_id)  # finds no private thread
    if place is not None and _whole_server_reads(place):
        return Conversation(platform=PLATFORM, key=key, audience=community, parent=parent)
    return Conversation(platform=PLATFORM, key=key, audience=f"channel:{place_id}", community=community, parent=parent)


def channel_id(conversation: Conversation) -> int:
    """The id of the channel, thread or direct chat that a conversation's key names."""
    return int(conversation.key.removeprefix(f"{PLATFORM}:"))


def link_to(place: MessagePlace) -> str | None:
    """The address of a message; None where its server is not known."""
    channel = place.conversation.removeprefix(f"{PLATFORM}:")
    kind, _, server = (place.community or place.audience).partition(":")
    if kind not in ("guild", "dm"):
        return None
    return f"https://discord.com/channels/{server or '@me'}/{channel}/{place.platform_id}"


def _whole_server_reads(channel: discord.abc.GuildChannel) -> bool:
    everyone = channel.permissions_for(channel.guild.default_role)
    spoken = isinstance(channel, discord.VoiceChannel | discord.StageChannel)
    if not everyone.view_channel or (spoken and not everyone.connect):
        return False
    return not any(
        overwrite.view_channel is False and not (isinstance(whom, discord.Role) and whom.is_bot_managed())
        for whom, overwrite in channel.overwrites.items()
    )


def _mentions(message: discord.Message, me: discord.ClientUser) -> bool:
    # Discord offers the bot's own role beside its user when somebody types its name.
    own_role = message.guild.self_role if message.guild is not None else None
    return any(user.id == me.id for user in message.mentions) or (
        own_role is not None and own_role in message.role_mentions
    )


def _replies_to(message: discord.Message, me: discord.ClientUser) -> bool:
    original = message.reference.resolved if message.reference is not None else None
    return isinstance(original, discord.Message) and original.author.id == me.id


def _text(message: discord.Message, me: discord.ClientUser) -> str:
    """The text, without the mention of the bot, with other mentions as people see them, and what is attached."""
    names = {("@", user.id): f"@{user.display_name}" for user in message.mentions}
    names |= {("@&", role.id): f"@{role.name}" for role in message.role_mentions}
    names |= {("#", channel.id): f"#{channel.name}" for channel in message.channel_mentions}
    own_role = message.guild.self_role if message.guild is not None else None
    own = {("@", me.id), ("@&", own_role.id if own_role is not None else None)}

    def readable(mention: re.Match[str]) -> str:
        whom = (mention[1].rstrip("!"), int(mention[2]))
        return "" if whom in own else names[whom] + mention[3] if whom in names else mention[0]

    text = _MENTION.sub(readable, message.content).strip()
    return named(text, _files(message))


def _files(message: discord.Message) -> tuple[AttachedFile, ...]:
    return tuple(
        AttachedFile(
            id=str(file.id),
            name=file.filename,
            media_type=(file.content_type or "").partition(";")[0],
            size=file.size,
            width=file.width or 0,
            height=file.height or 0,
        )
        for file in message.attachments
    )
