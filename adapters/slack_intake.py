"""From a Slack event to a stored message.

Invariant: ``receive`` returns only after ``on_message`` has returned, and messages of one channel are stored in
the order their events arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog

from adapters.slack_changes import SlackEdit, channel_key, read_change
from adapters.slack_commands import SlackCommands
from adapters.slack_directory import SlackDirectory
from adapters.slack_events import UNREADABLE, ChannelKind, SlackPost, conversation_of, read_post
from adapters.slack_text import from_slack, mentioned_users
from bot.attachments import named
from bot.changes import MessageEdited, OnChange, PlatformChange, ignore_change
from bot.chat import AttachedFile, Conversation, IncomingMessage, OnMessage
from bot.last_seen import LastSeen
from bot.listener import IsForUs, plainly_for_us
from bot.speaking import Heard, Speaker

_MOST_NAMES = 10
_DRAIN_PATIENCE = 5.0

_Result = TypeVar("_Result")

_log = structlog.get_logger(__name__)


class SlackIntake:
    """Takes events in.

    Args:
        bot_user: the bot's user id.
        bot_name: its name.
        directory: looks up names and channels.
        on_message: stores a message durably.
        is_for_us: says which messages are for the bot.
        on_change: follows edits and deletions, and which channels the bot is in.
        commands: run for messages that are commands; those are not stored.
        last_seen: notes the last message of each conversation.
    """

    def __init__(
        self,
        *,
        bot_user: str,
        bot_name: str,
        directory: SlackDirectory,
        on_message: OnMessage,
        is_for_us: IsForUs = plainly_for_us,
        on_change: OnChange = ignore_change,
        commands: SlackCommands | None = None,
        last_seen: LastSeen | None = None,
    ) -> None:
        self._bot_user = bot_user
        self._bot_name = bot_name
        self._directory = directory
        self._on_message = on_message
        self._is_for_us = is_for_us
        self._on_change = on_change
        self._commands = commands
        self._last_seen = last_seen
        self._order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._draining = False

    async def receive(self, body: Mapping[str, Any]) -> HTTPStatus:
        """Store what the event brings and answer with the status for Slack: OK acknowledges it.

        Whatever ``on_message`` raises goes through, so that the event is not acknowledged. One that cannot be read is,
        since it would read no better the next time.
        """
        if self._draining:
            return HTTPStatus.SERVICE_UNAVAILABLE
        try:
            post = read_post(body, bot_user=self._bot_user)
            change = read_change(body, bot_user=self._bot_user) if post is None else None
            channel = _channel_of(body)
        except UNREADABLE as error:
            _log.error("slack_event_unreadable", error=type(error).__name__)
            return HTTPStatus.OK
        if change is not None:
            await self.follow(change, channel=channel)
        if post is None:
            return HTTPStatus.OK
        if post.is_to_us and self._commands is not None and (begun := self._commands.receive_post(post)) is not None:
            return begun
        await self._in_order(post.channel, self._store(post))
        return HTTPStatus.OK

    async def follow(self, change: SlackEdit | PlatformChange, *, channel: str) -> None:
        """Have a change of a channel followed, after what was said there before it."""
        await self._in_order(channel, self._follow(change))

    async def take_late(self, event: Mapping[str, Any], *, team: str, channel: str) -> bool:
        """Store a message that was missed, as Slack's history shows it; whether it was new and for us.

        A command that was missed is not run any more.
        """
        try:
            post = read_post(_as_event(event, team, channel), bot_user=self._bot_user)
        except UNREADABLE as error:
            _log.error("slack_post_unreadable", channel=channel, error=type(error).__name__)
            return False
        if self._draining or post is None:
            return False
        if post.is_to_us and self._commands is not None and self._commands.is_command(post):
            return False
        return await self._in_order(channel, self._store(post, late=True))

    async def _in_order(self, channel: str, work: Awaitable[_Result]) -> _Result:
        """Do something after what was begun before it in the same channel."""
        self._open += 1
        self._idle.clear()
        try:
            lock = self._order.setdefault(channel, asyncio.Lock())
            async with lock:
                return await work
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()

    async def drain(self) -> None:
        """Take nothing in any more, and wait a little for what is being stored."""
        self._draining = True
        try:
            async with asyncio.timeout(_DRAIN_PATIENCE):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("slack_drain_timed_out", messages=self._open)

    async def _store(self, post: SlackPost, *, late: bool = False) -> bool:
        if post.speaker is Speaker.OURSELVES:
            return False
        heard = await self._heard(post)
        if late:
            heard = replace(heard, message=replace(heard.message, late=True))
        for_us = await self._is_for_us(heard)
        new = for_us and await self._on_message(heard.message)
        if for_us:
            _log.info("slack_message_received", channel=post.channel, ts=post.ts, new=new, late=late)
        self._note(post, heard.message.conversation if for_us else None)
        return new

    def _note(self, post: SlackPost, answered_in: Conversation | None) -> None:
        """Note a message as seen: in its channel, unless it stands in a thread; and where it is answered."""
        if self._last_seen is None:
            return
        keys = set() if answered_in is None else {answered_in.key}
        if post.thread_ts in (None, post.ts):
            keys.add(channel_key(post.team, post.channel))
        for key in keys:
            self._last_seen.note(key, post.ts, post.sent_at)

    async def said(self, event: Mapping[str, Any], conversation: Conversation) -> IncomingMessage | None:
        """A message of a known conversation as Slack's history shows it; None if nobody said anything with it."""
        _, team, channel, *_ = conversation.key.split(":")
        post = read_post(_as_event(event, team, channel), bot_user=self._bot_user)
        return None if post is None else replace((await self._heard(post)).message, conversation=conversation)

    async def _follow(self, change: SlackEdit | PlatformChange) -> None:
        if isinstance(change, SlackEdit):
            text = await self._words(change.text, change.files)
            change = MessageEdited(channel=change.key, id=change.ts, text=text, at=change.at)
        await self._on_change(change)

    async def _heard(self, post: SlackPost) -> Heard:
        others = [user for user in mentioned_users(post.text) if user != self._bot_user]
        users = list(dict.fromkeys((post.user, *others)))[:_MOST_NAMES]
        kind, names = await asyncio.gather(self._kind(post), self._names(users))
        return Heard(
            message=IncomingMessage(
                id=post.ts,
                conversation=conversation_of(post, kind),
                person=post.person,
                author_name=names.get(post.user, post.user),
                text=self._plain(post.text, names, post.files),
                sent_at=post.sent_at,
                attachments=post.files,
                from_admin=await self._is_admin(post),
            ),
            speaker=post.speaker,
            addressed=post.addressed,
            in_thread=post.thread_ts is not None,
            server=post.team,
            channels=frozenset({post.channel}),
        )

    async def _words(self, text: str, files: Sequence[AttachedFile]) -> str:
        """What a message says that is not new."""
        users = [user for user in mentioned_users(text) if user != self._bot_user]
        return self._plain(text, await self._names(users[:_MOST_NAMES]), files)

    def _plain(self, text: str, names: Mapping[str, str], files: Sequence[AttachedFile]) -> str:
        words = from_slack(text, bot_user=self._bot_user, names=names)
        return named(words, files) or f"@{self._bot_name}"

    async def _names(self, users: Sequence[str]) -> dict[str, str]:
        found = await asyncio.gather(*(self._directory.name(user) for user in users))
        return {user: name for user, name in zip(users, found, strict=True) if name}

    async def _is_admin(self, post: SlackPost) -> bool:
        """Whether an admin speaks to us; of what is only overheard nobody asks."""
        return post.is_to_us and await self._directory.administers(post.user, post.team)

    async def _kind(self, post: SlackPost) -> ChannelKind:
        return post.kind if post.kind is not ChannelKind.UNKNOWN else await self._directory.kind(post.channel)


def _as_event(event: Mapping[str, Any], team: str, channel: str) -> dict[str, Any]:
    """A message as Slack's history shows it, in the form in which it would have been told."""
    return {"team_id": team, "event": {"channel": channel, **event}}


def _channel_of(body: Mapping[str, Any]) -> str:
    """The channel that an event is about; empty where it is about the whole workspace."""
    event = body.get("event") or {}
    channel = event.get("channel") or (event.get("item") or {}).get("channel")
    return channel if isinstance(channel, str) else ""
