"""What a Slack event says, as values. Pure; nothing here asks Slack anything.

Invariant: an audience made here is never wider than who really hears the message. What is unknown, and what
people of another organisation hear, counts as a private channel that shares nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from adapters.slack_text import begins_with_mention, mentioned_users
from bot.chat import AttachedFile, Conversation
from bot.commands import MessagePlace
from bot.speaking import Addressed, Speaker

EVENTS = ("app_mention", "message.channels", "message.groups", "message.im", "message.mpim")
"""The events the app subscribes to, as its manifest lists them."""

UNREADABLE = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
"""What reading an event or message raises whose form is not the one that Slack describes."""

_SPOKEN_SUBTYPES = frozenset({None, "file_share", "thread_broadcast"})
_SYSTEM_USER = "USLACKBOT"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ChannelKind(StrEnum):
    """Who hears a channel."""

    DM = "im"
    GROUP_DM = "mpim"
    PUBLIC = "channel"
    PRIVATE = "group"
    SHARED = "shared"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackPost:
    """What somebody posted where the bot can read it.

    Attributes:
        team: the workspace the event came from.
        channel: the channel's id.
        kind: who hears the channel; UNKNOWN where the event does not say.
        user: who posted.
        user_team: the poster's own workspace.
        ts: Slack's id of the message within its channel, seconds since 1970 with six decimals.
        sent_at: when it was posted, in UTC.
        thread_ts: the id of the message that began the thread, where it stands in one.
        text: as Slack writes it.
        files: the files that came with it.
        speaker: what kind of author it has.
        addressed: whom it was said to.
    """

    team: str
    channel: str
    kind: ChannelKind
    user: str
    user_team: str
    ts: str
    sent_at: datetime
    thread_ts: str | None
    text: str
    files: tuple[AttachedFile, ...] = ()
    speaker: Speaker = Speaker.PERSON
    addressed: Addressed = Addressed.NOBODY

    @property
    def is_to_us(self) -> bool:
        """Whether a person says it to the bot alone or names it, as is needed for a command."""
        to_us = self.kind is ChannelKind.DM or self.addressed is Addressed.US
        return to_us and self.speaker is Speaker.PERSON

    @property
    def person(self) -> str:
        """The poster, in the form every scope uses."""
        return f"slack:{self.user_team}:{self.user}"


def moment_of(ts: str) -> datetime:
    """The moment of one of Slack's ids: seconds since 1970 with six decimals. In UTC."""
    seconds, _, fraction = ts.partition(".")
    return _EPOCH + timedelta(seconds=int(seconds), microseconds=int(fraction.ljust(6, "0")[:6]))


def ts_of(moment: datetime) -> str:
    """The inverse of ``moment_of``."""
    seconds, rest = divmod(moment - _EPOCH, timedelta(seconds=1))
    return f"{seconds}.{rest.microseconds:06}"


def read_post(body: Mapping[str, Any], *, bot_user: str) -> SlackPost | None:
    """The post that an event brings, or None if nobody says anything with it.

    Edits, deletions, joins and the like are no posts, nor is what an incoming webhook writes.

    Args:
        body: the event's outer envelope, of type ``event_callback``.
        bot_user: the bot's own user id.

    Raises:
        one of ``UNREADABLE``: it has another form.
    """
    event = body.get("event") or {}
    team = body.get("team_id") or event.get("team")
    if not _is_spoken(event) or not team:
        return None
    text = event.get("text") or ""
    return SlackPost(
        team=team,
        channel=event["channel"],
        kind=_kind(event, shared=bool(body.get("is_ext_shared_channel"))),
        user=event["user"],
        user_team=event.get("user_team") or event.get("team") or team,
        ts=event["ts"],
        sent_at=moment_of(event["ts"]),
        thread_ts=event.get("thread_ts"),
        text=text,
        files=tuple(map(file_of, event.get("files") or ())),
        speaker=_speaker(event, bot_user),
        addressed=_addressed(event, text, bot_user),
    )


def file_of(file: Mapping[str, Any]) -> AttachedFile:
    """A file, as an event describes it."""
    return AttachedFile(
        id=file.get("id") or "",
        name=file.get("name") or file.get("title") or file.get("id") or "file",
        media_type=file.get("mimetype") or "",
        size=file.get("size") or 0,
        width=file.get("original_w") or 0,
        height=file.get("original_h") or 0,
    )


