"""Claude through ``ChatModel``, over the real client library, against the loopback double."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import httpx2
import pytest
import structlog

from bot.llm import ClaudeModel, model_error
from memory.errors import (
    ContextOverflow,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    StreamInterrupted,
)
from memory.messages import (
    ImagePart,
    Message,
    ModelRequest,
    Role,
    StopReason,
    SystemBlock,
    TextPart,
    ToolCall,
    ToolResult,
    ToolSpec,
    assistant_message,
    user_message,
)
from tests.doubles.claude import Break, ClaudeDouble, garbled_tool, thinking, tool

MODEL = "claude-sonnet-5-5"
KEY = "sk-secret-key"
HELLO = ModelRequest(messages=(user_message("hello"),))
RECALL = ToolSpec(name="recall", description="Look something up.", input_schema={"type": "object"})

Build = Callable[..., ClaudeModel]


@pytest.fixture
async def claude() -> AsyncIterator[ClaudeDouble]:
    async with ClaudeDouble() as claude:
        yield claude


@pytest.fixture
async def build(claude: ClaudeDouble) -> AsyncIterator[Build]:
    built: list[ClaudeModel] = []

    def build(**options: Any) -> ClaudeModel:
        defaults = {"model": MODEL, "api_key": KEY, "base_url": claude.url, "deadline": 30.0, "retry_pause": 0.0}
        built.append(ClaudeModel(**{**defaults, **options}))
        return built[-1]

    yield build
    for model in built:
        await model.close()


@pytest.fixture
def model(build: Build) -> ClaudeModel:
    return build()


class Listener:
    """Keeps the texts it hears."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def __call__(self, text: str) -> None:
        self.texts.append(text)


async def failure(model: ClaudeModel, request: ModelRequest = HELLO) -> ModelError:
    """The error that a call ends in."""
    with pytest.raises(ModelError) as caught:
        await model.complete(request)
    return caught.value


# --- what is sent ----------------------------------------------------------------------------------------------


async def test_a_request_is_sent_whole_and_in_order(claude: ClaudeDouble, model: ClaudeModel):
    await model.complete(
        ModelRequest(
            system=(
                SystemBlock(name="core", text="You are kind.", cache_breakpoint=True),
                SystemBlock(name="window", text="So far: tea."),
            ),
            messages=(
                user_message("what do I drink?"),
                Message(
                    role=Role.ASSISTANT,
                    parts=(TextPart(text="let me see"), ToolCall(id="t1", name="recall", arguments={"query": "tea"})),
                ),
                Message(role=Role.USER, parts=(ToolResult(call_id="t1", name="recall", content="green tea"),)),
                assistant_message("green tea"),
                user_message("thanks"),
            ),
            tools=(RECALL,),
            max_output_tokens=77,
            cached_messages=4,
            person_hash="abc123",
        )
    )
    mark = {"cache_control": {"type": "ephemeral"}}
    assert claude.requests == [
        {
            "model": MODEL,
            "max_tokens": 77,
            "stream": True,
            "metadata": {"user_id": "abc123"},
            "tools": [{"name": "recall", "description": "Look something up.", "input_schema": {"type": "object"}}],
            "system": [{"type": "text", "text": "You are kind.", **mark}, {"type": "text", "text": "So far: tea."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "what do I drink?"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "let me see"},
                        {"type": "tool_use", "id": "t1", "name": "recall", "input": {"query": "tea"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "green tea"}],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "green tea", **mark}]},
                {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
            ],
        }
    ]


async def test_forbidden_tools_stay_declared(claude: ClaudeDouble, model: ClaudeModel):
    await model.complete(ModelRequest(messages=HELLO.messages, tools=(RECALL,), tools_enabled=False))
    await model.complete(ModelRequest(messages=HELLO.messages, tools=(RECALL,)))
    await model.complete(ModelRequest(messages=HELLO.messages, tools_enabled=False))
    forbidden, allowed, none = claude.requests
    assert (forbidden["tools"], forbidden["tool_choice"]) == (allowed["tools"], {"type": "none"})
    assert "tool_choice" not in allowed
    assert {"tools", "tool_choice"}.isdisjoint(none)


