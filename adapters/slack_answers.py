"""Answers to commands on their way to Slack, and files into the caller's own direct chat.

Invariant: whatever is sent here is seen by the caller alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from slack_sdk.errors import SlackApiError, SlackRequestError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from adapters.slack_drafts import METADATA_EVENT
from adapters.slack_errors import TRANSPORT_ERRORS, error_code
from adapters.slack_events import ChannelKind
from bot.commands import Attachment

_PATIENCE = 10
_UPLOAD_FAILED = "Slack did not take the file `{name}`. Please try again later."
_UPLOAD_NOT_ALLOWED = (
    "Slack does not let me send files: the app lacks the scopes files:write and im:write. "
    "Whoever installed me can add them and reinstall the app. Until then `keepsake` on the command line makes the file."
)
_UPLOADED = "The file `{name}` is in your direct messages with me."

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyPath:
    """The way back to somebody who called a command.

    Attributes:
        channel: where it was called.
        kind: who hears the channel.
        thread_ts: the thread, or None outside of threads.
        user: who called.
        response_url: Slack's own way back; None where the command was written as a message.
    """

    channel: str
    kind: ChannelKind
    thread_ts: str | None
    user: str
    response_url: str | None = None


class SlackAnswers:
    """Sends answers to commands.

    Args:
        client: speaks to Slack with the bot's token.
        logger: where the library writes.
    """

    def __init__(self, client: AsyncWebClient, *, logger: logging.Logger) -> None:
        self._client = client
        self._logger = logger

    async def send(self, path: ReplyPath, messages: Sequence[Mapping[str, Any]], *, in_place: bool = False) -> None:
        """Send an answer: by Slack's own way back as far as that is open, else into the conversation.

        Args:
            path: the way back.
            messages: ``text`` and ``blocks`` of each.
            in_place: the first message takes the place of the one whose button was pressed.

        Raises:
            SlackApiError: Slack refuses it.
            aiohttp.ClientError: Slack cannot be reached.
            TimeoutError: Slack does not answer.
        """
        url_open = path.response_url is not None
        for number, message in enumerate(messages):
            url_open = url_open and await self._respond(path, message, in_place=in_place and number == 0)
            if not url_open:
                await self._post(path, message)

    async def upload(self, user: str, attachment: Attachment) -> str:
        """Send a file into the user's direct chat with the bot; what became of it, in a sentence."""
        try:
            opened = await self._client.conversations_open(users=user)
            await self._client.files_upload_v2(
                channel=opened["channel"]["id"], filename=attachment.name, content=attachment.content
            )
        except SlackApiError as error:
            _log.warning("slack_file_not_sent", error=error_code(error))
            refused = error_code(error) == "missing_scope"
            return (_UPLOAD_NOT_ALLOWED if refused else _UPLOAD_FAILED).format(name=attachment.name)
        except (SlackRequestError, *TRANSPORT_ERRORS) as error:
            _log.warning("slack_file_not_sent", error=type(error).__name__)
            return _UPLOAD_FAILED.format(name=attachment.name)
        return _UPLOADED.format(name=attachment.name)

    async def _respond(self, path: ReplyPath, message: Mapping[str, Any], *, in_place: bool) -> bool:
        """Whether Slack took the message by its own way back, which it closes after a while."""
        webhook = AsyncWebhookClient(path.response_url or "", timeout=_PATIENCE, retry_handlers=[], logger=self._logger)
        try:
            answer = await webhook.send(
                text=message["text"],
                blocks=message["blocks"],
                response_type="ephemeral",
                replace_original=in_place,
                unfurl_links=False,
                unfurl_media=False,
            )
        except TRANSPORT_ERRORS as error:
            _log.warning("slack_response_url_failed", error=type(error).__name__)
            return False
        if answer.status_code != 200:
            _log.warning("slack_response_url_failed", status=answer.status_code)
        return answer.status_code == 200

    async def _post(self, path: ReplyPath, message: Mapping[str, Any]) -> None:
        if path.kind is not ChannelKind.DM:
            await self._client.chat_postEphemeral(
                channel=path.channel, user=path.user, thread_ts=path.thread_ts, link_names=False, **message
            )
            return
        await self._client.chat_postMessage(
            channel=path.channel,
            thread_ts=path.thread_ts,
            link_names=False,
            unfurl_links=False,
            unfurl_media=False,
            # By this a look for undelivered answers tells it from an answer to a message.
            metadata={"event_type": METADATA_EVENT, "event_payload": {"delivery_key": "command"}},
            **message,
        )
