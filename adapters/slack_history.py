"""What was said in a conversation of Slack, asked for when somebody wants to know.

Slack lets some apps look only once a minute, at 15 messages, so nothing else may rest on it.

Invariant: what leaves here is messages as Slack writes them, oldest first, or a reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_errors import TRANSPORT_ERRORS, never_told, retry_after
from adapters.slack_events import Address, address_of
from bot.chat import Conversation, HistoryUnreadable

_PATIENCE = 15.0
_PAGE = 200
_MOST_PAGES = 5
_JOINED = ("channel_join", "group_join")

Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What Slack shows of a conversation.

    Attributes:
        posts: messages, oldest first.
        since: the id from which on they are all that there is.
        until: the id up to which they are; None for the present.
    """

    posts: Sequence[Raw]
    since: str
    until: str | None = None

    def covers(self, ts: str) -> bool:
        """Whether a message of this id would be among them if it were there."""
        return self.since <= ts and (self.until is None or ts <= self.until)

    def joined(self, user: str) -> str:
        """The id of the message by which Slack tells that a user came there last; empty where none does.

        What was said before was not said to them.
        """
        own = (post for post in self.posts if post.get("user") == user and post.get("subtype") in _JOINED)
        return max((post["ts"] for post in own), default="")


async def recent_posts(client: AsyncWebClient, conversation: Conversation, *, limit: int) -> Sequence[Raw]:
    """The latest messages of a thread; of a thread that has only begun, those of its channel.

    Raises:
        HistoryUnreadable: with the reason.
    """
    address = address_of(conversation)
    try:
        async with asyncio.timeout(_PATIENCE):
            if address.thread_ts is not None:
                thread, _ = await _replies(client, address.channel, address.thread_ts)
                if len(thread) > 1:
                    return thread[-limit:]
            answer = await client.conversations_history(channel=address.channel, limit=limit)
            return list(reversed(answer.get("messages") or ()))
    except SlackApiError as error:
        raise HistoryUnreadable(_reason(error)) from error
    except (TimeoutError, *TRANSPORT_ERRORS) as error:
        raise HistoryUnreadable("Slack did not answer in time.") from error


async def conversations_of(client: AsyncWebClient) -> Sequence[Raw]:
    """The conversations that the bot is in, the newest first, as far as Slack names them in a few answers.

    Raises:
        SlackApiError: Slack does not name them, or not now.
        aiohttp.ClientError, TimeoutError: it did not answer.
    """
    found: list[Raw] = []
    cursor: str | None = None
    async with asyncio.timeout(_PATIENCE):
        for _ in range(_MOST_PAGES):
            answer = await client.users_conversations(
                types="public_channel,private_channel,mpim,im", exclude_archived=True, limit=_PAGE, cursor=cursor
            )
            found += answer.get("channels") or ()
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                break
    return sorted(found, key=lambda channel: channel.get("created") or 0, reverse=True)


async def shown_since(client: AsyncWebClient, address: Address, *, oldest: str) -> Shown:
    """A thread from a message on, or the latest messages of what stands outside of threads, no further back than that.

    Args:
        client: speaks to Slack.
        address: of the conversation.
        oldest: the id of the message.

    Raises:
        SlackApiError: Slack does not show it, or not now.
        aiohttp.ClientError, TimeoutError: it did not answer.
    """
    async with asyncio.timeout(_PATIENCE):
        if address.thread_ts is not None:
            return await _shown_of_thread(client, address.channel, address.thread_ts, oldest)
        answer = await client.conversations_history(channel=address.channel, oldest=oldest, inclusive=True, limit=_PAGE)
    posts = list(reversed(answer.get("messages") or ()))
    return Shown(posts=posts, since=posts[0]["ts"] if posts and answer.get("has_more") else oldest)


async def _shown_of_thread(client: AsyncWebClient, channel: str, thread_ts: str, oldest: str) -> Shown:
    posts, is_whole = await _replies(client, channel, thread_ts, oldest=oldest)
    return Shown(posts=posts, since=oldest, until=None if is_whole or not posts else posts[-1]["ts"])


async def _replies(
    client: AsyncWebClient, channel: str, thread_ts: str, *, oldest: str | None = None
) -> tuple[list[Raw], bool]:
    """A thread, oldest first, and whether that is all: Slack shows it from its beginning, or from ``oldest``, alone."""
    found: list[Raw] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        answer = await client.conversations_replies(
            channel=channel, ts=thread_ts, oldest=oldest, inclusive=True, limit=_PAGE, cursor=cursor
        )
        found += answer.get("messages") or ()
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            break
    return found, not cursor


def _reason(error: SlackApiError) -> str:
    if retry_after(error) is not None:
        return "Slack lets me look only now and then. Try again in a minute."
    if never_told(error):
        return "I am not allowed to: I must be in the channel, with the scopes of docs/slack-manifest.json."
    return "Slack does not show this conversation just now."