async def test_the_service_is_given_no_memory_of_its_own_and_cuts_nothing_out(claude: ClaudeDouble, model: ClaudeModel):
    await model.complete(ModelRequest(messages=HELLO.messages, tools=(RECALL,)))
    [body] = claude.requests
    assert all("type" not in tool for tool in body["tools"])  # one that the service runs or knows has a type
    assert {"context_management", "betas", "container", "mcp_servers"}.isdisjoint(body)
    assert "anthropic-beta" not in claude.headers[0]


async def test_the_key_travels_in_the_header_alone(claude: ClaudeDouble, model: ClaudeModel):
    await model.complete(HELLO)
    assert claude.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(claude.requests)


async def test_the_second_of_two_growing_requests_reads_the_first_from_the_cache(
    claude: ClaudeDouble, model: ClaudeModel
):
    system = (SystemBlock(name="core", text="You are kind. " * 40, cache_breakpoint=True),)
    one = (user_message("one"), assistant_message("ok"), user_message("two"))
    two = (*one, assistant_message("ok"), user_message("three"))
    first = await model.complete(ModelRequest(system=system, messages=one, cached_messages=2))
    second = await model.complete(ModelRequest(system=system, messages=two, cached_messages=4))
    assert first.usage is not None
    assert second.usage is not None
    assert first.usage.cache_write_tokens == second.usage.cache_read_tokens > 100
    assert second.usage.input_tokens > second.usage.cache_read_tokens + second.usage.cache_write_tokens
    assert second.usage.input_tokens > first.usage.input_tokens


async def test_text_that_has_no_utf8_form_is_sent_all_the_same(claude: ClaudeDouble, model: ClaudeModel):
    await model.complete(ModelRequest(messages=(user_message("half \ud83d, whole \ud83d\ude00"),)))
    assert claude.requests[0]["messages"][0]["content"][0]["text"] == "half \ufffd, whole \U0001f600"


# --- what comes back -------------------------------------------------------------------------------------------


async def test_text_is_heard_as_it_comes_and_returned_whole(claude: ClaudeDouble, model: ClaudeModel):
    claude.say("a long answer", usage={"input_tokens": 90, "output_tokens": 12, "cache_read_input_tokens": 7})
    hear = Listener()
    response = await model.complete(HELLO, on_text=hear)
    assert response.parts == (TextPart(text="a long answer"),)
    assert (response.stop_reason, response.model) == (StopReason.END_TURN, MODEL)
    assert len(hear.texts) > 1
    assert "".join(hear.texts) == "a long answer"
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (97, 12)


async def test_text_and_tool_calls_come_in_order_and_other_blocks_are_passed_over(
    claude: ClaudeDouble, model: ClaudeModel
):
    calls = tool("recall", query="tea", depth=[1, {"a": None}]), tool("now")
    claude.say(thinking("hm"), "looking", " \n", *calls)
    response = await model.complete(ModelRequest(messages=HELLO.messages, tools=(RECALL,)))
    assert response.stop_reason is StopReason.TOOL_USE
    assert response.parts == (
        TextPart(text="looking"),
        ToolCall(id=calls[0]["id"], name="recall", arguments={"query": "tea", "depth": [1, {"a": None}]}),
        ToolCall(id=calls[1]["id"], name="now"),
    )


@pytest.mark.parametrize(
    "raw", ['{"query": tea}', '{"query": "te', '["tea"]', '"tea"', '{"a": NaN}', "[" * 100_000, '{"a": ' + "9" * 5000]
)
async def test_tool_arguments_that_are_no_object_are_kept_as_they_came(build: Build, claude: ClaudeDouble, raw: str):
    claude.piece = 20_000 if len(raw) > 1000 else 4
    claude.say(garbled_tool("recall", raw))
    response = await build().complete(HELLO)
    (call,) = response.message.tool_calls
    assert (call.malformed, call.arguments) == (raw, {})
    assert (await build().complete(ModelRequest(messages=answered(response.message)))).message.text == "ok"


