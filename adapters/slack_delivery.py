"""Answers on their way to Slack, each part posted once; ``adapters/slack_drafts.py`` shows them while they are written.

Invariant: a part is posted again only when Slack surely did not take it, or when a look into the conversation
shows that it is not there; a draft is turned into the answer, never left beside it. Each post carries its delivery
key and part number as metadata, by which it is found; only a stream that was cut off carries none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_drafts import METADATA_EVENT, Draft, SlackDrafts, metadata
from adapters.slack_errors import (
    TRANSPORT_ERRORS,
    error_code,
    never_delivered,
    never_told,
    perhaps_delivered,
    retry_after,
)
from adapters.slack_events import address_of
from adapters.slack_text import parts_for_slack
from bot.chat import DeliveryFailed, DeliveryRefused, OutgoingMessage

_ATTEMPTS = 3
_LONGEST_WAIT = 30.0
_PAUSE = 0.5
_PAGE = 200
_MOST_PAGES = 5
_MOST_UNFINISHED = 1_000

_log = structlog.get_logger(__name__)


class _NotShown(Exception):
    """Slack does not let us look into the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What stands in the conversation of an answer: which parts do not, the ids of those that do, and of a draft."""

    missing: Sequence[int]
    there: Mapping[int, str] = field(default_factory=dict)
    draft: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the parts that stand there, in order."""
        return tuple(self.there[part] for part in sorted(self.there))


