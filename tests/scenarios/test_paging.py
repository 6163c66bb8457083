"""The window is paged: what no longer fits moves to recall, and a digest of it stays in the prompt."""

from pathlib import Path

from memory.errors import ModelOverloaded
from memory.parameters import MemoryParameters
from memory.records import EvictionReason
from tests.fakes import ScriptedModel, WordTokenCounter
from tests.world import dm, running


class LoudCounter(WordTokenCounter):
    """Counts words, and a message that shouts as very long: the third turn crosses the threshold."""

    def count(self, text: str) -> int:
        return 3_500 if "LOUD" in text else len(text.split())


PARAMETERS = MemoryParameters(context_window_tokens=8_000, max_output_tokens=500)


async def test_the_oldest_messages_move_to_recall_verbatim_when_the_threshold_is_crossed(tmp_path: Path) -> None:
    digest = ScriptedModel(default="Ann spoke of tea and of Rome.", only="summarize_window")
    async with running(tmp_path, memory_model=digest, counter=LoudCounter(), parameters=PARAMETERS) as world:
        for text in ("I drink tea LOUD", "I was in Rome once."):
            await world.say(text)
        assert digest.requests == []

        await world.say("And now something LOUD again")

        assert len(digest.requests) == 1
        log = await world.system.privacy.export("console:ann")
        messages = log["scopes"]["dm"]["recall"]
        evicted = [row for row in messages if row["eviction_reason"] == EvictionReason.THRESHOLD]
        assert "I drink tea LOUD" in str(evicted[0]["parts"])

        await world.say("What did I drink?")
        prompt = world.model.requests[-1]
        window = [message.text for message in prompt.messages[: prompt.cached_messages]]
        assert not any("I drink tea" in text for text in window)
        assert any("Ann spoke of tea and of Rome." in block.text for block in prompt.system)
        hits = await world.memory().paging.recall_search("drink tea", limit=5, evicted_only=True)
        assert hits[0].text == "I drink tea LOUD"


async def test_a_failing_digest_is_made_up_for_later(tmp_path: Path) -> None:
    digest = ScriptedModel(ModelOverloaded("busy"), default="All of it.", only="summarize_window")
    async with running(tmp_path, memory_model=digest, counter=LoudCounter(), parameters=PARAMETERS) as world:
        for text in ("First LOUD", "Second LOUD"):
            await world.say(text)
        world.clock.advance(seconds=5)
        await world.say("Third.")
        session = await world.system.stores.sessions.open(world.memory().place.scope, dm("ann").key)
        assert session is not None
        assert session.window_summary == "All of it."
        assert "First LOUD" in digest.requests[-1].messages[0].text


async def test_more_than_the_history_limit_leaves_only_the_newest_messages(tmp_path: Path) -> None:
    async with running(tmp_path, parameters=MemoryParameters(max_conversation_history=20)) as world:
        for number in range(11):
            await world.say(f"message number {number}")
        window = await world.system.stores.recall.window(world.memory().place.scope, dm("ann").key)
        assert len(window) == 10
        assert window[-2].text == "message number 10"
