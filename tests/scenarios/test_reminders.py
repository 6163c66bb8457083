"""Reminders: set in words, said once at their time, whatever happens between."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.chat import DeliveryFailed, DeliveryRefused
from memory.messages import ToolCall
from memory.records import ReminderState
from tests.desk import Desk, admin, channel
from tests.fakes import FakeClock, RecordingChannel, ScriptedModel
from tests.world import World, running


def setting(text: str = "water the plants", when: str = "in 10 minutes") -> ScriptedModel:
    return ScriptedModel(ToolCall(id="r1", name="set_reminder", arguments={"text": text, "when": when}), default="ok")


def result(world: World) -> str:
    """What the tool said to the model."""
    return world.model.requests[-1].messages[-1].tool_results[0].content


async def call(world: World, name: str, **arguments: Any) -> str:
    """Let the model call a tool; what the tool says."""
    world.clock.advance(seconds=1)
    world.model.answers = [ToolCall(id=f"c{world.said}", name=name, arguments=arguments)]
    await world.say("Do it.")
    return result(world)


async def said_later(world: World, **span: float) -> list[str]:
    """What is said when some time has passed."""
    before = len(world.channel.sent)
    world.clock.advance(**span)
    await world.reminders.deliver_due()
    return world.channel.texts[before:]


async def test_a_reminder_is_said_once_at_its_time_where_it_was_set(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting()) as world:
        await world.say("Remind me to water the plants in 10 minutes", where=channel(1))
        assert "Monday, 2026-03-02 09:10 UTC" in result(world)
        asked = world.channel.sent[-1]
        assert await said_later(world, minutes=9) == []
        assert await said_later(world, minutes=1) == ["Reminder: water the plants"]
        reminder = world.channel.sent[-1]
        assert (reminder.conversation, reminder.in_reply_to) == (asked.conversation, asked.in_reply_to)
        assert await said_later(world, days=1) == []


async def test_after_a_stop_it_is_said_late_and_says_so(tmp_path: Path) -> None:
    clock = FakeClock()
    async with running(tmp_path, model=setting(when="tomorrow at 9"), clock=clock) as world:
        await world.say("Remind me tomorrow")
    clock.advance(days=3)
    async with running(tmp_path, clock=clock) as world:
        assert await said_later(world) == [
            "Reminder: water the plants\n\n(This is late: it was for 2026-03-03 09:00 UTC.)"
        ]


async def test_one_that_was_being_said_when_the_process_died_is_looked_for_before_it_is_said_again(
    tmp_path: Path,
) -> None:
    clock, platform = FakeClock(), RecordingChannel()
    for arrived in (True, False):
        folder = tmp_path / str(arrived)
        async with running(folder, model=setting(), clock=clock, channel=platform) as world:
            await world.say("Remind me")
            clock.advance(minutes=10)
            [due] = await world.system.stores.reminders.due(clock.now(), limit=9)
            async with world.system.transaction() as tx:
                lease = timedelta(minutes=1)
                await world.system.stores.reminders.claim(
                    due.scope, tx, reminder_id=due.id, now=clock.now(), lease=lease
                )
            platform.there = {f"reminder-{due.id:x}"} if arrived else set()
        async with running(folder, clock=clock, channel=platform) as world:
            assert await said_later(world, seconds=59) == []  # the claim of the dead process still holds
            assert len(await said_later(world, seconds=1)) == (0 if arrived else 1)
            assert await said_later(world, hours=1) == []


async def test_of_two_processes_one_says_it(tmp_path: Path) -> None:
    clock, platform = FakeClock(), RecordingChannel()
    async with running(tmp_path, model=setting(), clock=clock, channel=platform) as one:
        await one.say("Remind me")
        async with running(tmp_path, clock=clock, channel=platform) as other:
            clock.advance(minutes=11)
            assert await one.reminders.deliver_due() + await other.reminders.deliver_due() == 1
    assert platform.texts.count("Reminder: water the plants") == 1


async def test_a_platform_that_fails_is_tried_again_and_one_that_refuses_is_not(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting()) as world:
        await world.say("Remind me")
        world.channel.failures = [DeliveryFailed("down")]
        assert await said_later(world, minutes=10) == []
        assert await said_later(world, minutes=1) == ["Reminder: water the plants"]
        await call(world, "set_reminder", text="again", when="in 1 hour")
        world.channel.failures = [DeliveryRefused("gone")]
        assert await said_later(world, hours=1) == []
        assert await said_later(world, hours=9) == []
        states = [row["state"] for row in await world.system.stores.reminders.export(world.memory().place.scope)]
        assert states == [ReminderState.DELIVERED, ReminderState.DROPPED]


async def test_reminders_are_listed_and_cancelled_by_their_words(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting()) as world:
        assert await call(world, "list_reminders") == "There are no reminders."
        assert await call(world, "cancel_reminder", reminder="the cat") == "Error: There are no reminders."
        await call(world, "set_reminder", text="call Ben", when="tomorrow at 9")
        await call(world, "set_reminder", text="water\nthe plants", when="in 2 hours")
        listed = (await call(world, "list_reminders")).splitlines()
        assert [line.partition(", ")[2] for line in listed] == [
            "Monday, 2026-03-02 11:00 UTC: water the plants",
            "Tuesday, 2026-03-03 09:00 UTC: call Ben",
        ]
        assert "Name one of: " in await call(world, "cancel_reminder", reminder="the cat")
        assert await call(world, "cancel_reminder", reminder="ben") == "The reminder is cancelled: call Ben"
        handle = listed[0][2:8]
        assert "water the plants" in await call(world, "cancel_reminder", reminder=handle)
        assert await said_later(world, days=2) == []


@pytest.mark.parametrize(
    ("when", "sentence"),
    [
        ("yesterday", "is not understood. Say it as"),
        ("2026-03-01T09:00", "2026-03-01 09:00 is past already"),
        ("in 9 years", "more than five years away"),
        ("every day at 9", "one that comes back cannot be set"),
    ],
)
async def test_a_time_that_cannot_be_is_refused_with_a_sentence(tmp_path: Path, when: str, sentence: str) -> None:
    async with running(tmp_path, model=setting(when=when)) as world:
        await world.say("Remind me")
        assert sentence in result(world)
        assert await world.system.stores.reminders.export(world.memory().place.scope) == []


async def test_the_same_reminder_asked_for_twice_is_one_and_there_are_at_most_fifty(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting()) as world:
        for _ in range(2):
            await call(world, "set_reminder", text="once", when="tomorrow at 9")
        for number in range(49):
            await call(world, "set_reminder", text=f"number {number}", when="tomorrow at 9")
        assert "There are 50 reminders already" in await call(world, "set_reminder", text="more", when="in 1 hour")


async def test_times_are_meant_and_told_in_the_persons_own_zone(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting(when="tomorrow at 9")) as world:
        desk = Desk.of(world)
        refused = await desk.call("/mydata timezone Mars")
        assert not refused.succeeded
        assert "it is 2026-03-02 10:00 now" in (await desk.call("/mydata timezone europe/oslo")).text
        await world.say("Remind me tomorrow at 9", where=channel(1))
        assert "2026-03-03 09:00 CET" in result(world)
        assert "<now>2026-03-02 10:00 CET (Monday)</now>" in world.model.requests[0].messages[-1].text
        assert await said_later(world, hours=23) == ["Reminder: water the plants"]
        assert "UTC" in (await desk.call("/mydata timezone default")).text


async def test_a_conversation_lists_only_what_it_may_know_of(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting(text="a secret")) as world:
        await world.say("Remind me")
        world.model.answers = [ToolCall(id="x", name="list_reminders", arguments={})]
        await world.say("What is set?", where=channel(1))
        assert result(world) == "There are no reminders."
        world.model.answers = [ToolCall(id="y", name="list_reminders", arguments={})]
        await world.say("What is set?", who="bob")
        assert result(world) == "There are no reminders."


async def test_off_the_record_none_can_be_set(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting()) as world:
        await Desk.of(world).call("/mydata incognito")
        await world.say("Remind me")
        assert result(world).startswith("Error: ")
        assert await said_later(world, days=1) == []


async def test_a_silenced_channel_gets_it_when_that_ends(tmp_path: Path) -> None:
    boss = admin("boss", "guild:1")
    async with running(tmp_path, model=setting()) as world:
        await world.say("Remind me", where=channel(1))
        await Desk.of(world).call("/memory silence", by=boss, where=channel(1))
        assert await said_later(world, minutes=10) == []
        await Desk.of(world).call("/memory unsilence", by=boss, where=channel(1))
        assert len(await said_later(world, hours=1)) == 1


async def test_reminders_go_with_an_erasure_and_come_along_with_an_export(tmp_path: Path) -> None:
    async with running(tmp_path / "old", model=setting(when="tomorrow at 9")) as old:
        await Desk.of(old).call("/mydata timezone Europe/Oslo")
        await old.say("Remind me")
        data = json.dumps(await old.system.privacy.export("console:ann")).encode()
        receipt = await old.system.privacy.erase("console:ann")
        assert (receipt.rows["reminders"], receipt.rows["preferences"], receipt.residue) == (1, 1, 0)
        assert await said_later(old, days=2) == []
    async with running(tmp_path / "new") as new:
        await new.system.importer.run(data, actor="operator")
        assert await said_later(new, hours=23) == ["Reminder: water the plants"]


async def test_what_was_said_long_ago_is_let_go_of(tmp_path: Path) -> None:
    async with running(tmp_path, model=setting()) as world:
        await world.say("Remind me")
        await said_later(world, minutes=10)
        world.clock.advance(days=31)
        await world.system.tidy()
        assert await world.system.stores.reminders.export(world.memory().place.scope) == []