def answered(message: Message) -> tuple[Message, ...]:
    """A conversation in which the tool calls of ``message`` were refused."""
    results = tuple(
        ToolResult(call_id=call.id, name=call.name, content="", is_error=True) for call in message.tool_calls
    )
    return (*HELLO.messages, message, Message(role=Role.USER, parts=results))


@pytest.mark.parametrize(
    ("wire", "ours"),
    [
        ("end_turn", StopReason.END_TURN),
        ("stop_sequence", StopReason.END_TURN),
        ("tool_use", StopReason.TOOL_USE),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("refusal", StopReason.REFUSAL),
        ("pause_turn", StopReason.PAUSE_TURN),
        ("model_context_window_exceeded", StopReason.CONTEXT_EXCEEDED),
    ],
)
async def test_every_stop_reason_has_its_own_name_with_or_without_content(
    claude: ClaudeDouble, model: ClaudeModel, wire: str, ours: StopReason
):
    claude.say("some", stop_reason=wire)
    claude.say(stop_reason=wire)
    some, none = await model.complete(HELLO), await model.complete(HELLO)
    assert (some.stop_reason, some.message.text) == (ours, "some")
    assert (none.stop_reason, none.parts) == (ours, ())


async def test_a_stop_reason_of_the_future_ends_the_turn_and_is_logged(claude: ClaudeDouble, model: ClaudeModel):
    claude.say("some", stop_reason="bored")
    with structlog.testing.capture_logs() as logs:
        response = await model.complete(HELLO)
    assert response.stop_reason is StopReason.END_TURN
    assert [(log["event"], log["stop_reason"]) for log in logs] == [("unknown_stop_reason", "bored")]


async def test_a_model_near_its_retirement_still_answers(claude: ClaudeDouble, build: Build):
    assert (await build(model="claude-opus-4-5").complete(HELLO)).message.text == "ok"


# --- what goes wrong -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "kind", "words"),
    [
        ((400, "prompt is too long: 208310 tokens > 200000 maximum"), ContextOverflow, "CONTEXT_WINDOW_TOKENS"),
        ((400, "input length and `max_tokens` exceed context limit: 9 + 9 > 9"), ContextOverflow, "longer"),
        ((413, "Request exceeds the maximum size"), ContextOverflow, "longer"),
        ((400, "Your credit balance is too low"), ModelRejected, "credit balance is too low"),
        ((401, "invalid x-api-key"), ModelRejected, "ANTHROPIC_API_KEY"),
        ((402, "pay"), ModelRejected, "billing"),
        ((403, "forbidden"), ModelRejected, "permissions"),
        ((404, "model: nope"), ModelRejected, MODEL),
        ((429, "slow down"), ModelRateLimited, "in a minute"),
        ((500, "Internal server error"), ModelUnavailable, "Internal server error"),
        ((504, "timed out"), ModelUnavailable, "on its side"),
        ((529, "Overloaded"), ModelOverloaded, "overloaded"),
    ],
)
async def test_each_failure_is_told_in_plain_words(
    claude: ClaudeDouble, model: ClaudeModel, failed: tuple[int, str], kind: type[ModelError], words: str
):
    status, message = failed
    for _ in range(2):
        claude.fail(status, message=message)
    error = await failure(model)
    assert type(error) is kind
    assert words in str(error)
    assert KEY not in str(error)


async def test_a_failure_without_the_services_own_form_is_told_by_its_status(claude: ClaudeDouble, model: ClaudeModel):
    kinds = {401: ModelRejected, 413: ContextOverflow, 429: ModelRateLimited, 418: ModelRejected}
    for status in kinds:
        claude.fail(status, "ignored", body=f"<html>you sent {KEY}</html>")
    for kind in kinds.values():
        error = await failure(model)
        assert type(error) is kind
        assert "html" not in str(error)


