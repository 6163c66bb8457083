"""What the bot hears is answered by the rules in force, also after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.chat import Conversation, DeliveryRefused
from bot.commands import Group, Invocation
from bot.listener import LoopBudget
from bot.speaking import Addressed, Heard, Speaker, SpeakingRules
from tests.desk import Desk, admin
from tests.fakes import START, FakeClock
from tests.world import World, running

SERVER = "guild:7"
CHANNEL = Conversation(platform="console", key="console:general", audience=SERVER)
THREAD = Conversation(platform="console", key="console:thread", audience=SERVER, parent=CHANNEL.key)
ADA = admin("ada", SERVER)


def heard(world: World, where: Conversation, text: str = "hello", *, who: str = "ann", **fields: Any) -> Heard:
    return Heard(message=world.incoming(text, who=who, where=where), in_thread=where.parent is not None, **fields)


async def answers(world: World, where: Conversation, **fields: Any) -> bool:
    return await world.listener.is_for_us(heard(world, where, **fields))


async def test_a_thread_it_took_part_in_is_followed_also_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        assert not await answers(world, THREAD)
        assert await answers(world, THREAD, addressed=Addressed.US)
        assert await answers(world, THREAD)
    async with running(tmp_path) as world:
        assert await answers(world, THREAD)
        assert not await answers(world, THREAD, addressed=Addressed.OTHERS)
        assert not await answers(world, CHANNEL)


async def test_a_thread_that_fell_silent_is_let_go_and_what_was_chosen_for_it_is_not(tmp_path: Path) -> None:
    chosen = Conversation(platform="console", key="console:chosen", audience=SERVER, parent=CHANNEL.key)
    async with running(tmp_path) as world:
        for where in (THREAD, chosen):
            await answers(world, where, addressed=Addressed.US)
        await Desk.of(world).call("/memory channel open", by=ADA, where=chosen)
        world.clock.advance(days=31)
        await world.system.tidy()
        assert not await answers(world, THREAD)
        assert await answers(world, chosen)


async def test_a_thread_in_use_is_not_let_go(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await answers(world, THREAD, addressed=Addressed.US)
        for _ in range(3):
            world.clock.advance(days=20)
            await world.system.tidy()
            assert await answers(world, THREAD)


async def test_an_admin_chooses_for_a_channel_and_otherwise_for_one_of_its_threads(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        shown = await desk.call("/memory channel", by=ADA, where=CHANNEL)
        assert shown.text.startswith("threads:")
        done = await desk.call("/memory channel OPEN", by=ADA, where=CHANNEL)
        assert done.succeeded
        assert await answers(world, CHANNEL)
        assert await answers(world, THREAD)
        await desk.call("/memory channel mention", by=ADA, where=THREAD)
        assert await answers(world, CHANNEL)
        assert not await answers(world, THREAD)
        assert (await desk.call("/memory channel", by=ADA, where=THREAD)).text.startswith("mention:")


async def test_only_an_admin_chooses_and_only_what_there_is(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        assert not (await desk.call("/memory channel open", by=admin("bob"), where=CHANNEL)).succeeded
        wrong = await desk.call("/memory channel loud", by=ADA, where=CHANNEL)
        assert "'loud' is none of mention, threads, open" in wrong.text
        call = Invocation(caller=ADA, conversation=CHANNEL)
        offered = await desk.commands.suggest(Group.MEMORY, "channel", "mode", call)
        assert [suggestion.value for suggestion in offered] == ["mention", "threads", "open"]
        assert not await answers(world, CHANNEL)


@pytest.mark.parametrize("command", ["silence", "channel open"])
async def test_in_a_direct_chat_there_is_nothing_to_choose(tmp_path: Path, command: str) -> None:
    async with running(tmp_path) as world:
        owner = Desk.of(world, owners=frozenset({"console:ann"}))
        reply = await owner.call(f"/memory {command}")
        assert "In a direct chat I always answer" in reply.text


async def test_a_silenced_channel_silences_its_threads_and_a_thread_ends_it_for_both(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        await answers(world, THREAD, addressed=Addressed.US)
        await desk.call("/memory silence", by=ADA, where=CHANNEL)
        assert not await answers(world, THREAD, addressed=Addressed.US)
        await desk.call("/memory unsilence", by=ADA, where=THREAD)
        assert await answers(world, CHANNEL, addressed=Addressed.US)
        assert await answers(world, THREAD)


async def test_two_bots_do_not_talk_to_each_other_for_ever(tmp_path: Path) -> None:
    async with running(tmp_path, rules=SpeakingRules(answer_bots=True)) as world:
        named = {"addressed": Addressed.US, "speaker": Speaker.BOT, "who": "robot"}
        answered = [await answers(world, CHANNEL, **named) for _ in range(25)]
        assert answered == [True] * 20 + [False] * 5
        assert await answers(world, CHANNEL, addressed=Addressed.US)
        world.clock.advance(seconds=60)
        assert await answers(world, CHANNEL, **named)


def test_a_loop_budget_counts_each_pair_by_itself() -> None:
    budget, clock = LoopBudget(), FakeClock(START)
    assert all(budget.spend(("a", "c"), clock.now()) for _ in range(LoopBudget.ANSWERS))
    assert not budget.spend(("a", "c"), clock.now())
    assert budget.spend(("b", "c"), clock.now())
    assert budget.spend(("a", "d"), clock.now())


async def test_a_channel_that_takes_no_answers_is_left_alone_for_a_while_and_then_tried_again(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        accept = world.listener.guard(world.handler.accept)

        async def ask(where: Conversation = CHANNEL) -> None:
            await accept(world.incoming("hello", where=where))
            await world.handler.idle()

        world.channel.failures = [DeliveryRefused("no permission") for _ in range(100)]
        for _ in range(100):
            await ask()
        assert len(world.channel.failures) == 97
        assert len(world.model.requests) == 3
        world.clock.advance(minutes=10)
        await ask()
        await ask()
        assert len(world.channel.failures) == 96
        world.channel.failures = []
        await ask(Conversation(platform="console", key="console:other", audience=SERVER))
        assert world.channel.texts == ["ok"]
        world.clock.advance(minutes=10)
        for _ in range(3):
            await ask()
        assert world.channel.texts == ["ok"] * 4