class SlackDelivery:
    """Posts answers, and looks up whether they are there.

    Args:
        client: speaks to Slack with the bot's token, without retries of its own.
        bot_user: the bot's user id.
        bot_id: its id as a bot.
    """

    def __init__(self, client: AsyncWebClient, *, bot_user: str, bot_id: str | None) -> None:
        self._client = client
        self._bot_user = bot_user
        self._bot_id = bot_id
        self._unfinished: dict[str, None] = {}
        self._drafts = SlackDrafts(client)

    async def draft(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Show what there is of an answer so far; the id of the message that shows it.

        Raises:
            DeliveryFailed: trying again later may help.
            DeliveryRefused: it never will.
        """
        self._remember(message.delivery_key)
        draft = await self._drafts.show(message)
        self._unfinished.pop(message.delivery_key, None)  # it is known where it stands
        return (draft.ts,)

    async def send(self, message: OutgoingMessage) -> tuple[str, ...]:
        """Post every part that is not there yet, in order; the ids of all parts, as far as they are known.

        Raises:
            DeliveryFailed: trying again later may help.
            DeliveryRefused: it never will.
        """
        parts = parts_for_slack(message.whole_text)
        found = _Found(missing=range(len(parts)))
        if message.delivery_key in self._unfinished:
            found = await self._look(message, len(parts))
        self._remember(message.delivery_key)
        missing, there = found.missing, dict(found.there)
        draft = self._drafts.take(message) or (Draft(ts=found.draft, streams=True) if found.draft else None)
        if draft is not None and 0 in missing:
            missing = await self._finish_draft(message, draft, parts)
            there[0] = draft.ts
        for part in missing:
            there |= await self._post(message, part, parts)
        self._unfinished.pop(message.delivery_key, None)
        return _Found(missing=(), there=there).ids

    async def _finish_draft(self, message: OutgoingMessage, draft: Draft, parts: Sequence[str]) -> Sequence[int]:
        """Turn a draft into the answer, or into its first part; the parts that are still missing."""
        if await self._drafts.finish_stream(message, draft):
            return ()
        await self._drafts.stop(message, draft)
        traces = metadata(message, part=0)
        await self._until_taken(lambda: self._drafts.put(message, draft, parts[0], traces), "the end of a draft")
        return range(1, len(parts))

    async def delivered_as(self, message: OutgoingMessage) -> tuple[str, ...] | None:
        """The ids of the posts that show the whole answer, as far as Slack lets us look; None where some are missing.

        Raises:
            DeliveryFailed: Slack cannot be asked just now.
        """
        self._remember(message.delivery_key)
        found = await self._look(message, len(parts_for_slack(message.whole_text)))
        return None if found.missing else found.ids

    def _remember(self, delivery_key: str) -> None:
        """Some parts may already stand in Slack, so the next attempt looks before it posts."""
        self._unfinished[delivery_key] = None
        if len(self._unfinished) > _MOST_UNFINISHED:
            del self._unfinished[next(iter(self._unfinished))]

    async def _post(self, message: OutgoingMessage, part: int, parts: Sequence[str]) -> Mapping[int, str]:
        """Post a part; its id by its number, and those of others that were found on the way."""
        there: dict[int, str] = {}

        async def post() -> None:
            there[part] = await self._call_post(message, part, parts[part])

        async def is_there() -> bool:
            found = await self._look(message, len(parts))
            there.update(found.there)
            return part not in found.missing

        await self._until_taken(post, f"part {part + 1} of {len(parts)}", is_there)
        return there

    async def _until_taken(
        self,
        call: Callable[[], Awaitable[object]],
        what: str,
        is_there: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Make a call until Slack takes it, a few times.

        Args:
            call: the call.
            what: it brings, for the log.
            is_there: asked where it cannot be told whether Slack took it; None where it may be made twice.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await call()
                return
            except SlackApiError as error:
                reason = error_code(error) or "no readable answer"
                pause = await self._pause_after(error, reason)
                doubtful = perhaps_delivered(error)
            except TRANSPORT_ERRORS as error:
                reason = type(error).__name__
                pause = _PAUSE
                doubtful = not isinstance(error, aiohttp.ClientConnectorError)
            if doubtful and is_there is not None and await is_there():
                return
            if attempt < _ATTEMPTS:
                await asyncio.sleep(pause)
        raise DeliveryFailed(f"Slack did not take {what}: {reason}")

    async def _pause_after(self, error: SlackApiError, reason: str) -> float:
        """The seconds to wait before the next attempt, where one makes sense."""
        if never_delivered(error):
            raise DeliveryRefused(f"Slack refuses the message: {reason}") from error
        wait = retry_after(error)
        if wait is None and not perhaps_delivered(error):
            raise DeliveryFailed(f"Slack did not take the message: {reason}") from error
        if wait is not None and wait > _LONGEST_WAIT:
            raise DeliveryFailed(f"Slack wants us to wait {wait:.0f} s") from error
        return _PAUSE if wait is None else wait

    async def _call_post(self, message: OutgoingMessage, part: int, text: str) -> str:
        address = address_of(message.conversation)
        answer = await self._client.chat_postMessage(
            channel=address.channel,
            thread_ts=address.thread_ts,
            text=text,
            mrkdwn=True,
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
            metadata=metadata(message, part=part),
        )
        return str(answer["ts"])

    async def _look(self, message: OutgoingMessage, count: int) -> _Found:
        """Which of the parts of an answer stand in the conversation, and whether a draft of it does.

        A post of ours that carries no metadata, after the message it answers, is the draft where one may be there:
        a stream gets its metadata at its end. Otherwise it counts as the whole answer. So does a conversation that
        Slack does not let us see, since a doubled answer cannot be taken back.

        Raises:
            DeliveryFailed: Slack cannot be asked just now.
        """
        missing = set(range(count))
        there: dict[int, str] = {}
        draft = message.draft[0] if message.draft else None
        try:
            async for post in self._own_posts(message):
                traces = post.get("metadata") or {}
                payload = traces.get("event_payload") or {}
                if traces.get("event_type") != METADATA_EVENT:
                    if message.draft is None:
                        return _Found(missing=())
                    draft = draft or post.get("ts")
                elif payload.get("delivery_key") == message.delivery_key:
                    if payload.get("whole"):
                        return _Found(missing=(), there={0: str(post.get("ts"))})
                    if payload.get("draft"):
                        draft = post.get("ts")
                    missing.discard(payload.get("part"))
                    if isinstance(payload.get("part"), int):
                        there[payload["part"]] = str(post.get("ts"))
        except _NotShown as error:
            _log.warning("slack_delivery_unknown", delivery_key=message.delivery_key, reason=str(error))
            return _Found(missing=range(count) if draft else (), draft=draft)  # a draft can be edited unseen
        return _Found(missing=sorted(missing), there=there, draft=draft)

    async def _own_posts(self, message: OutgoingMessage) -> AsyncIterator[Mapping[str, Any]]:
        """What the bot posted in the conversation after the message it answers. Files are never part of an answer."""
        address = address_of(message.conversation)
        params: dict[str, Any] = {
            "channel": address.channel,
            "oldest": message.in_reply_to if message.tried_since is None else f"{message.tried_since.timestamp():.6f}",
            "include_all_metadata": 1,
            "limit": _PAGE,
        }
        if address.thread_ts:
            params["ts"] = address.thread_ts
        method = "conversations.replies" if address.thread_ts else "conversations.history"
        for _ in range(_MOST_PAGES):
            try:
                answer = await self._client.api_call(method, http_verb="GET", params=params)
            except SlackApiError as error:
                failure = _NotShown if never_told(error) else DeliveryFailed
                raise failure(f"{method}: {error_code(error)}") from error
            except TRANSPORT_ERRORS as error:
                raise DeliveryFailed(f"{method}: {type(error).__name__}") from error
            for post in answer.get("messages") or ():
                if self._is_ours(post) and post.get("ts") != message.in_reply_to and not post.get("files"):
                    yield post
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
            params["cursor"] = cursor
        raise _NotShown(f"{method}: more than {_MOST_PAGES} pages since the message")

    def _is_ours(self, post: Mapping[str, Any]) -> bool:
        return post.get("user") == self._bot_user or (self._bot_id is not None and post.get("bot_id") == self._bot_id)
