"""The model's weather: each way to fail has its rule and its sentence, and nobody waits for what will fail."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from bot import replies
from bot.circuit_breaker import FAILURES, FIRST_PAUSE, CircuitBreaker
from bot.fallback_model import FallbackModel
from bot.model_rules import Remedy, rule_of, sentence_of
from memory import errors
from memory.errors import (
    ContextOverflow,
    ModelError,
    ModelOverloaded,
    ModelRateLimited,
    ModelRejected,
    ModelResting,
    ModelTimeout,
    ModelUnavailable,
    StreamInterrupted,
)
from memory.messages import ModelRequest, StopReason, user_message
from memory.parameters import MemoryParameters
from memory.records import Scope
from tests.fakes import FakeClock, ScriptedModel
from tests.world import running

HELLO = ModelRequest(messages=(user_message("hello"),))
DOWN = ModelUnavailable("gone")
ANN = Scope(person="console:ann", audience="dm")

# error, what is tried first, whether another model is asked, whether it opens the circuit
TABLE = [
    (ModelOverloaded("x"), Remedy.REPEAT, True, True),
    (ModelUnavailable("x"), Remedy.REPEAT, True, True),
    (ModelRateLimited("x", retry_after=600), Remedy.NONE, True, True),
    (ModelTimeout("x"), Remedy.NONE, False, True),
    (StreamInterrupted("x", partial="y"), Remedy.START_OVER, False, True),
    (ContextOverflow("x"), Remedy.SHORTEN, False, False),
    (ModelRejected("x"), Remedy.NONE, False, False),
    (ModelResting("x", retry_after=20), Remedy.NONE, True, False),
]


@pytest.mark.parametrize(("error", "remedy", "fallback", "counts"), TABLE, ids=lambda value: type(value).__name__)
def test_every_kind_of_failure_has_its_rule(error: ModelError, remedy: Remedy, fallback: bool, counts: bool) -> None:
    rule = rule_of(error)
    assert (rule.remedy, rule.fallback, rule.counts) == (remedy, fallback, counts)


def test_no_kind_of_failure_shares_its_sentence_or_is_forgotten() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)}
    assert {type(error) for error, *_ in TABLE} | {ModelError} == kinds
    sentences = {sentence_of(error) for error, *_ in TABLE}
    assert len(sentences) == len(TABLE)
    assert all(sentence.endswith(".") and "{" not in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("seconds", "when"),
    [(None, "again later."), (5.0, "in a minute."), (89.0, "in a minute."), (600.0, "in about 10 min.")],
)
def test_the_person_is_told_when_to_ask_again(seconds: float | None, when: str) -> None:
    assert sentence_of(ModelRateLimited("x", retry_after=seconds)).endswith(when)


# --- the circuit breaker


def breaker(clock: FakeClock, *answers: object) -> tuple[CircuitBreaker, ScriptedModel]:
    model = ScriptedModel(*answers)  # type: ignore[arg-type]  # Scripts
    return CircuitBreaker(model, clock=clock), model


async def fails(model: CircuitBreaker | FallbackModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(HELLO)
    return caught.value


async def test_after_failures_in_a_row_the_model_is_left_alone_until_the_pause_is_over(clock: FakeClock) -> None:
    model, inner = breaker(clock, *[DOWN] * FAILURES)
    for _ in range(FAILURES):
        assert await fails(model) is DOWN
    clock.advance(seconds=5)
    resting = await fails(model)
    assert isinstance(resting, ModelResting)
    assert resting.retry_after == FIRST_PAUSE.total_seconds() - 5
    assert len(inner.requests) == FAILURES
    clock.advance(seconds=10)
    assert (await model.complete(HELLO)).message.text == "ok"
    assert not model.is_open
    assert model.outcomes == {"ModelUnavailable": FAILURES, "ModelResting": 1, "answered": 1}


async def test_an_answer_in_between_starts_the_row_anew(clock: FakeClock) -> None:
    model, _ = breaker(clock, *[DOWN] * (FAILURES - 1), "ok", *[DOWN] * (FAILURES - 1), "ok")
    for _ in range(2):
        for _ in range(FAILURES - 1):
            await fails(model)
        await model.complete(HELLO)
    assert not model.is_open


async def test_a_failed_trial_doubles_the_pause_up_to_a_limit(clock: FakeClock) -> None:
    model, inner = breaker(clock, *[DOWN] * 20)
    for _ in range(FAILURES):
        await fails(model)
    pauses = []
    for _ in range(7):
        clock.advance(minutes=5)
        error = await fails(model)
        assert isinstance(error, ModelResting)
        pauses.append(error.retry_after)
    assert pauses == [30, 60, 120, 240, 300, 300, 300]
    assert len(inner.requests) == FAILURES + 7


async def test_while_one_request_tries_no_other_does_and_one_that_is_cancelled_leaves_its_place(
    clock: FakeClock,
) -> None:
    never = asyncio.Event()

    async def hang(_: ModelRequest) -> str:
        await never.wait()
        return ""

    model, inner = breaker(clock, *[DOWN] * FAILURES, hang)
    for _ in range(FAILURES):
        await fails(model)
    inner.asked.clear()
    clock.advance(seconds=15)
    trial = asyncio.create_task(model.complete(HELLO))
    await inner.asked.wait()
    assert isinstance(await fails(model), ModelResting)
    trial.cancel()
    await asyncio.wait({trial})
    assert (await model.complete(HELLO)).message.text == "ok"


async def test_a_rate_limit_opens_the_circuit_for_as_long_as_it_says_but_not_for_longer_than_our_own_limit(
    clock: FakeClock,
) -> None:
    for seconds, rests in ((20.0, 20.0), (86_400.0, 300.0)):
        model, _ = breaker(clock, ModelRateLimited("429", retry_after=seconds))
        await fails(model)
        resting = await fails(model)
        assert isinstance(resting, ModelResting)
        assert resting.retry_after == rests


@pytest.mark.parametrize("error", [ModelRejected("key"), ContextOverflow("long")])
async def test_what_is_wrong_with_a_request_says_nothing_about_the_model(clock: FakeClock, error: ModelError) -> None:
    model, inner = breaker(clock, *[error] * 10)
    for _ in range(10):
        assert await fails(model) is error
    assert len(inner.requests) == 10


# --- the fallback model


async def test_another_model_answers_where_the_first_cannot(clock: FakeClock) -> None:
    first, inner = breaker(clock, *[ModelOverloaded("529")] * FAILURES)
    second = ScriptedModel(default="from the second")
    model = FallbackModel(first, second)
    for _ in range(FAILURES + 2):
        assert (await model.complete(HELLO)).message.text == "from the second"
    assert len(inner.requests) == FAILURES
    assert len(second.requests) == FAILURES + 2
    clock.advance(seconds=15)
    assert (await model.complete(HELLO)).message.text == "ok"


@pytest.mark.parametrize("error", [ModelTimeout("slow"), ModelRejected("key"), StreamInterrupted("cut", partial="On")])
async def test_another_model_is_not_asked_where_that_would_not_help(error: ModelError) -> None:
    second = ScriptedModel()
    assert await fails(FallbackModel(ScriptedModel(error), second)) is error
    assert second.requests == []


# --- in a conversation


async def test_a_broken_off_answer_is_asked_for_once_more(tmp_path: Path) -> None:
    model = ScriptedModel(StreamInterrupted("cut", partial="Once upon"), "Once upon a time.")
    async with running(tmp_path, model=model) as world:
        assert await world.say("Tell me a story") == "Once upon a time."


@pytest.mark.parametrize(
    ("again", "kept"),
    [
        (StreamInterrupted("cut", partial="Once"), "Once upon"),
        (StreamInterrupted("cut", partial="Once upon a time"), "Once upon a time"),
        (ModelOverloaded("529"), "Once upon"),
    ],
)
async def test_of_an_answer_that_breaks_off_again_what_came_is_kept_and_marked(
    tmp_path: Path, again: ModelError, kept: str
) -> None:
    model = ScriptedModel(StreamInterrupted("cut", partial="Once upon"), again)
    async with running(tmp_path, model=model) as world:
        expected = kept + replies.UNFINISHED[StopReason.INTERRUPTED]
        assert await world.say("Tell me a story") == expected
        assert len(model.requests) == 2
        await world.say("Go on")
        assert expected in str(model.requests[-1].messages)


async def test_a_message_that_had_to_be_shortened_is_answered_with_a_note(tmp_path: Path) -> None:
    parameters = MemoryParameters(context_window_tokens=6_000)
    async with running(tmp_path, parameters=parameters) as world:
        assert await world.say("word " * 9_000) == "ok" + replies.SHORTENED
        assert await world.say("A short one") == "ok"


async def test_background_work_waits_for_a_resting_model_without_losing_a_try(tmp_path: Path) -> None:
    clock = FakeClock()
    memory_model = ScriptedModel(default=ModelResting("rests", retry_after=30))
    async with running(tmp_path, memory_model=memory_model, clock=clock) as world:
        await world.say("I live in Oslo with my cat.")
        for _ in range(10):
            clock.advance(seconds=31)
            await world.system.settle()
        asked = len(memory_model.requests)
        assert asked > 5
        [job] = await world.system.stores.jobs.unfinished(ANN)
        assert job.attempts == 0
        assert job.due_at - clock.now() == timedelta(seconds=30)
        memory_model.default = '{"candidates": [{"text": "User lives in Oslo"}]}'
        clock.advance(seconds=31)
        await world.system.settle()
        assert [fact.text for fact in await world.system.stores.facts.current(ANN)] == ["User lives in Oslo"]
