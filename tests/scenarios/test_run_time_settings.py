"""Owners change the numbers that govern memory while the bot runs, and admins see how much there is."""

from __future__ import annotations

from pathlib import Path

from bot.config import load_settings
from bot.run_time_settings import CHANGEABLE, take_up
from memory.parameters import MemoryParameters
from tests.desk import OPERATOR, Desk, admin, channel
from tests.world import World, running

SETTINGS = load_settings(env_file=None)


async def window_size(world: World) -> int:
    place = world.memory().place
    return len(await world.system.stores.recall.window(place.scope, place.conversation))


async def test_a_change_acts_on_the_next_turn_is_read_back_and_survives_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        for number in range(8):
            await world.say(f"message {number}")
        assert await window_size(world) == 16
        reply = await desk.call("memory settings max_conversation_history 10", by=OPERATOR)
        assert reply.text.startswith("max_conversation_history is 10 from the next message on.")
        await world.say("one more")
        assert await window_size(world) == 4  # history_target follows: half of it, less than a whole exchange
        shown = (await desk.call("memory settings", by=OPERATOR)).text
        assert "- max_conversation_history: 10 (changed)" in shown.splitlines()
        assert "- history_target: 5" in shown.splitlines()
        one = (await desk.call("memory settings max_conversation_history", by=OPERATOR)).text
        assert one.startswith("**max_conversation_history**: 10 (configured: 20)\nMessages kept in the window.\n")
        assert one.endswith("- 2026-03-02 09:00 UTC operator: 10")
    async with running(tmp_path) as world:
        assert world.system.parameters.max_conversation_history == 20
        await take_up(SETTINGS, world.system)
        assert world.system.parameters.max_conversation_history == 10
        await Desk.of(world).call("memory settings max_conversation_history default", by=OPERATOR)
        assert world.system.parameters == MemoryParameters()


async def test_a_value_that_cannot_be_is_refused_with_a_sentence_and_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        for typed, told in (
            ("max_conversation_history many", "MAX_CONVERSATION_HISTORY: "),
            ("max_conversation_history 1", "MAX_CONVERSATION_HISTORY: "),
            ("history_target 21", "HISTORY_TARGET: 21 is above MAX_CONVERSATION_HISTORY (20)"),
            ("eviction_target 0.9", "EVICTION_TARGET: 0.9 is not below EVICTION_THRESHOLD"),
            ("anthropic_api_key sk-1", "'anthropic_api_key' cannot be changed at run time. You can change: max_"),
        ):
            reply = await desk.call(f"memory settings {typed}", by=OPERATOR)
            assert not reply.succeeded
            assert told in reply.text, reply.text
        assert not (await desk.call("memory settings chat_model", by=OPERATOR)).succeeded
        assert world.system.parameters == MemoryParameters()


async def test_admins_see_the_numbers_and_owners_change_them(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        ada = admin("ada", "guild:1")
        desk = Desk.of(world)
        assert "- tool_call_cap: 6" in (await desk.call("memory settings", by=ada, where=channel(1))).text
        refused = await desk.call("memory settings tool_call_cap 3", by=ada, where=channel(1))
        assert "BOT_OWNERS" in refused.text
        assert not (await desk.call("memory settings tool_call_cap 3", by="ann")).succeeded
        owned = Desk.of(world, owners=frozenset({"console:ada"}))
        assert (await owned.call("memory settings tool_call_cap 3", by=ada, where=channel(1))).succeeded
        [change] = await world.system.stores.parameter_changes.history("tool_call_cap", 5)
        assert (change.actor, change.value) == ("console:ada", "3")


async def test_a_change_that_fits_no_longer_is_left_out_at_the_start(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        desk = Desk.of(world)
        await desk.call("memory settings history_target 15", by=OPERATOR)
        await desk.call("memory settings tool_call_cap 3", by=OPERATOR)
        await desk.call("memory settings journal_expiry_days 90", by=OPERATOR)
        shown = (await desk.call("memory settings", by=OPERATOR)).text
        assert "- session_idle_minutes: 30" in shown.splitlines()
        assert "- retrieved_share: 0.333" in shown.splitlines()
        assert "- journal_expiry_days: 90 (changed)" in shown.splitlines()
        await take_up(load_settings({"max_conversation_history": 12}, env_file=None), world.system)
        assert world.system.parameters.history_target == 6
        assert world.system.parameters.tool_call_cap == 3


async def test_every_number_can_be_set_to_what_it_is(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        for name in CHANGEABLE:
            reply = await Desk.of(world).call(f"memory settings {name} {getattr(SETTINGS, name) or 10}", by=OPERATOR)
            assert reply.succeeded, reply.text
        assert world.system.parameters == MemoryParameters()


async def test_statistics_count_what_there_is_and_what_the_prompt_is_made_of(tmp_path: Path) -> None:
    async with running(tmp_path, parameters=MemoryParameters(max_conversation_history=4, history_target=2)) as world:
        for number in range(3):
            await world.say(f"message {number}")
        desk = Desk.of(world)
        text = (await desk.call("memory stats console:ann", by=OPERATOR)).text
        assert "**Heard by dm**, kept in keepsake.db" in text
        assert "- journal entries: 1 (1 conversation), of which 0 are out of sight" in text
        assert "- 6 messages, 0 facts, 0 documents" in text
        assert "- messages in conversation: 2 in console:ann:dm (at most 4)" in text
        assert "of 32,000 tokens, estimated by section: instructions " in text
        last = world.system.prompt_sizes.last(world.memory().place.scope)
        assert last is not None
        assert last.tokens == sum(last.sections.values())
        assert "memory stats" in (await desk.call("mydata audit")).text
