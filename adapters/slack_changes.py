"""What a Slack event says of messages and places that are there already, as values. Pure.

Invariant: the message that stands in for a deleted one which began a thread counts as its deletion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adapters.slack_events import file_of, moment_of
from bot.changes import MessagesDeleted, PlaceEntered, PlaceLeft, Reaction
from bot.chat import AttachedFile

CHANGE_EVENTS = (
    "app_uninstalled",
    "channel_deleted",
    "channel_left",
    "group_deleted",
    "group_left",
    "member_joined_channel",
    "tokens_revoked",
)
"""The events of places that the app subscribes to, as its manifest lists them. Those of messages come with these."""

REACTION_EVENTS = ("reaction_added", "reaction_removed")
"""The events of reactions, likewise."""

_TOMBSTONE = "tombstone"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackEdit:
    """A message that its author changed.

    Attributes:
        team: the workspace the event came from.
        channel: the channel's id.
        ts: Slack's id of the message.
        text: what it says now, as Slack writes it.
        at: when it was changed.
        files: the files that go with it.
    """

    team: str
    channel: str
    ts: str
    text: str
    at: datetime
    files: tuple[AttachedFile, ...] = ()

    @property
    def key(self) -> str:
        """The key of the channel, which that of each of its threads begins with."""
        return channel_key(self.team, self.channel)


def channel_key(team: str, channel: str) -> str:
    """The key of a channel."""
    return f"slack:{team}:{channel}"


def read_change(
    body: Mapping[str, Any], *, bot_user: str
) -> SlackEdit | MessagesDeleted | Reaction | PlaceLeft | PlaceEntered | None:
    """The change that an event tells, or None if it tells none.

    Args:
        body: the event's outer envelope, of type ``event_callback``.
        bot_user: the bot's own user id.
    """
    event = body.get("event") or {}
    team = body.get("team_id") or event.get("team")
    if not team:
        return None
    if event.get("type") == "message":
        return _change_of_message(event, team)
    if event.get("type") in REACTION_EVENTS:
        return _reaction(event, team)
    return _change_of_place(event, team, bot_user)


def _change_of_message(event: Mapping[str, Any], team: str) -> SlackEdit | MessagesDeleted | None:
    channel, subtype, message = event.get("channel"), event.get("subtype"), event.get("message") or {}
    if not channel:
        return None
    key = channel_key(team, channel)
    if subtype == "message_deleted" and event.get("deleted_ts"):
        return MessagesDeleted(channel=key, ids=(event["deleted_ts"],))
    if subtype != "message_changed" or not message.get("ts"):
        return None
    if message.get("subtype") == _TOMBSTONE:
        return MessagesDeleted(channel=key, ids=(message["ts"],))
    if message.get("bot_id") or _content(message) == _content(event.get("previous_message") or {}):
        return None  # a link got its preview, or a thread a reply
    return _edit(message, team, channel, at=moment_of(event.get("ts") or message["edited"]["ts"]))


def change_of_shown(post: Mapping[str, Any], *, team: str, channel: str) -> SlackEdit | MessagesDeleted | None:
    """The change that a message has behind it, as Slack's history shows it; None where it has none.

    Args:
        post: as ``conversations.history`` or ``conversations.replies`` shows it.
        team: the workspace.
        channel: the channel's id.
    """
    if post.get("subtype") == _TOMBSTONE:
        return MessagesDeleted(channel=channel_key(team, channel), ids=(post["ts"],))
    edited = (post.get("edited") or {}).get("ts")
    return None if edited is None or post.get("bot_id") else _edit(post, team, channel, at=moment_of(edited))


def _edit(message: Mapping[str, Any], team: str, channel: str, *, at: datetime) -> SlackEdit:
    return SlackEdit(
        team=team,
        channel=channel,
        ts=message["ts"],
        text=message.get("text") or "",
        at=at,
        files=tuple(map(file_of, message.get("files") or ())),
    )


def _content(message: Mapping[str, Any]) -> tuple[str | None, list[str | None]]:
    """What its author can change of a message: its words, and by their ids the files that go with it."""
    return message.get("text"), [file.get("id") for file in message.get("files") or ()]


def _reaction(event: Mapping[str, Any], team: str) -> Reaction | None:
    item, user, sign = event.get("item") or {}, event.get("user"), event.get("reaction")
    if not (user and sign and item.get("channel") and item.get("ts")):
        return None  # on a file
    return Reaction(
        channel=channel_key(team, item["channel"]),
        id=item["ts"],
        person=f"slack:{team}:{user}",
        sign=sign,
        taken_back=event["type"] == "reaction_removed",
    )


def _change_of_place(event: Mapping[str, Any], team: str, bot_user: str) -> PlaceLeft | PlaceEntered | None:
    match event.get("type"), event.get("channel"):
        case "app_uninstalled", _:
            return PlaceLeft(place=f"team:{team}")
        case "tokens_revoked", _ if (event.get("tokens") or {}).get("bot"):
            return PlaceLeft(place=f"team:{team}")
        case (("channel_deleted" | "channel_left" | "group_deleted" | "group_left"), str(channel)):
            return PlaceLeft(place=f"channel:{channel}")
        case "member_joined_channel", str(channel) if event.get("user") == bot_user:
            return PlaceEntered(place=f"channel:{channel}")
    return None
