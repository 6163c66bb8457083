"""From a Slack event to a stored message.

Invariant: ``receive`` returns only after ``on_message`` has returned, and messages of one channel are stored in
the order their events arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from weakref import WeakValueDictionary

import structlog

from adapters.slack_commands import SlackCommands
from adapters.slack_directory import SlackDirectory
from adapters.slack_events import ChannelKind, SlackPost, conversation_of, read_post
from adapters.slack_text import from_slack, mentioned_users
from bot.chat import IncomingMessage, OnMessage
from bot.listener import IsForUs, plainly_for_us
from bot.speaking import Heard, Speaker

_MOST_NAMES = 10
_DRAIN_PATIENCE = 5.0

_log = structlog.get_logger(__name__)


class SlackIntake:
    """Takes events in.

    Args:
        bot_user: the bot's user id.
        bot_name: its name.
        directory: looks up names and channels.
        on_message: stores a message durably.
        is_for_us: says which messages are for the bot.
        commands: run for messages that are commands; those are not stored.
    """

    def __init__(
        self,
        *,
        bot_user: str,
        bot_name: str,
        directory: SlackDirectory,
        on_message: OnMessage,
        is_for_us: IsForUs = plainly_for_us,
        commands: SlackCommands | None = None,
    ) -> None:
        self._bot_user = bot_user
        self._bot_name = bot_name
        self._directory = directory
        self._on_message = on_message
        self._is_for_us = is_for_us
        self._commands = commands
        self._order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._open = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._draining = False

    async def receive(self, body: Mapping[str, Any]) -> HTTPStatus:
        """Store what the event brings and answer with the status for Slack: OK acknowledges it.

        Whatever ``on_message`` raises goes through, so that the event is not acknowledged.
        """
        if self._draining:
            return HTTPStatus.SERVICE_UNAVAILABLE
        post = read_post(body, bot_user=self._bot_user)
        if post is None:
            return HTTPStatus.OK
        if post.is_to_us and self._commands is not None and (begun := self._commands.receive_post(post)) is not None:
            return begun
        self._open += 1
        self._idle.clear()
        try:
            lock = self._order.setdefault(post.channel, asyncio.Lock())
            async with lock:
                await self._store(post)
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()
        return HTTPStatus.OK

    async def drain(self) -> None:
        """Take nothing in any more, and wait a little for what is being stored."""
        self._draining = True
        try:
            async with asyncio.timeout(_DRAIN_PATIENCE):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("slack_drain_timed_out", messages=self._open)

    async def _store(self, post: SlackPost) -> None:
        if post.speaker is Speaker.OURSELVES:
            return
        heard = await self._heard(post)
        if await self._is_for_us(heard):
            new = await self._on_message(heard.message)
            _log.info("slack_message_received", channel=post.channel, ts=post.ts, new=new)

    async def _heard(self, post: SlackPost) -> Heard:
        others = [user for user in mentioned_users(post.text) if user != self._bot_user]
        users = list(dict.fromkeys((post.user, *others)))[:_MOST_NAMES]
        kind, names = await asyncio.gather(self._kind(post), self._names(users))
        words = from_slack(post.text, bot_user=self._bot_user, names=names)
        attached = [f"[attached: {name}]" for name in post.file_names]
        return Heard(
            message=IncomingMessage(
                id=post.ts,
                conversation=conversation_of(post, kind),
                person=post.person,
                author_name=names.get(post.user, post.user),
                text="\n".join([words, *attached]).strip() or f"@{self._bot_name}",
                sent_at=post.sent_at,
            ),
            speaker=post.speaker,
            addressed=post.addressed,
            in_thread=post.thread_ts is not None,
            server=post.team,
            channels=frozenset({post.channel}),
        )

    async def _names(self, users: Sequence[str]) -> dict[str, str]:
        found = await asyncio.gather(*(self._directory.name(user) for user in users))
        return {user: name for user, name in zip(users, found, strict=True) if name}

    async def _kind(self, post: SlackPost) -> ChannelKind:
        return post.kind if post.kind is not ChannelKind.UNKNOWN else await self._directory.kind(post.channel)
