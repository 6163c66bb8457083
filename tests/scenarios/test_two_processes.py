"""Two processes on one database, as while a new version takes over: each message is answered once, by either."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from bot.chat import DeliveryFailed, OutgoingMessage
from memory.errors import ModelUnavailable
from memory.messages import ModelRequest
from memory.processes.learner import LEARN
from memory.records import Scope
from tests.fakes import FakeClock, RecordingChannel, Script, ScriptedModel
from tests.world import running


class Slow:
    """A model whose one answer comes when it is told to."""

    def __init__(self, answer: Script) -> None:
        self.may_answer = asyncio.Event()
        self.model = ScriptedModel(self._wait)
        self._answer = answer

    async def _wait(self, _request: ModelRequest) -> Script:
        await self.may_answer.wait()
        return self._answer


@pytest.mark.parametrize("answer", ["Too late.", ModelUnavailable("The model cannot be reached.")])
async def test_a_message_that_both_take_up_has_the_answer_of_the_faster_alone(tmp_path: Path, answer: Script) -> None:
    slow, channel = Slow(answer), RecordingChannel()
    async with running(tmp_path, model=slow.model, channel=channel) as old:
        await old.handler.accept(old.incoming("I live in Oslo."))
        await slow.model.asked.wait()
        async with running(tmp_path, model=ScriptedModel("Nice."), channel=channel) as new:
            await new.handler.idle()
        slow.may_answer.set()
        await old.handler.idle()
        await old.system.settle()
        assert channel.texts == ["Nice."]
        kept = (await old.system.privacy.export("console:ann"))["scopes"]["dm"]
        assert [row["parts"][0]["text"] for row in kept["recall"]] == ["I live in Oslo.", "Nice."]
        assert [row["state"] for row in kept["inbox"]] == ["delivered"]
        assert await old.system.stores.inbox.pending() == []


async def test_a_message_that_both_took_up_before_either_began_is_stored_once(tmp_path: Path) -> None:
    channel = RecordingChannel()
    async with running(tmp_path, start=False, channel=channel) as old:
        await old.handler.accept(old.incoming("I live in Oslo."))
        async with running(tmp_path, start=False, channel=channel) as new:
            await new.handler.recover()
            for world in (old, new):
                world.handler.open()
            await asyncio.gather(old.handler.idle(), new.handler.idle())
        said = (await old.system.privacy.export("console:ann"))["scopes"]["dm"]["recall"]
        assert [row["parts"][0]["text"] for row in said] == ["I live in Oslo.", "ok"]


class Held(RecordingChannel):
    """A channel in which sending takes until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.sending = asyncio.Event()
        self.may_end = asyncio.Event()

    async def send(self, message: OutgoingMessage) -> None:
        self.sending.set()
        await self.may_end.wait()
        await super().send(message)


async def test_an_answer_that_one_process_is_sending_is_not_sent_by_another(tmp_path: Path) -> None:
    held, other = Held(), RecordingChannel()
    async with running(tmp_path, model=ScriptedModel("Nice."), channel=held) as old:
        await old.handler.accept(old.incoming("I live in Oslo."))
        await held.sending.wait()
        async with running(tmp_path, channel=other) as new:
            await new.handler.idle()
            held.may_end.set()
            await old.handler.idle()
            await new.handler.recover()
            await new.handler.idle()
    assert (held.texts, other.texts) == (["Nice."], [])


async def test_an_answer_whose_process_is_gone_is_sent_by_the_next_at_once(tmp_path: Path) -> None:
    broken, channel = RecordingChannel(), RecordingChannel()
    broken.failures.append(DeliveryFailed("Out of reach."))
    async with running(tmp_path, model=ScriptedModel("Nice."), channel=broken) as old:
        await old.handler.accept(old.incoming("I live in Oslo."))
        await old.handler.idle()
        async with running(tmp_path, channel=RecordingChannel()) as beside:
            await beside.handler.idle()
            assert beside.channel.texts == []
    async with running(tmp_path, channel=channel) as new:
        await new.handler.idle()
    assert channel.texts == ["Nice."]


async def test_a_job_whose_process_is_gone_is_done_by_the_next_at_once(tmp_path: Path) -> None:
    scope = Scope(person="console:ann", audience="dm")
    async with running(tmp_path) as old:
        jobs, now = old.system.stores.jobs, old.clock.now()
        async with old.system.transaction() as tx:
            await jobs.add(scope, tx, kind=LEARN, subject=1, payload={"exchange": 1}, at=now)
        assert await jobs.claim(now=now, lease=timedelta(minutes=5))
        async with running(tmp_path) as beside:
            await beside.system.resume()
            await beside.system.settle()
            assert await beside.system.stores.jobs.unfinished(scope)
    async with running(tmp_path) as new:
        await new.system.resume()
        await new.system.settle()
        assert await new.system.stores.jobs.unfinished(scope) == []


async def test_an_answer_is_taken_over_from_a_process_that_hangs(tmp_path: Path) -> None:
    held, clock = Held(), FakeClock()
    async with running(tmp_path, model=ScriptedModel("Nice."), channel=held, clock=clock) as old:
        await old.handler.accept(old.incoming("I live in Oslo."))
        await held.sending.wait()
        clock.advance(minutes=6)
        async with running(tmp_path, clock=clock) as new:
            await new.handler.idle()
            assert new.channel.texts == ["Nice."]
        held.may_end.set()
