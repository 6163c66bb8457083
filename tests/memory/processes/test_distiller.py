"""Distilling with a model, and by rule where it fails."""

from __future__ import annotations

import asyncio
import json

import pytest

from memory.errors import ModelOverloaded
from memory.messages import ModelRequest
from memory.processes.distiller import Distiller
from tests.fakes import ScriptedModel

SAID = "I decided to move to Oslo, see https://a.example/oslo"
ANSWER = {"fact": "User moves to Oslo", "people": [], "topics": ["moving"], "actions": [], "outcome": "pending"}


async def test_without_a_model_it_is_by_rule() -> None:
    done = await Distiller().distil(SAID)
    assert (done.mode, done.note, done.found.fact) == ("rule", "", "I decided to move to Oslo, see a.example")


async def test_a_model_distils_and_links_survive() -> None:
    model = ScriptedModel(json.dumps(ANSWER))
    done = await Distiller(model).distil(SAID)
    assert (done.mode, done.note) == ("llm", "")
    assert (done.found.fact, done.found.core) == ("User moves to Oslo", "moves Oslo")
    assert done.found.metadata == {"urls": ["https://a.example/oslo"]}


async def test_a_model_is_shown_the_first_thousand_characters_and_asked_for_200_tokens() -> None:
    model = ScriptedModel(json.dumps(ANSWER))
    await Distiller(model).distil("x" * 1_000 + "secret")
    [request] = model.requests
    assert request.max_output_tokens == 200
    assert "x" * 1_000 in request.messages[0].text
    assert "secret" not in request.messages[0].text


@pytest.mark.parametrize("answer", ["no JSON", ModelOverloaded("The model is overloaded.")])
async def test_where_the_model_fails_the_rule_stands_in_and_says_so(answer: str | Exception) -> None:
    done = await Distiller(ScriptedModel(answer)).distil(SAID)
    assert done.mode == "rule"
    assert done.note.endswith("It was distilled by rule.")
    assert done.found.fact == "I decided to move to Oslo, see a.example"


async def test_a_model_that_hangs_is_not_waited_for() -> None:
    async def hang(_: ModelRequest) -> str:
        await asyncio.Event().wait()
        return ""

    done = await Distiller(ScriptedModel(hang), deadline=0.01).distil(SAID)
    assert done.note == "The model gave no answer within 0.01 seconds. It was distilled by rule."
