"""A plain completion endpoint as a chat model, over a real connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bot.completion_model import CompletionModel
from bot.web import serve
from memory.errors import InvalidInput, ModelError, ModelOverloaded, ModelRateLimited, ModelRejected, ModelTimeout
from memory.messages import ModelRequest, SystemBlock, user_message

REQUEST = ModelRequest(
    system=(SystemBlock(name="distill", text="Distil this."),), messages=(user_message("Tea"),), max_output_tokens=200
)


@asynccontextmanager
async def endpoint(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[CompletionModel]:
    """A model behind a server that answers so."""
    app = web.Application()
    app.router.add_post("/complete", answer)
    server = await serve(app, "127.0.0.1", 0)
    model = CompletionModel(f"http://127.0.0.1:{server.port}/complete", deadline=0.5)
    try:
        yield model
    finally:
        await model.close()
        await server.close()


async def test_the_prompt_is_posted_and_the_reply_is_the_text() -> None:
    posted: list[dict[str, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        posted.append(await request.json())
        return web.Response(text="A reply.")

    async with endpoint(answer) as model:
        assert (await model.complete(REQUEST)).message.text == "A reply."
        assert (await model.complete(REQUEST)).model == model.name
    assert posted[0] == {"prompt": "Distil this.\n\nTea", "max_tokens": 200, "temperature": 0.3}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"text": "A"}', "A"),
        ('{"response": "A", "done": true}', "A"),
        ('{"choices": [{"text": "A"}]}', "A"),
        ('"A"', "A"),
        ('{"fact": "A"}', '{"fact": "A"}'),
        ("[1]", "[1]"),
        ("", ""),
    ],
)
async def test_a_reply_may_be_wrapped_as_such_endpoints_do(body: str, text: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body)

    async with endpoint(answer) as model:
        assert "".join((await model.complete(REQUEST)).message.text) == text


@pytest.mark.parametrize(
    ("status", "error"), [(429, ModelRateLimited), (503, ModelOverloaded), (404, ModelRejected), (500, ModelError)]
)
async def test_what_it_refuses_is_an_error_of_the_model(status: int, error: type[ModelError]) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=json.dumps({"text": "no"}))

    async with endpoint(answer) as model:
        with pytest.raises(error, match=f"status {status}"):
            await model.complete(REQUEST)


async def test_an_endpoint_that_hangs_is_not_waited_for() -> None:
    async def answer(_: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async with endpoint(answer) as model:
        with pytest.raises(ModelTimeout, match="gave no answer within"):
            await model.complete(REQUEST)


async def test_one_that_is_not_there_cannot_be_reached() -> None:
    server = await serve(web.Application(), "127.0.0.1", 0)
    await server.close()
    model = CompletionModel(f"http://127.0.0.1:{server.port}/")
    with pytest.raises(ModelError, match="cannot be reached"):
        await model.complete(REQUEST)
    await model.close()


@pytest.mark.parametrize(
    "url", ["ftp://a.example", "a.example/complete", "http://", "http://a.example:x", "file:///etc"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="is no address"):
        CompletionModel(url)