async def test_a_request_the_service_finds_malformed_names_the_fault(claude: ClaudeDouble, model: ClaudeModel):
    error = await failure(model, ModelRequest(messages=(assistant_message("I begin"), user_message("no"))))
    assert type(error) is ModelRejected
    assert "first message must use" in str(error)
    assert len(claude.requests) == 1


async def test_a_rate_limit_is_reported_at_once_however_long_it_is(claude: ClaudeDouble, model: ClaudeModel):
    for wait in ("600", "1.5", "soon", "nan", "-1"):
        claude.fail(429, headers={"retry-after": wait})
    errors = [await failure(model) for _ in range(5)]
    assert [error.retry_after for error in errors if isinstance(error, ModelRateLimited)] == [600, 1.5, *[None] * 3]
    assert "600 seconds" in str(errors[0])
    assert len(claude.requests) == 5


@pytest.mark.parametrize("status", [500, 503, 529])
async def test_trouble_on_its_side_is_met_by_one_second_attempt(claude: ClaudeDouble, model: ClaudeModel, status: int):
    claude.fail(status, "api_error" if status == 503 else None)
    claude.say("there you are")
    assert (await model.complete(HELLO)).message.text == "there you are"
    assert claude.requests[0] == claude.requests[1]


@pytest.mark.parametrize("breaks", [Break.ERROR, Break.ABORT, Break.END])
async def test_a_stream_that_breaks_before_any_text_is_tried_once_more(
    claude: ClaudeDouble, model: ClaudeModel, breaks: Break
):
    claude.say("lost", breaks=breaks)
    claude.say("there you are")
    hear = Listener()
    assert (await model.complete(HELLO, on_text=hear)).message.text == "there you are"
    assert "".join(hear.texts) == "there you are"
    for _ in range(2):
        claude.say("lost", breaks=breaks)
    assert type(await failure(model)) is (ModelOverloaded if breaks is Break.ERROR else ModelUnavailable)
    assert len(claude.requests) == 4


@pytest.mark.parametrize("breaks", [Break.ERROR, Break.ABORT, Break.END])
async def test_a_stream_that_breaks_after_some_text_keeps_it_and_is_not_tried_again(
    claude: ClaudeDouble, model: ClaudeModel, breaks: Break
):
    claude.say("a long answer", breaks=breaks, after=2)
    hear = Listener()
    with pytest.raises(StreamInterrupted) as caught:
        await model.complete(HELLO, on_text=hear)
    assert caught.value.partial == "".join(hear.texts) == "a long a"
    assert len(claude.requests) == 1
    assert (breaks is Break.ERROR) == ("overloaded" in str(caught.value))


@pytest.mark.parametrize(
    ("error_type", "kind"),
    [
        ("rate_limit_error", ModelRateLimited),
        ("invalid_request_error", ModelRejected),
        ("authentication_error", ModelRejected),
        ("api_error", ModelUnavailable),
    ],
)
async def test_an_error_inside_a_stream_of_status_200_is_told_by_its_type(
    claude: ClaudeDouble, model: ClaudeModel, error_type: str, kind: type[ModelError]
):
    for _ in range(2):
        claude.say("lost", breaks=Break.ERROR, error_type=error_type)
    assert type(await failure(model)) is kind


async def test_nobody_listening_means_the_service_is_unavailable(build: Build):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        error = await failure(build(base_url=f"http://127.0.0.1:{unused.getsockname()[1]}"))
    assert type(error) is ModelUnavailable
    assert "network" in str(error)


@pytest.mark.parametrize("wrong", [{"api_key": "sk\nsecret"}, {"base_url": "claude.example"}])
async def test_a_key_or_address_that_cannot_be_sent_names_the_settings(build: Build, wrong: dict[str, str]):
    error = await failure(build(**wrong))
    assert type(error) is ModelRejected
    assert "ANTHROPIC_API_KEY" in str(error)
    assert "secret" not in str(error)


async def test_an_answer_that_is_not_the_services_own_cannot_be_read():
    error = model_error(json.JSONDecodeError("no", "<html>", 0), model=MODEL)
    assert type(error) is ModelUnavailable
    assert "cannot be read" in str(error)
    assert type(model_error(httpx2.ReadError("reset"), model=MODEL)) is ModelUnavailable


