"""What was said in a conversation of Slack, asked for when somebody wants to know.

Slack lets some apps look only once a minute, at 15 messages, so nothing else may rest on it.

Invariant: what leaves here is messages as Slack writes them, oldest first, or a reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_errors import TRANSPORT_ERRORS, never_told, retry_after
from adapters.slack_events import address_of
from bot.chat import Conversation, HistoryUnreadable

_PATIENCE = 15.0
_PAGE = 200
_MOST_PAGES = 5

Raw = Mapping[str, Any]


async def recent_posts(client: AsyncWebClient, conversation: Conversation, *, limit: int) -> Sequence[Raw]:
    """The latest messages of a thread; of a thread that has only begun, those of its channel.

    Raises:
        HistoryUnreadable: with the reason.
    """
    address = address_of(conversation)
    try:
        async with asyncio.timeout(_PATIENCE):
            if address.thread_ts is not None:
                thread = await _replies(client, address.channel, address.thread_ts)
                if len(thread) > 1:
                    return thread[-limit:]
            answer = await client.conversations_history(channel=address.channel, limit=limit)
            return list(reversed(answer.get("messages") or ()))
    except SlackApiError as error:
        raise HistoryUnreadable(_reason(error)) from error
    except (TimeoutError, *TRANSPORT_ERRORS) as error:
        raise HistoryUnreadable("Slack did not answer in time.") from error


async def _replies(client: AsyncWebClient, channel: str, thread_ts: str) -> list[Raw]:
    """A thread, oldest first. Slack shows it from its beginning alone, so a very long one is not read to its end."""
    found: list[Raw] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        answer = await client.conversations_replies(channel=channel, ts=thread_ts, limit=_PAGE, cursor=cursor)
        found += answer.get("messages") or ()
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            break
    return found


def _reason(error: SlackApiError) -> str:
    if retry_after(error) is not None:
        return "Slack lets me look only now and then. Try again in a minute."
    if never_told(error):
        return "I am not allowed to: I must be in the channel, with the scopes of docs/slack-manifest.json."
    return "Slack does not show this conversation just now."
