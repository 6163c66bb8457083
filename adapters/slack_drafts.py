"""Answers that grow in Slack while they are written: as Slack's own stream in a thread, by edits elsewhere.

A stream takes Markdown and can only be added to. So where a later text does not go on from what was streamed, it is
streamed below it, and the end puts the whole answer in the place of both.

Invariant: of one answer there is at most one message that was streamed or drafted; a stream that fails is stopped
once, and its message is edited from then on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_errors import TRANSPORT_ERRORS, error_code, never_delivered, retry_after
from adapters.slack_events import address_of
from adapters.slack_text import parts_for_slack
from bot.chat import DeliveryFailed, DeliveryRefused, OutgoingMessage

METADATA_EVENT = "keepsake_reply"
STREAM_LIMIT = 11_000
"""Characters of Markdown in one stream. Slack takes 12,000 in one call."""

_STILL_WRITING = " …"
_MOST_DRAFTS = 1_000
# What Slack says where an app or a workspace has no streams at all.
_NO_STREAMS = frozenset({"unknown_method", "missing_scope", "not_allowed_token_type", "feature_not_enabled"})
# A reference in Slack's own syntax, which pings wherever Slack reads it.
_REFERENCE = re.compile(r"<(?=[@!#])")

_log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Draft:
    """The message that shows an answer while it is written.

    Attributes:
        ts: Slack's id of it.
        streams: it is a stream that was not stopped yet.
        shown: what was streamed, all of it.
        begins: where in ``shown`` the present text begins; what is before is of an earlier model call.
    """

    ts: str
    streams: bool
    shown: str = ""
    begins: int = 0


class SlackDrafts:
    """The drafts of the answers that are under way.

    Args:
        client: speaks to Slack with the bot's token, without retries of its own.
    """

    def __init__(self, client: AsyncWebClient) -> None:
        self._client = client
        self._drafts: dict[str, Draft] = {}
        self._has_streams = True

    async def show(self, message: OutgoingMessage) -> Draft:
        """Show what there is of an answer so far.

        Raises:
            DeliveryFailed: Slack did not take it; another try may help, unless it is the first of an answer.
            DeliveryRefused: Slack never will, or it cannot be told whether it did.
        """
        draft = self._drafts.get(message.delivery_key)
        if draft is None:
            draft = self._drafts[message.delivery_key] = await self._begin(message)
            if len(self._drafts) > _MOST_DRAFTS:
                del self._drafts[next(iter(self._drafts))]
        elif draft.streams:
            await self._add(message, draft)
        else:
            await self._edit(message, draft)
        return draft

    def take(self, message: OutgoingMessage) -> Draft | None:
        """The draft of an answer that is to be finished; it is forgotten here. None where there is none."""
        draft = self._drafts.pop(message.delivery_key, None)
        if draft is None and message.draft:
            return Draft(ts=message.draft[0], streams=True)  # of an earlier process; it may be a stream
        return draft

    async def finish_stream(self, message: OutgoingMessage, draft: Draft) -> bool:
        """End a stream with what is missing of the answer, where that makes it the answer; whether it did."""
        text = _harmless(message.whole_text.strip())
        if not (draft.streams and draft.shown and text.startswith(draft.shown) and len(text) <= STREAM_LIMIT):
            return False
        rest = text[len(draft.shown) :] or None
        draft.streams = False
        try:
            await self._client.chat_stopStream(
                channel=address_of(message.conversation).channel,
                ts=draft.ts,
                markdown_text=rest,
                metadata=metadata(message, whole=True),
            )
        except (SlackApiError, *TRANSPORT_ERRORS) as error:
            _log.info("slack_stream_not_finished", error=type(error).__name__)
            return False
        return True

    async def stop(self, message: OutgoingMessage, draft: Draft) -> None:
        """Stop a stream, if it is one, as it is; that it has ended already is no error."""
        if draft.streams:
            draft.streams = False
            with suppress(SlackApiError, *TRANSPORT_ERRORS):
                await self._client.chat_stopStream(channel=address_of(message.conversation).channel, ts=draft.ts)

    async def _begin(self, message: OutgoingMessage) -> Draft:
        try:
            if self._has_streams and address_of(message.conversation).thread_ts is not None:
                try:
                    return await self._begin_stream(message)
                except SlackApiError as error:
                    if retry_after(error) is not None or error_code(error) is None:
                        raise
                    self._has_streams = error_code(error) not in _NO_STREAMS
                    _log.info("slack_stream_refused", reason=error_code(error))
            return await self._post(message)
        except (SlackApiError, *TRANSPORT_ERRORS) as error:
            wait = retry_after(error) if isinstance(error, SlackApiError) else None
            if wait is not None:
                raise DeliveryFailed("Slack limits how often we may write.", retry_after=wait) from error
            # It may be there all the same, and a second one must not be: the end looks for it.
            raise DeliveryRefused(f"Slack did not take a draft: {type(error).__name__}") from error

    async def _begin_stream(self, message: OutgoingMessage) -> Draft:
        address = address_of(message.conversation)
        text = _harmless(message.text)[:STREAM_LIMIT]
        team, user = _ids_of(message.recipient)
        answer = await self._client.chat_startStream(
            channel=address.channel,
            thread_ts=address.thread_ts or "",
            recipient_team_id=team,
            recipient_user_id=user,
            markdown_text=text,
        )
        return Draft(ts=answer["ts"], streams=True, shown=text)

    async def _post(self, message: OutgoingMessage) -> Draft:
        address = address_of(message.conversation)
        answer = await self._client.chat_postMessage(
            channel=address.channel,
            thread_ts=address.thread_ts,
            text=_beginning(message),
            mrkdwn=True,
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
            metadata=metadata(message, draft=True),
        )
        return Draft(ts=answer["ts"], streams=False)

    async def _add(self, message: OutgoingMessage, draft: Draft) -> None:
        text, present = _harmless(message.text), draft.shown[draft.begins :]
        goes_on = text.startswith(present)
        added = text[len(present) :] if goes_on else f"\n\n{text}"
        if not added or len(draft.shown) + len(added) > STREAM_LIMIT:
            return
        try:
            await self._client.chat_appendStream(
                channel=address_of(message.conversation).channel, ts=draft.ts, markdown_text=added
            )
        except (SlackApiError, *TRANSPORT_ERRORS) as error:
            wait = retry_after(error) if isinstance(error, SlackApiError) else None
            if wait is not None:
                raise DeliveryFailed("Slack limits how often we may write.", retry_after=wait) from error
            _log.info("slack_stream_broke", error=type(error).__name__)
            await self.stop(message, draft)
            await self._edit(message, draft)
            return
        if not goes_on:
            draft.begins = len(draft.shown) + len("\n\n")
        draft.shown += added

    async def _edit(self, message: OutgoingMessage, draft: Draft) -> None:
        try:
            await self.put(message, draft, _beginning(message), metadata(message, draft=True))
        except SlackApiError as error:
            if never_delivered(error):
                raise DeliveryRefused(f"Slack refuses the draft: {error_code(error)}") from error
            raise DeliveryFailed("Slack did not take a draft.", retry_after=retry_after(error)) from error
        except TRANSPORT_ERRORS as error:
            raise DeliveryFailed(f"Slack did not take a draft: {type(error).__name__}") from error

    async def put(self, message: OutgoingMessage, draft: Draft, text: str, traces: Mapping[str, Any]) -> None:
        """Put a text, as mrkdwn, in the place of what a draft shows. Raises what the client raises."""
        await self._client.chat_update(
            channel=address_of(message.conversation).channel,
            ts=draft.ts,
            text=text,
            link_names=False,
            metadata=dict(traces),
        )


def metadata(message: OutgoingMessage, **what: Any) -> dict[str, Any]:
    """What a post of ours carries, by which it is found again.

    Args:
        message: the answer it belongs to.
        what: ``part`` with its number, ``whole`` where it is all of the answer, or ``draft``.
    """
    return {"event_type": METADATA_EVENT, "event_payload": {"delivery_key": message.delivery_key, **what}}


def _beginning(message: OutgoingMessage) -> str:
    return parts_for_slack(message.text + _STILL_WRITING)[0]


def _harmless(markdown: str) -> str:
    """Markdown as a stream takes it, in which nothing pings. What a longer text begins with stays as it is."""
    return _REFERENCE.sub("<\u200b", markdown)


def _ids_of(person: str | None) -> tuple[str | None, str | None]:
    """The team and the user of ``slack:<team>:<user>``."""
    if person is None:
        return None, None
    _, team, user = person.split(":")
    return team, user
