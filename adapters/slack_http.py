"""Slack's requests over HTTP: only those that Slack signed, and each of them once.

Invariant: nothing of a request is parsed before its signature is verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp
from slack_sdk.signature import SignatureVerifier

_MOST_TAKEN = 10_000  # four times what Slack sends within the five minutes that a signature holds


class SignedRequests:
    """Answers requests.

    Args:
        secret: the app's signing secret.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._taken: dict[str, None] = {}  # signatures

    async def answer(self, app: AsyncApp, request: web.Request) -> web.StreamResponse:
        """Answer a request.

        Args:
            app: does what it asks for.
            request: as it came.
        """
        if not self._is_signed(await request.read(), request.headers):
            return web.Response(status=HTTPStatus.UNAUTHORIZED)
        signature = request.headers["X-Slack-Signature"]
        if signature in self._taken:  # recorded on its way and sent again; what Slack repeats is signed anew
            return web.Response(status=HTTPStatus.OK)
        self._taken[signature] = None
        if len(self._taken) > _MOST_TAKEN:
            del self._taken[next(iter(self._taken))]
        answer = await _dispatched(app, request)
        if answer.status != HTTPStatus.OK:
            self._taken.pop(signature, None)
        return answer

    def _is_signed(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether Slack signed this within the last five minutes."""
        stamp = headers.get("X-Slack-Request-Timestamp", "")
        signature = headers.get("X-Slack-Signature", "")
        if not (self._secret and signature.isascii() and stamp.isascii() and stamp.isdigit()):
            return False
        return SignatureVerifier(self._secret).is_valid(body, stamp, signature)


async def _dispatched(app: AsyncApp, request: web.Request) -> web.StreamResponse:
    try:
        incoming = await to_bolt_request(request)
    except ValueError:
        return web.Response(status=HTTPStatus.BAD_REQUEST)
    return await to_aiohttp_response(await app.async_dispatch(incoming))
