"""The double behaves, seen through the real client library, as the service is documented to."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic

from tests.doubles.claude import Answer, Break, ClaudeDouble, Failure, garbled_tool, thinking, tool
from tests.doubles.claude_rules import violation

MODEL = "claude-sonnet-5-5"
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
RECALL: list[Any] = [{"name": "recall", "description": "Look up.", "input_schema": {"type": "object"}}]


@pytest.fixture
async def claude() -> AsyncIterator[ClaudeDouble]:
    async with ClaudeDouble() as claude:
        yield claude


@pytest.fixture
async def client(claude: ClaudeDouble) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(api_key="key", base_url=claude.url, max_retries=0) as client:
        yield client


async def ask(client: AsyncAnthropic, messages: list[Any] = HELLO, **options: Any) -> anthropic.types.Message:
    return await client.messages.create(model=MODEL, max_tokens=50, messages=messages, **options)


async def read(client: AsyncAnthropic, seen: list[str]) -> anthropic.types.Message:
    async with client.messages.stream(model=MODEL, max_tokens=50, messages=HELLO) as stream:
        async for text in stream.text_stream:
            seen.append(text)
        return await stream.get_final_message()


async def test_it_answers_in_the_order_of_its_script_and_then_with_its_default(claude, client):
    claude.say("first")
    claude.answer_with(lambda body: Answer(blocks=[{"type": "text", "text": body["messages"][0]["content"]}]))
    answers = [(await ask(client)).content[0].text for _ in range(3)]
    assert answers == ["first", "hello", "ok"]
    assert [body["model"] for body in claude.requests] == [MODEL] * 3
    assert claude.headers[0]["Authorization"] == "Bearer key"


async def test_a_streamed_answer_is_the_same_as_a_plain_one(claude, client):
    blocks = (thinking("hm, tea"), "Let me look that up.", tool("recall", query="tea"))
    claude.say(*blocks)
    claude.say(*blocks)
    seen: list[str] = []
    plain, streamed = await ask(client), await read(client, seen)
    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in plain.content]
    assert streamed.stop_reason == plain.stop_reason == "tool_use"
    assert len(seen) > 1
    assert "".join(seen) == "Let me look that up."


async def test_garbled_tool_arguments_reach_the_client_as_they_are(claude, client):
    claude.say(garbled_tool("recall", '{"query": tea}'))
    with pytest.raises(ValueError, match="Unable to parse tool parameter"):
        await read(client, [])


@pytest.mark.parametrize(
    "reason", ["max_tokens", "stop_sequence", "refusal", "pause_turn", "model_context_window_exceeded"]
)
async def test_any_stop_reason_can_be_given_with_or_without_content(claude, client, reason):
    claude.say("some", stop_reason=reason)
    claude.say(stop_reason=reason)
    assert (await ask(client)).stop_reason == reason
    empty = await read(client, [])
    assert (empty.stop_reason, empty.content) == (reason, [])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (429, anthropic.RateLimitError),
        (500, anthropic.InternalServerError),
        (529, anthropic.OverloadedError),
    ],
)
async def test_a_failure_reaches_the_client_as_its_own_class_with_its_headers(claude, client, status, kind):
    claude.fail(status, message="no", headers={"retry-after": "600"})
    with pytest.raises(kind) as caught:
        await ask(client)
    assert caught.value.api_message == "no"
    assert caught.value.response.headers["retry-after"] == "600"


async def test_an_error_event_breaks_a_stream_of_status_200(claude, client):
    claude.say("a long answer", breaks=Break.ERROR, after=2)
    seen: list[str] = []
    with pytest.raises(anthropic.APIStatusError) as caught:
        await read(client, seen)
    assert (caught.value.status_code, caught.value.type) == (200, "overloaded_error")
    assert "".join(seen) == "a long a"


async def test_a_reset_connection_breaks_a_stream_below_the_client_library(claude, client):
    claude.say("a long answer", breaks=Break.ABORT, after=2)
    with pytest.raises(httpx2.HTTPError):
        await read(client, [])


async def test_a_stream_can_end_early_without_any_error(claude, client):
    claude.say("a long answer", breaks=Break.END, after=2)
    assert (await read(client, [])).stop_reason is None


@pytest.mark.parametrize("after", [0, 2])
async def test_a_held_answer_goes_on_when_released(claude, client, after):
    claude.say("a long answer", breaks=Break.HOLD, after=after)
    seen: list[str] = []
    reading = asyncio.create_task(read(client, seen))
    await claude.holding.wait()
    assert not reading.done()
    claude.release.set()
    await reading
    assert "".join(seen) == "a long answer"


async def test_it_stops_while_an_answer_is_held():
    async with (
        ClaudeDouble() as claude,
        AsyncAnthropic(api_key="key", base_url=claude.url, max_retries=0) as client,
    ):
        claude.say("never read", breaks=Break.HOLD)
        reading = asyncio.create_task(read(client, []))
        await claude.holding.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading


async def test_usage_grows_with_the_request_and_can_be_set(claude, client):
    claude.say("one")
    claude.say("two")
    claude.say("three", usage={"input_tokens": 7, "output_tokens": 3})
    short, long = await ask(client), await ask(client, [{"role": "user", "content": "hello " * 100}])
    assert short.usage.input_tokens < 50 < long.usage.input_tokens
    counted = await client.messages.count_tokens(model=MODEL, messages=HELLO)
    assert counted.input_tokens == short.usage.input_tokens
    fixed = await ask(client)
    assert (fixed.usage.input_tokens, fixed.usage.output_tokens) == (7, 3)


async def test_a_marked_prefix_is_read_from_the_cache_by_the_next_request(claude, client):
    mark = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "You are kind. " * 50, **mark}]
    first = await ask(client, [{"role": "user", "content": [{"type": "text", "text": "one", **mark}]}], system=system)
    longer = [*HELLO, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "two"}]
    longer[0] = {"role": "user", "content": "one"}
    second = await ask(client, longer, system=system)
    changed = await ask(client, HELLO, system=[{"type": "text", "text": "You are curt.", **mark}])
    assert first.usage.cache_read_input_tokens == 0
    assert first.usage.cache_creation_input_tokens > 100
    assert 100 < second.usage.cache_read_input_tokens <= first.usage.cache_creation_input_tokens
    assert changed.usage.cache_read_input_tokens == 0


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


TEXT = {"type": "text", "text": "x"}
CALL = {"type": "tool_use", "id": "t1", "name": "recall", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "42"}
MARKED = {**TEXT, "cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "at least one message"),
        ({"messages": [assistant(TEXT), user(TEXT)]}, "first message"),
        ({"messages": [user(TEXT), assistant(TEXT)]}, "prefill"),
        ({"messages": [user(TEXT), assistant(), user(TEXT)]}, "non-empty content"),
        ({"messages": [user({"type": "text", "text": " \n"})]}, "non-whitespace"),
        ({"system": [{"type": "text", "text": ""}]}, "non-whitespace"),
        ({"messages": [user(TEXT), assistant(CALL), user(TEXT)]}, "without `tool_result`"),
        ({"messages": [user(TEXT), assistant(CALL), user(TEXT, RESULT)]}, "without `tool_result`"),
        ({"messages": [user(RESULT)]}, "unexpected `tool_use_id`"),
        ({"messages": [user(TEXT), assistant(CALL, CALL), user(RESULT)]}, "must be unique"),
        ({"messages": [user(TEXT), assistant({**CALL, "input": "raw"}), user(RESULT)]}, "valid dictionary"),
        ({"messages": [user(TEXT), assistant({**CALL, "id": "t 1"}), user(RESULT)]}, "should match pattern"),
        (
            {"messages": [user(TEXT), assistant(CALL), user({**RESULT, "content": "", "is_error": True})]},
            "cannot be empty if `is_error`",
        ),
        ({"messages": [user(*[MARKED] * 5)]}, "maximum of 4 blocks with cache_control"),
        ({"tool_choice": {"type": "none"}}, "while providing tools"),
        ({"tools": RECALL, "tool_choice": {"type": "perhaps"}}, "does not match any"),
        ({"tools": RECALL, "tool_choice": {"type": "tool", "name": "other"}}, "not found in provided tools"),
        ({"tools": RECALL * 2}, "must be unique"),
        ({"tools": [{**RECALL[0], "name": "re call"}]}, "should match pattern"),
        ({"temperature": 0.2}, "Extra inputs"),
        ({"max_tokens": 0}, "greater than or equal to 1"),
    ],
)
def test_a_request_that_breaks_a_rule_is_told_which(change, words):
    body = {"model": MODEL, "max_tokens": 5, "messages": HELLO}
    assert violation(body) is None
    assert words in (violation({**body, **change}) or "")


def test_a_whole_tool_round_breaks_no_rule():
    rounds = [user(TEXT), assistant(TEXT, CALL), user(RESULT), user(MARKED)]
    assert violation({"model": MODEL, "max_tokens": 5, "messages": rounds, "tools": RECALL}) is None


async def test_a_refused_request_uses_up_nothing_of_the_script(claude, client):
    claude.say("for later")
    with pytest.raises(anthropic.BadRequestError, match="prefill"):
        await ask(client, [*HELLO, assistant(TEXT)])
    assert (await ask(client)).content[0].text == "for later"


async def test_a_paused_turn_may_be_sent_back_as_it_is(claude, client):
    claude.say("so far", stop_reason="pause_turn")
    paused = await ask(client)
    resumed = await ask(client, [*HELLO, {"role": "assistant", "content": paused.content}])
    assert resumed.content[0].text == "ok"


async def test_a_page_of_a_proxy_can_stand_in_for_an_error(claude, client):
    claude.answer_with(
        lambda body: Failure(status=502, error_type="api_error", message="", body="<html>Bad gateway</html>")
    )
    with pytest.raises(anthropic.InternalServerError) as caught:
        await ask(client)
    assert caught.value.type is None


async def test_it_serves_another_process():
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.doubles.claude", "from afar"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().strip()
        async with AsyncAnthropic(api_key="key", base_url=url, max_retries=0) as client:
            answer = (await ask(client)).content[0]
    finally:
        await process.communicate(b"")
    assert answer.text == "from afar"
    assert process.returncode == 0
