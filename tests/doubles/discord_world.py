"""What a Discord holds, and how its API writes it down: users, servers, channels, roles, applications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
VIEW_CHANNEL = 1 << 10
CONNECT = 1 << 20
DEFAULT_PERMISSIONS = VIEW_CHANNEL | CONNECT | (1 << 11) | (1 << 16)
TEXT, DM, VOICE, PUBLIC_THREAD, PRIVATE_THREAD, FORUM = 0, 1, 2, 11, 12, 15

Payload = dict[str, Any]


@dataclass(kw_only=True)
class Member:
    """A user. ``id`` is a snowflake as text, as everywhere here."""

    id: str
    name: str
    bot: bool = False

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    def payload(self) -> Payload:
        return {
            "id": self.id, "username": self.name.lower(), "global_name": self.name, "discriminator": "0",
            "avatar": None, "bot": self.bot,
        }  # fmt: skip

    def as_guild_member(self, guild: Guild | None = None) -> Payload:
        joined_at = START if guild is None else guild.joined_at
        return {"roles": [], "joined_at": joined_at.isoformat(), "deaf": False, "mute": False, "flags": 0}


@dataclass(kw_only=True)
class Channel:
    """A channel, thread or direct chat, with its messages, oldest first."""

    id: str
    kind: int
    name: str = ""
    guild: Guild | None = None
    parent: Channel | None = None
    overwrites: list[Payload] = field(default_factory=list)
    messages: list[Payload] = field(default_factory=list)

    def payload(self) -> Payload:
        payload: Payload = {"id": self.id, "type": self.kind, "name": self.name, "position": 0, "nsfw": False}
        if self.guild is not None:
            payload["guild_id"] = self.guild.id
        if self.messages:
            payload["last_message_id"] = self.messages[-1]["id"]
        if self.parent is None:
            return payload | {"permission_overwrites": self.overwrites, "bitrate": 64_000, "user_limit": 0}
        metadata = {"archived": False, "auto_archive_duration": 1440, "archive_timestamp": START.isoformat()}
        counts = {"message_count": 0, "member_count": 1, "thread_metadata": metadata}
        return payload | counts | {"parent_id": self.parent.id, "owner_id": self.id}


@dataclass(kw_only=True)
class Guild:
    """A server. The role with its own id is @everyone."""

    id: str
    name: str
    permissions: int = DEFAULT_PERMISSIONS
    roles: list[Payload] = field(default_factory=list)
    joined_at: datetime = START  # by the bot, and by everybody
    has_outage: bool = False
    channels: list[Channel] = field(default_factory=list)


def page(messages: list[Payload], query: Mapping[str, str]) -> list[Payload]:
    """Discord's paging: newest first, before, after or around an id."""
    limit = int(query.get("limit", 50))
    if "after" in query:
        later = [message for message in messages if int(message["id"]) > int(query["after"])]
        return later[:limit][::-1]
    if "around" in query:
        earlier = [message for message in messages if int(message["id"]) <= int(query["around"])]
        first = max(0, len(earlier) - 1 - limit // 2)
        return messages[first : first + limit][::-1]
    before = int(query.get("before", 1 << 63))
    return [message for message in messages if int(message["id"]) < before][-limit:][::-1]


def role_payload(role_id: str, name: str, permissions: int, tags: Payload | None = None) -> Payload:
    return {
        "id": role_id, "name": name, "permissions": str(permissions), "position": 0, "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None}, "hoist": False,
        "managed": tags is not None, "mentionable": True, "flags": 0, "tags": tags or {},
    }  # fmt: skip


def application_payload(bot: Member, *, flags: int = 1 << 18) -> Payload:
    return {
        "id": bot.id, "name": bot.name, "description": "", "icon": None, "bot_public": True, "flags": flags,
        "bot_require_code_grant": False, "verify_key": "", "owner": bot.payload(), "team": None,
    }  # fmt: skip


def guild_payload(guild: Guild, bot: Member) -> Payload:
    joined_at = guild.joined_at.isoformat()
    myself = bot.as_guild_member(guild) | {"user": bot.payload()}
    return {
        "id": guild.id, "name": guild.name, "icon": None, "owner_id": "1", "roles": guild.roles, "emojis": [],
        "stickers": [], "features": [], "members": [myself],
        "member_count": 1, "presences": [], "voice_states": [], "stage_instances": [],
        "guild_scheduled_events": [], "soundboard_sounds": [],
        "channels": [channel.payload() for channel in guild.channels if channel.parent is None],
        "threads": [channel.payload() for channel in guild.channels if channel.parent is not None],
        "afk_timeout": 0, "verification_level": 0, "default_message_notifications": 0,
        "explicit_content_filter": 0, "mfa_level": 0, "system_channel_flags": 0, "premium_tier": 0, "nsfw_level": 0,
        "preferred_locale": "en-US", "joined_at": joined_at, "large": False, "unavailable": False,
    }  # fmt: skip
