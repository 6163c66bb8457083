"""A loopback double of the Claude Messages API, for the real client library.

It answers what it was told to, in order, then ``default``; streams or not, as asked; fails, breaks off and hangs on
request; and keeps every request. ``python -m tests.doubles.claude [ANSWER ...]`` serves until its standard input
closes, after writing its address as the first line of its output.

Invariant: a request that breaks a rule of the service is answered 400 and uses up nothing of the script.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from aiohttp import web

from tests.doubles.claude_rules import PromptCache, input_tokens, violation

_REQUEST_ID = "req_double"
_STATUS_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_tool_ids = itertools.count(1)


def text(content: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": content}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call with a fresh id."""
    return {"type": "tool_use", "id": f"toolu_{next(_tool_ids):04d}", "name": name, "input": arguments}


def garbled_tool(name: str, raw: str) -> dict[str, Any]:
    """A tool call whose arguments arrive as ``raw``, which need not be JSON. For streamed answers."""
    return {**tool(name), "raw": raw}


def thinking(content: str) -> dict[str, Any]:
    """A thinking block."""
    return {"type": "thinking", "thinking": content, "signature": "c2ln"}


class Break(Enum):
    """How an answer breaks off."""

    ERROR = "an error event in a stream of status 200"
    ABORT = "the connection is reset"
    END = "the stream ends early, in good order"
    HOLD = "nothing more comes until the double's ``release`` is set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer.

    Attributes:
        blocks: the content.
        stop_reason: None lets the content decide between ``tool_use`` and ``end_turn``.
        usage: token counts that replace the computed ones.
        breaks: how it breaks off, if it does.
        after: the pieces of content sent before it breaks off. A HOLD after 0 sends not even headers.
        error_type: what the event of a ``Break.ERROR`` says.
    """

    blocks: Sequence[Mapping[str, Any]] = (text("ok"),)
    stop_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    breaks: Break | None = None
    after: int = 0
    error_type: str = "overloaded_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An answer of another status than 200. ``body`` replaces the service's own form, for a proxy's page."""

    status: int
    error_type: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None


Body = dict[str, Any]
Step = Answer | Failure
Script = Step | Callable[[Body], Step]