def _is_spoken(event: Mapping[str, Any]) -> bool:
    return (
        event.get("type") in ("message", "app_mention")
        and event.get("subtype") in _SPOKEN_SUBTYPES
        and event.get("user") not in (None, _SYSTEM_USER)
        and all(event.get(field) for field in ("channel", "ts"))
    )


def _speaker(event: Mapping[str, Any], bot_user: str) -> Speaker:
    if event["user"] == bot_user:
        return Speaker.OURSELVES
    return Speaker.BOT if event.get("bot_id") else Speaker.PERSON


def _addressed(event: Mapping[str, Any], text: str, bot_user: str) -> Addressed:
    if bot_user in mentioned_users(text):
        return Addressed.US
    if begins_with_mention(text):
        return Addressed.OTHERS
    return Addressed.US if event.get("parent_user_id") == bot_user else Addressed.NOBODY


def _kind(event: Mapping[str, Any], *, shared: bool) -> ChannelKind:
    named = event.get("channel_type")
    if named == "im" or kind_by_id(event["channel"]) is ChannelKind.DM:
        return ChannelKind.DM
    if shared:
        return ChannelKind.SHARED
    return ChannelKind(named) if named in ("mpim", "channel", "group") else ChannelKind.UNKNOWN


def kind_by_id(channel: str) -> ChannelKind:
    """Who hears a channel, as far as its id tells: only one-to-one chats have ids of their own."""
    return ChannelKind.DM if channel.startswith("D") else ChannelKind.UNKNOWN


def kind_of_channel(channel: Mapping[str, Any]) -> ChannelKind:
    """Who hears a channel, from what ``conversations.info`` answers about it."""
    if channel.get("is_im"):
        return ChannelKind.DM
    if channel.get("is_ext_shared") or channel.get("is_pending_ext_shared"):
        return ChannelKind.SHARED
    if channel.get("is_mpim"):
        return ChannelKind.GROUP_DM
    if channel.get("is_private") is False:
        return ChannelKind.PUBLIC
    return ChannelKind.PRIVATE if channel.get("is_private") else ChannelKind.UNKNOWN


def conversation_of(post: SlackPost, kind: ChannelKind) -> Conversation:
    """Where the post was said. A one-to-one chat is one conversation; elsewhere each thread is its own.

    Args:
        post: the post.
        kind: who hears its channel, looked up where the event did not say.
    """
    thread = post.thread_ts if kind is ChannelKind.DM else post.thread_ts or post.ts
    return conversation_in(post.channel, thread, team=post.team, kind=kind)


def conversation_in(channel: str, thread_ts: str | None, *, team: str, kind: ChannelKind) -> Conversation:
    """A thread, or what stands outside of threads in a channel.

    Args:
        channel: the channel's id.
        thread_ts: the id of the message that began the thread, or None outside of threads.
        team: the workspace.
        kind: who hears the channel.
    """
    private, public = f"channel:{channel}", f"team:{team}"
    audience, community = {
        ChannelKind.DM: ("dm", None),
        ChannelKind.PUBLIC: (public, None),
        ChannelKind.PRIVATE: (private, public),
    }.get(kind, (private, None))
    place = f"slack:{team}:{channel}"
    if thread_ts is None:
        return Conversation(platform="slack", key=place, audience=audience, community=community)
    return Conversation(
        platform="slack", key=f"{place}:{thread_ts}", audience=audience, community=community, parent=place
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where Slack is told to post: a channel, and a thread in it or None."""

    channel: str
    thread_ts: str | None


def address_of(conversation: Conversation) -> Address:
    """The address of a conversation."""
    return address_at(conversation.key)


def address_at(key: str) -> Address:
    """The inverse of the key that ``conversation_of`` writes."""
    _, _, channel, *thread = key.split(":", 3)
    return Address(channel=channel, thread_ts=thread[0] if thread else None)


def link_to(place: MessagePlace, *, workspace: str, team: str) -> str | None:
    """The address of a message; None where it was said in another workspace.

    Args:
        place: where it stands.
        workspace: the workspace's own address, as ``https://acme.slack.com/``; empty where it is not known.
        team: the workspace.
    """
    _, its_team, channel, *thread = place.conversation.split(":", 3)
    if not workspace or its_team != team:
        return None
    address = f"{workspace}archives/{channel}/p{place.platform_id.replace('.', '')}"
    replies_to = [ts for ts in thread if ts != place.platform_id]
    return f"{address}?thread_ts={replies_to[0]}&cid={channel}" if replies_to else address
