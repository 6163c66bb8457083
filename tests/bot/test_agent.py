"""The turn: tools, their cap, their errors, and how a turn ends."""

from pathlib import Path

import pytest

from bot import replies
from memory.errors import ContextOverflow, ModelRateLimited
from memory.messages import ModelRequest, ModelResponse, StopReason, TextPart, ToolCall, ToolResult
from memory.parameters import MemoryParameters
from tests.fakes import ScriptedModel
from tests.world import running

_counter = iter(range(10_000))


def call(name: str, malformed: str | None = None, **arguments: object) -> ToolCall:
    return ToolCall(id=f"call{next(_counter)}", name=name, arguments=arguments, malformed=malformed)


def results_of(request: ModelRequest) -> list[ToolResult]:
    return list(request.messages[-1].tool_results)


async def test_the_model_is_called_again_with_the_result_until_it_answers_without_a_tool(tmp_path: Path) -> None:
    model = ScriptedModel(call("recall_search", query="tea"), "You never told me.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Do I like tea?") == "You never told me."
        [result] = results_of(model.requests[1])
        assert result.content == "Nothing found."


async def test_the_models_service_is_told_who_asks_by_a_hash_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        for who in ("ann", "bob", "ann"):
            await world.say("Hello", who=who)
        ann, bob, again = (request.person_hash for request in world.model.requests)
    assert ann == again != bob
    assert ann is not None
    assert "ann" not in ann
    assert "console:ann" not in str(world.model.requests)


async def test_a_failing_tool_answers_with_its_error_and_the_turn_goes_on(tmp_path: Path) -> None:
    model = ScriptedModel(call("core_memory_replace", old="not there", new="x"), "I could not change that.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Change it") == "I could not change that."
        [result] = results_of(model.requests[1])
        assert result.is_error


@pytest.mark.parametrize(
    "broken",
    [
        call("recall_search", malformed='{"query": "tea'),
        call("recall_search"),
        call("recall_search", query=""),
        call("recall_search", query="tea", speed=3),
        call("conversation_search_date", start_date="yesterday", end_date="2026-01-01"),
        call("no_such_tool"),
    ],
)
async def test_arguments_that_do_not_fit_come_back_as_an_error_and_the_turn_goes_on(
    tmp_path: Path, broken: ToolCall
) -> None:
    model = ScriptedModel(broken, "Never mind.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Search") == "Never mind."
        [result] = results_of(model.requests[1])
        assert result.is_error
        assert result.content.startswith("Error: ")


async def test_the_seventh_tool_call_never_runs_and_the_last_request_forbids_tools(tmp_path: Path) -> None:
    model = ScriptedModel(default=lambda request: call("archival_insert", text=f"note {len(request.messages)}"))
    model.answers = [*(lambda r: call("archival_insert", text=f"note {len(r.messages)}") for _ in range(6)), "Done."]
    async with running(tmp_path, model=model) as world:
        assert await world.say("Remember a lot") == "Done."
        assert [request.tools_enabled for request in model.requests] == [True] * 6 + [False]
        assert model.requests[-1].tools == model.requests[0].tools
        stats = await world.system.stores.archival.stats(world.memory().place.scope)
        assert stats.total == 6


async def test_parallel_calls_count_one_by_one_and_those_over_the_cap_get_an_error(tmp_path: Path) -> None:
    eight = [call("archival_insert", text=f"note {number}") for number in range(8)]
    model = ScriptedModel(eight, "Done.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Remember a lot") == "Done."
        assert [result.is_error for result in results_of(model.requests[1])] == [False] * 6 + [True] * 2


async def test_a_text_with_successful_memory_writes_at_its_end_needs_no_second_model_call(tmp_path: Path) -> None:
    answer = [TextPart(text="Noted, Ann."), call("core_memory_append", text="Name: Ann.")]
    model = ScriptedModel(answer)
    async with running(tmp_path, model=model) as world:
        assert await world.say("I am Ann") == "Noted, Ann."
        assert len(model.requests) == 1
        await world.say("Hello again")
        assert "Name: Ann." in "".join(block.text for block in model.requests[1].system)


