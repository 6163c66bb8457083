"""What a person and a community may use in a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.chat import Conversation
from bot.command_table import COMMAND_TABLE
from bot.commands import Caller, Commands, Group, Invocation, Services
from bot.config import load_settings
from memory.messages import ModelResponse, StopReason, TextPart, Usage
from memory.parameters import MemoryParameters
from memory.policy.limits import Limit
from tests.fakes import START, FakeClock, ScriptedModel, WritingModel
from tests.world import World, running

GARDEN = Conversation(platform="console", key="console:garden", audience="guild:1")
OSLO = MemoryParameters(time_zone="Europe/Oslo")
LATE_EVENING = datetime(2026, 3, 2, 22, 30, tzinfo=UTC)  # 23:30 in Oslo

YOUR_LIMIT = "That was all for today: the limit for you is {} a day. I answer again from 2026-03-03 00:00 CET on."


async def test_the_limit_of_a_day_is_said_with_when_it_ends_and_the_message_is_kept(tmp_path: Path) -> None:
    clock, model = FakeClock(LATE_EVENING), ScriptedModel(default="Hello.")
    async with running(tmp_path, clock=clock, model=model, parameters=OSLO, limits={Limit.PERSON_TURNS: 2}) as world:
        assert [await world.say("Hi") for _ in range(2)] == ["Hello.", "Hello."]
        assert (await world.say("I live in Oslo.")).startswith(YOUR_LIMIT.format("2 answers"))
        assert len(model.requests) == 2
        said = (await world.system.privacy.export("console:ann"))["scopes"]["dm"]["recall"]
        assert said[-1]["parts"][0]["text"] == "I live in Oslo."
        clock.advance(minutes=29)
        assert (await world.say("And now?")).startswith("That was all")
        clock.advance(minutes=1)
        assert await world.say("And now?") == "Hello."


async def test_the_counts_survive_a_restart_and_hold_in_every_audience(tmp_path: Path) -> None:
    limits = {Limit.PERSON_TURNS: 2}
    async with running(tmp_path, limits=limits) as world:
        await world.say("Hi")
        await world.say("Hi", where=GARDEN)
    async with running(tmp_path, limits=limits, clock=FakeClock(START + timedelta(hours=1))) as world:
        assert (await world.say("Hi")).startswith("That was all")
        assert await world.say("Hi", who="bob") == "ok"


async def test_a_turn_that_a_crash_cut_off_is_counted_once(tmp_path: Path) -> None:
    limits, clock, model = {Limit.PERSON_TURNS: 1}, FakeClock(), WritingModel("Hello.|")
    async with running(tmp_path, limits=limits, clock=clock, chat_model=model) as world:
        await world.handler.accept(world.incoming("Hi"))
        await model.wrote.wait()
        await world.handler.drain(0)
    async with running(tmp_path, limits=limits, clock=clock) as world:
        await world.handler.idle()
        assert world.channel.texts == ["ok"]
        clock.advance(minutes=1)
        assert (await world.say("And now?")).startswith("That was all")


async def test_tokens_are_counted_as_the_service_counts_them(tmp_path: Path) -> None:
    answer = ModelResponse(
        parts=(TextPart(text="Hello."),),
        stop_reason=StopReason.END_TURN,
        model="m",
        usage=Usage(input_tokens=90, output_tokens=10),
    )
    async with running(tmp_path, model=ScriptedModel(answer, answer), limits={Limit.PERSON_TOKENS: 150}) as world:
        assert [await world.say("Hi") for _ in range(2)] == ["Hello.", "Hello."]
        assert "150 tokens" in await world.say("Hi")


async def test_a_whole_community_has_a_limit_and_direct_chats_do_not_count_for_it(tmp_path: Path) -> None:
    async with running(tmp_path, limits={Limit.COMMUNITY_TURNS: 2}) as world:
        for who in ("ann", "bob"):
            assert await world.say("Hi", who=who, where=GARDEN) == "ok"
        assert "the limit for everybody here together is 2 answers" in await world.say("Hi", who="eve", where=GARDEN)
        assert await world.say("Hi", who="eve") == "ok"


@pytest.mark.parametrize(("spared", "answered"), [(True, "ok"), (False, "That was all")])
async def test_admins_are_spared_where_the_setting_says_so(tmp_path: Path, spared: bool, answered: str) -> None:
    async with running(tmp_path, limits={Limit.PERSON_TURNS: 0}, admins_exempt=spared) as world:
        await world.handler.accept(replace(world.incoming("Hi", where=GARDEN), from_admin=True))
        await world.handler.idle()
        assert world.channel.texts[-1].startswith(answered)


async def test_owners_are_never_limited(tmp_path: Path) -> None:
    async with running(tmp_path, limits={Limit.PERSON_TURNS: 0}, owners=frozenset({"console:ann"})) as world:
        assert await world.say("Hi") == "ok"


def commands_of(world: World, **settings: object) -> Commands:
    configured = load_settings(settings, env_file=None)
    return Commands(COMMAND_TABLE, Services(system=world.system, settings=configured, clock=world.clock))


async def budget(commands: Commands, where: Conversation = GARDEN, **arguments: str) -> str:
    admin = Caller(person="console:eve", name="Eve", admin_of=frozenset({"guild:1"}))
    call = Invocation(caller=admin, conversation=where, arguments=arguments)
    return (await commands.run(Group.MEMORY, "budget", call)).text


async def test_an_admin_chooses_lower_limits_for_the_own_server_alone(tmp_path: Path) -> None:
    async with running(tmp_path, limits={Limit.PERSON_TURNS: 5}) as world:
        commands = commands_of(world, person_turns_per_day=5)
        assert "- person_turns: 1 a day (chosen here)" in await budget(commands, limit="person_turns", value="1")
        assert await world.say("Hi", where=GARDEN) == "ok"
        assert "1 answers" in await world.say("Hi", where=GARDEN)
        assert "Today 1 answers and " in await budget(commands)
        assert await world.say("Hi", where=replace(GARDEN, key="console:x", audience="guild:2")) == "ok"
        raised = await budget(commands, limit="person_turns", value="9")
        assert "- person_turns: 5 a day (set by whoever runs me)" in raised
        assert "community_turns: no limit" in await budget(commands, limit="person_turns", value="none")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"limit": "coffee", "value": "1"}, "'coffee' is none of person_turns"),
        ({"limit": "person_turns", "value": "-1"}, "'-1' is no whole number"),
        ({"limit": "person_turns"}, "Say how many a day"),
    ],
)
async def test_a_limit_that_makes_no_sense_is_refused_with_an_example(
    tmp_path: Path, arguments: dict[str, str], sentence: str
) -> None:
    async with running(tmp_path) as world:
        assert sentence in await budget(commands_of(world), **arguments)
        assert await world.system.stores.limits.of("guild:1") == {}


async def test_a_member_cannot_choose_limits(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        call = Invocation(caller=Caller(person="console:ann", name="Ann"), conversation=GARDEN)
        assert "Only an admin" in (await commands_of(world).run(Group.MEMORY, "budget", call)).text
