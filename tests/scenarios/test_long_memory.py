"""Without a key, over many sittings: what matters stays, what is said for nothing leaves no trace, nothing grows."""

from __future__ import annotations

from pathlib import Path

import structlog

from bot.offline import OfflineModel
from memory.messages import ModelRequest
from memory.parameters import MemoryParameters
from tests.fakes import ScriptedModel
from tests.world import World, running

RULES = ("Never call me before ten.", "I must not eat peanuts.")
SMALL_TALK = ("Hi!", "Thanks a lot!", "How are you?", "Good night", "lol", "Sounds good.", "What a day!", "ok, see you")


async def sit(world: World, *texts: str) -> None:
    """One sitting, up to the silence that ends it."""
    for text in texts:
        await world.say(text)
    world.clock.advance(minutes=31)
    await world.system.sweep_idle()
    await world.system.settle()


async def summary(world: World) -> str:
    latest = await world.system.stores.summaries.latest(world.memory().place.scope)
    assert latest is not None
    return latest.text


def by_rule(world: World) -> None:
    """Let the rule-based model look after memory, its requests kept."""
    offline = OfflineModel()

    async def answer(request: ModelRequest) -> str:
        return (await offline.complete(request)).message.text

    world.memory_model.default = answer


async def test_what_is_ruled_out_outlives_ten_summaries_word_for_word(tmp_path: Path) -> None:
    async with running(tmp_path, parameters=MemoryParameters(summary_max_words=60)) as world:
        by_rule(world)
        await sit(world, *RULES)
        for number in range(10):
            await sit(world, f"I paid bill {number} of 300 euros to Mr Miller{number} in Leeds.")
        text = await summary(world)
        assert all(rule in text for rule in RULES)
        assert "Miller9" in text


async def test_fifty_summaries_stay_within_the_limit(tmp_path: Path) -> None:
    async with running(tmp_path, parameters=MemoryParameters(summary_max_words=60, summary_versions=60)) as world:
        by_rule(world)
        for number in range(50):
            await sit(world, f"On 3 May {1950 + number} my aunt Berta{number} moved to house {number} in Leeds.")
        versions = await world.system.stores.summaries.versions(world.memory().place.scope)
        assert len(versions) == 50
        assert max(version.words for version in versions) <= 60


async def test_fifty_evictions_leave_a_digest_within_its_limit(tmp_path: Path) -> None:
    parameters = MemoryParameters(window_summary_max_words=60, max_conversation_history=2, history_target=1)
    async with running(tmp_path, parameters=parameters) as world:
        by_rule(world)
        with structlog.testing.capture_logs() as logs:
            for number in range(53):
                await world.say(f"On 3 May {1950 + number} my aunt Berta{number} moved to house {number} in Leeds.")
        assert sum(entry["event"] == "eviction" for entry in logs) >= 50
        digests = [entry["words"] for entry in logs if entry.get("memory") == "window_summary"]
        assert len(digests) >= 50
        assert max(digests) <= 60
        place = world.memory().place
        session = await world.system.stores.sessions.open(place.scope, place.conversation)
        assert session is not None
        assert "Berta" in session.window_summary
        assert len(session.window_summary.split()) <= 60


async def test_two_hundred_turns_of_small_talk_teach_next_to_nothing(tmp_path: Path) -> None:
    chatty = ScriptedModel(default="You told me that you love sailing, live in Oslo and own a boat. How nice!")
    async with running(tmp_path, model=chatty) as world:
        by_rule(world)
        await world.say("I have a cat called Tom.")
        for number in range(200):
            await world.handler.accept(world.incoming(SMALL_TALK[number % len(SMALL_TALK)]))
        await world.handler.idle()
        await world.system.settle()
        scope = world.memory().place.scope
        facts = await world.system.stores.facts.current(scope)
        assert 1 <= len(facts) <= 5
        evidence = await world.system.stores.recall.get(
            world.memory().place.reach, [fact.source_message for fact in facts if fact.source_message]
        )
        assert {message.text for message in evidence} == {"I have a cat called Tom."}


async def test_what_is_recalled_is_not_learned_again(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        by_rule(world)
        await world.say("I have a cat called Tom and I live in Oslo.")
        scope = world.memory().place.scope
        before = await world.system.stores.facts.current(scope)
        world.model.default = "You have a cat called Tom and you live in Oslo."
        for number in range(30):
            await world.say(f"What do you know about my cat Tom in Oslo, for the {number}th time?")
        assert any("Tom" in str(request.messages[-1]) for request in world.model.requests[1:])
        assert await world.system.stores.facts.current(scope) == before