class ClaudeDouble:
    """The service. Use it as an async context manager.

    Attributes:
        url: the address to give to the client.
        requests: the bodies of all requests to ``/v1/messages``, refused ones included.
        headers: their headers.
        default: what it answers when the script has run out.
        holding: set when an answer has come to its ``Break.HOLD``.
        release: lets held answers go on.
        piece: the characters that one event of a stream carries.
    """

    def __init__(self, *, piece: int = 4) -> None:
        self.url = ""
        self.requests: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.default: Script = Answer()
        self.holding = asyncio.Event()
        self.release = asyncio.Event()
        self.piece = piece
        self._script: list[Script] = []
        self._cache = PromptCache()
        self._paused = False
        self._message_ids = itertools.count(1)
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count_tokens)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.release.set()
        if self._runner is not None:
            await self._runner.cleanup()

    def say(self, *blocks: str | Mapping[str, Any], **options: Any) -> None:
        """Script an answer: texts and blocks, and the options of ``Answer``."""
        content = tuple(text(block) if isinstance(block, str) else block for block in blocks)
        self._script.append(Answer(blocks=content, **options))

    def fail(
        self,
        status: int,
        error_type: str | None = None,
        *,
        message: str = "scripted",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> None:
        """Script a failure; its type follows from its status where it is not given."""
        kind = error_type or _STATUS_TYPES[status]
        self._script.append(Failure(status=status, error_type=kind, message=message, headers=headers or {}, body=body))

    def answer_with(self, answer: Callable[[Body], Step]) -> None:
        """Script an answer that depends on the request."""
        self._script.append(answer)

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body: Body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        if refusal := _refusal(request, body, may_end_with_assistant=self._paused):
            return _failed(refusal)
        step = self._script.pop(0) if self._script else self.default
        if callable(step):
            step = step(body)
        if isinstance(step, Failure):
            return _failed(step)
        if step.breaks is Break.HOLD and step.after == 0:
            await self._hold()
        message = self._message(body, step)
        self._paused = message["stop_reason"] == "pause_turn"
        if body.get("stream"):
            return await self._stream(request, step, message)
        if step.breaks is Break.ABORT and request.transport is not None:
            request.transport.abort()
        return web.json_response(message, headers={"request-id": _REQUEST_ID})

    async def _count_tokens(self, request: web.Request) -> web.StreamResponse:
        body: Body = await request.json()
        if refusal := _refusal(request, {"max_tokens": 1, **body}):
            return _failed(refusal)
        return web.json_response({"input_tokens": input_tokens(body)})

    async def _hold(self) -> None:
        self.holding.set()
        await self.release.wait()

    def _message(self, body: Body, answer: Answer) -> dict[str, Any]:
        content = [{name: value for name, value in block.items() if name != "raw"} for block in answer.blocks]
        calls = any(block["type"] == "tool_use" for block in content)
        output_tokens = 1 + len(json.dumps(content)) // 4
        return {
            "id": f"msg_{next(self._message_ids):04d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": answer.stop_reason or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": {**self._cache.usage(body), "output_tokens": output_tokens, **answer.usage},
        }

    async def _stream(self, request: web.Request, answer: Answer, message: Body) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": _REQUEST_ID})
        await response.prepare(request)

        async def send(event: Mapping[str, Any]) -> None:
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
        await send({"type": "message_start", "message": start})
        await send({"type": "ping"})
        pieces = 0
        for event in _content_events(answer.blocks, self.piece):
            if event["type"] == "content_block_delta":
                if answer.breaks and pieces == answer.after:
                    if answer.breaks is Break.HOLD:
                        await self._hold()
                    else:
                        break
                pieces += 1
            await send(event)
        else:
            delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
            usage = {"output_tokens": message["usage"]["output_tokens"]}
            await send({"type": "message_delta", "delta": delta, "usage": usage})
            await send({"type": "message_stop"})
            return response
        if answer.breaks is Break.ERROR:
            await send(_error_value(answer.error_type, "scripted"))
        elif answer.breaks is Break.ABORT and request.transport is not None:
            request.transport.abort()
        return response


def _content_events(blocks: Sequence[Mapping[str, Any]], piece: int) -> Iterator[dict[str, Any]]:
    for index, block in enumerate(blocks):
        match block["type"]:
            case "text":
                start, payload, kind, name = text(""), block["text"], "text_delta", "text"
            case "thinking":
                start, payload, kind, name = thinking(""), block["thinking"], "thinking_delta", "thinking"
            case _:
                start = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
                payload = block.get("raw", json.dumps(block["input"]) if block["input"] else "")
                kind, name = "input_json_delta", "partial_json"
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for offset in range(0, max(len(payload), 1), piece):
            delta = {"type": kind, name: payload[offset : offset + piece]}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}


def _refusal(request: web.Request, body: Body, *, may_end_with_assistant: bool = False) -> Failure | None:
    if not request.headers.get("authorization", "").startswith("Bearer "):
        return Failure(status=401, error_type="authentication_error", message="a bearer token is required")
    if "anthropic-version" not in request.headers:
        return Failure(status=400, error_type="invalid_request_error", message="anthropic-version: is required")
    if problem := violation(body, may_end_with_assistant=may_end_with_assistant):
        return Failure(status=400, error_type="invalid_request_error", message=problem)
    return None


def _error_value(error_type: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": error_type, "message": message}, "request_id": _REQUEST_ID}


def _failed(failure: Failure) -> web.Response:
    headers = {**failure.headers, "request-id": _REQUEST_ID}
    if failure.body is not None:
        return web.Response(text=failure.body, content_type="text/html", status=failure.status, headers=headers)
    return web.json_response(_error_value(failure.error_type, failure.message), status=failure.status, headers=headers)


async def _serve(answers: Sequence[str]) -> None:
    async with ClaudeDouble() as claude:
        for answer in answers:
            claude.say(answer)
        print(claude.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1:]))
