"""A plain completion endpoint behind ``ChatModel``: the prompt is posted, and the reply is the text.

Posted is JSON with ``prompt``, ``max_tokens`` and ``temperature``. The reply is read as plain text, or as JSON that
holds the text under one of the names that such endpoints commonly use.

Invariant: ``complete`` returns a whole answer or raises a ``ModelError``.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from memory.errors import (
    InvalidInput,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
)
from memory.messages import ModelRequest, ModelResponse, StopReason, TextPart
from memory.ports import OnText

_TEMPERATURE = 0.3
_LONGEST_REPLY = 1_000_000  # bytes
_NAMES = ("text", "completion", "response", "content", "output", "generated_text", "reply")


class CompletionModel:
    """Asks an endpoint.

    Args:
        url: its address.
        deadline: seconds that an answer may take.

    Raises:
        InvalidInput: the address is none of the web.
    """

    def __init__(self, url: str, *, deadline: float = 10.0) -> None:
        if not _is_web_address(url):
            raise InvalidInput(f"{url!r} is no address. Write one such as http://127.0.0.1:8080/complete.")
        self._url = url
        self._deadline = deadline
        self._session: aiohttp.ClientSession | None = None

    @property
    def name(self) -> str:
        """The endpoint's host."""
        return urlsplit(self._url).netloc.rpartition("@")[2]

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """One answer, given to ``on_text`` as a whole. Raises ModelError."""
        body = {
            "prompt": prompt_of(request),
            "max_tokens": request.max_output_tokens,
            "temperature": _TEMPERATURE,
        }
        try:
            text = reply_of(await self._posted(body))
        except TimeoutError as error:
            raise ModelTimeout(f"{self.name} gave no answer within {self._deadline:g} seconds.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ModelUnavailable(f"{self.name} cannot be reached: {type(error).__name__}.") from error
        if on_text is not None:
            await on_text(text)
        return ModelResponse(parts=(TextPart(text=text),), stop_reason=StopReason.END_TURN, model=self.name)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _posted(self, body: dict[str, Any]) -> str:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._deadline))
        async with self._session.post(self._url, json=body) as response:
            self._check(response.status)
            read = await response.content.read(_LONGEST_REPLY + 1)
            while not response.content.at_eof() and len(read) <= _LONGEST_REPLY:
                read += await response.content.read(_LONGEST_REPLY)
        if len(read) > _LONGEST_REPLY:
            raise ModelRejected(f"{self.name} answered with more than {_LONGEST_REPLY:,} bytes.")
        return read.decode(errors="replace")

    def _check(self, status: int) -> None:
        told = f"{self.name} answered with status {status}."
        if status == 429:
            raise ModelRateLimited(told)
        if status >= 500:
            raise ModelOverloaded(told) if status in (503, 529) else ModelUnavailable(told)
        if status >= 300:
            raise ModelRejected(told)


def prompt_of(request: ModelRequest) -> str:
    """The whole of a request as one text: the instructions, then what was said."""
    return "\n\n".join([*(block.text for block in request.system), *(message.text for message in request.messages)])


def reply_of(body: str) -> str:
    """The text of a reply: under a usual name where it is a JSON object that has one, else the reply as it is."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return body
    choices = value.get("choices")
    places = [value, *(choices[:1] if isinstance(choices, list) else [])]
    found = [place[name] for place in places if isinstance(place, dict) for name in _NAMES if name in place]
    return next((text for text in found if isinstance(text, str)), body)


def _is_web_address(url: str) -> bool:
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # a port that is no number, a host with a bracket alone
        return False