# --- time and order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [0, 2])
async def test_an_answer_that_does_not_come_in_time_is_given_up(claude: ClaudeDouble, build: Build, after: int):
    claude.say("a long answer", breaks=Break.HOLD, after=after)
    error = await failure(build(deadline=0.2))
    assert type(error) is ModelTimeout
    assert "0.2 seconds" in str(error)


async def test_the_deadline_covers_the_second_attempt_too(claude: ClaudeDouble, build: Build):
    claude.fail(529)
    error = await failure(build(deadline=0.2, retry_pause=3600.0))
    assert type(error) is ModelTimeout


async def test_a_timeout_of_the_listener_is_not_taken_for_ours(claude: ClaudeDouble, model: ClaudeModel):
    async def too_slow(text: str) -> None:
        raise TimeoutError("the channel is slow")

    with pytest.raises(TimeoutError, match="the channel is slow"):
        await model.complete(HELLO, on_text=too_slow)


async def test_what_the_listener_raises_passes_through_and_leaves_nothing_open(
    claude: ClaudeDouble, model: ClaudeModel
):
    async def refuse(text: str) -> None:
        raise ValueError("not here")

    with pytest.raises(ValueError, match="not here"):
        await model.complete(HELLO, on_text=refuse)
    gc.collect()
    assert (await model.complete(HELLO)).message.text == "ok"
    assert len(claude.requests) == 2


async def test_a_cancelled_call_ends_at_once_and_the_next_one_works(claude: ClaudeDouble, model: ClaudeModel):
    claude.say("a long answer", breaks=Break.HOLD, after=1)
    call = asyncio.create_task(model.complete(HELLO))
    await claude.holding.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await model.complete(HELLO)).message.text == "ok"


async def test_calls_run_side_by_side(claude: ClaudeDouble, model: ClaudeModel):
    claude.say("slow", breaks=Break.HOLD)
    slow = asyncio.create_task(model.complete(HELLO))
    await claude.holding.wait()
    assert (await model.complete(HELLO)).message.text == "ok"
    claude.release.set()
    assert (await slow).message.text == "slow"


async def test_closing_twice_is_safe_and_a_closed_model_says_so(claude: ClaudeDouble, model: ClaudeModel):
    await model.complete(HELLO)
    await model.close()
    await model.close()
    assert type(await failure(model)) is ModelUnavailable
    assert model.name == MODEL
    assert len(claude.requests) == 1


SCHEMA = {"type": "object", "properties": {"ops": {"type": "array"}}, "required": ["ops"]}


async def test_an_answer_schema_is_sent_with_the_request(claude: ClaudeDouble, model: ClaudeModel):
    claude.say("{}")
    await model.complete(replace(HELLO, answer_schema=SCHEMA))
    assert claude.requests[0]["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


async def test_a_picture_that_the_service_cannot_read_costs_no_answer(claude: ClaudeDouble, model: ClaudeModel):
    claude.fail(400, "invalid_request_error", message="Could not process image")
    claude.say("I cannot see it.")
    picture = ImagePart(name="cat.png", media_type="image/png", data="aGk=")
    asked = Message(role=Role.USER, parts=(picture, TextPart(text="Who is this?")))
    response = await model.complete(replace(HELLO, messages=(asked,)))
    assert response.message.text == "I cannot see it."
    seen = [[block["type"] for block in request["messages"][0]["content"]] for request in claude.requests]
    assert seen == [["image", "text"], ["text", "text"]]


async def test_a_service_that_knows_no_schemas_is_asked_without_one_from_then_on(
    claude: ClaudeDouble, model: ClaudeModel
):
    claude.fail(400, "invalid_request_error", message="output_config: not supported")
    claude.say("first")
    claude.say("second")
    for expected in ("first", "second"):
        response = await model.complete(replace(HELLO, answer_schema=SCHEMA))
        assert response.message.text == expected
    assert ["output_config" in request for request in claude.requests] == [True, False, False]
