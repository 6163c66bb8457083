"""Files of Slack, fetched with the bot's token from Slack alone.

Invariant: the token goes to no host but Slack's, and to none that a redirect names. A login page is no file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import aiohttp
import yarl
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack_errors import TRANSPORT_ERRORS, error_code
from bot.chat import AttachedFile, FileUnreadable

_PATIENCE = 15.0
_FILE_HOSTS = ("slack.com", "slack-files.com", "slack-gov.com")
_LOGIN_PAGE = "text/html"

_NOT_ALLOWED = "I am not allowed to read files here; an admin has to add the scope files:read to the app"
_REASONS = {
    "missing_scope": _NOT_ALLOWED,
    "file_not_found": "it was deleted",
    "file_deleted": "it was deleted",
    "access_denied": "I have no access to it",
    "not_visible": "I have no access to it",
}


class SlackFiles:
    """Fetches files.

    Args:
        client: asks where a file is.
        token: the bot token, which opens it.
        api_url: the address of Slack's API; its host may hold files too.
    """

    def __init__(self, client: AsyncWebClient, *, token: str, api_url: str) -> None:
        self._client = client
        self._token = token
        self._api = yarl.URL(api_url)

    async def fetch(self, file: AttachedFile, *, limit: int) -> bytes:
        """A file's bytes. Raises FileUnreadable with the reason."""
        try:
            async with asyncio.timeout(_PATIENCE):
                found = (await self._client.files_info(file=file.id))["file"]
                return await self._download(self._address(found), found, limit=limit)
        except SlackApiError as error:
            raise FileUnreadable(_REASONS.get(error_code(error) or "", "Slack does not show it to me")) from error
        except (TimeoutError, *TRANSPORT_ERRORS) as error:
            raise FileUnreadable("Slack did not send it in time") from error

    def _address(self, file: Mapping[str, Any]) -> yarl.URL:
        address = yarl.URL(file.get("url_private_download") or file.get("url_private") or "")
        if not (address.is_absolute() and (_is_slacks(address) or address.origin() == self._api.origin())):
            raise FileUnreadable("it is not kept at Slack")
        return address

    async def _download(self, address: yarl.URL, file: Mapping[str, Any], *, limit: int) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(address, headers=headers, allow_redirects=False) as response,
        ):
            if response.status != HTTPStatus.OK:
                raise FileUnreadable("Slack does not give it to me")
            if response.content_type == _LOGIN_PAGE and file.get("mimetype") != _LOGIN_PAGE:
                raise FileUnreadable(_NOT_ALLOWED)
            content = bytearray()
            async for chunk in response.content.iter_chunked(1 << 16):
                content += chunk
                if len(content) > limit:
                    raise FileUnreadable("it is larger than I can read")
            return bytes(content)


def _is_slacks(address: yarl.URL) -> bool:
    host = address.host or ""
    return address.scheme == "https" and any(host == known or host.endswith(f".{known}") for known in _FILE_HOSTS)