async def test_a_memory_write_that_fails_after_the_text_is_shown_to_the_model(tmp_path: Path) -> None:
    answer = [TextPart(text="Noted."), call("core_memory_append", text="x" * 2_001)]
    model = ScriptedModel(answer, "That was too long to keep at hand.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Remember this") == "That was too long to keep at hand."
        [result] = results_of(model.requests[1])
        assert "archival_insert" in result.content
        assert "core_memory_replace" in result.content
        blocks = await world.system.stores.blocks.load(world.memory().place.scope)
        assert all(block.value == "" for block in blocks)


def response(stop: StopReason, *parts: TextPart | ToolCall) -> ModelResponse:
    return ModelResponse(parts=parts, stop_reason=stop, model="scripted")


async def test_an_answer_cut_off_by_its_limit_says_so(tmp_path: Path) -> None:
    model = ScriptedModel(response(StopReason.MAX_TOKENS, TextPart(text="Once upon a time")))
    async with running(tmp_path, model=model) as world:
        assert await world.say("Tell me a story") == "Once upon a time" + replies.UNFINISHED[StopReason.MAX_TOKENS]


async def test_a_refused_message_is_not_shown_to_the_model_again(tmp_path: Path) -> None:
    model = ScriptedModel(response(StopReason.REFUSAL), "Hello.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("something refused") == replies.REFUSED
        await world.say("Hi")
        assert "something refused" not in str(model.requests[-1].messages)


async def test_a_paused_answer_is_continued(tmp_path: Path) -> None:
    model = ScriptedModel(response(StopReason.PAUSE_TURN, TextPart(text="Thinking.")), "Here it is.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Think hard") == "Here it is."
        assert model.requests[1].messages[-1].text == "Thinking."


async def test_an_empty_answer_becomes_a_sentence(tmp_path: Path) -> None:
    async with running(tmp_path, model=ScriptedModel(response(StopReason.END_TURN))) as world:
        assert await world.say("Hello") == replies.NOTHING_TO_SAY


async def test_a_prompt_the_service_finds_too_long_is_shortened_once(tmp_path: Path) -> None:
    model = ScriptedModel(ContextOverflow("too long"), "Fine now.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Hello") == "Fine now."


async def test_a_prompt_that_stays_too_long_ends_in_a_plain_sentence(tmp_path: Path) -> None:
    model = ScriptedModel(ContextOverflow("too long"), ContextOverflow("too long"), "Fine now.")
    async with running(tmp_path, model=model) as world:
        assert "smaller pieces" in await world.say("Hello")
        assert len(model.requests) == 2


async def test_a_rate_limit_tells_when_to_ask_again(tmp_path: Path) -> None:
    async with running(tmp_path, model=ScriptedModel(ModelRateLimited("429", retry_after=600))) as world:
        assert "about 10 min" in await world.say("Hello")


async def test_the_model_is_told_the_time_in_the_zone_of_the_installation(tmp_path: Path) -> None:
    parameters = MemoryParameters(time_zone="Asia/Tokyo")
    async with running(tmp_path, parameters=parameters) as world:
        await world.say("What time is it?")
        assert "2026-03-02 18:00" in world.model.requests[0].messages[-1].text


async def test_days_begin_at_midnight_of_that_zone(tmp_path: Path) -> None:
    search = call("conversation_search_date", start_date="2026-03-03", end_date="2026-03-03")
    model = ScriptedModel("ok", search, "There.")
    async with running(tmp_path, model=model, parameters=MemoryParameters(time_zone="Asia/Tokyo")) as world:
        world.clock.advance(hours=6)  # midnight in Tokyo
        await world.say("A new day begins")
        await world.say("What did I say on the third?")
        [result] = results_of(model.requests[-1])
        assert "A new day begins" in result.content


async def test_what_no_database_takes_is_cleaned_out_of_an_answer(tmp_path: Path) -> None:
    hostile = "half \ud800 and NUL\x00"
    model = ScriptedModel([TextPart(text=hostile), call("archival_insert", text=hostile)], "Bye \ud800\x00")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Hello") == "half \ufffd and NUL"
        assert await world.say("Bye") == "Bye \ufffd"
        await world.system.privacy.export("console:ann")
