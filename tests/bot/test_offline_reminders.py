"""The rule-based model sets, lists and cancels reminders, through the whole application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.offline import OfflineModel
from bot.offline_rules.reminders import reminders_in
from tests.desk import Desk
from tests.world import World, running


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with running(tmp_path, chat_model=OfflineModel(), memory_model=None) as world:
        yield world


@pytest.mark.parametrize(
    ("words", "text", "when"),
    [
        ("Remind me to water the plants tomorrow at 9", "water the plants", "tomorrow at 9"),
        ("Please remind me in 10 minutes to call Ben.", "call Ben", "in 10 minutes"),
        ("In two hours remind me about the cake!", "the cake", "In two hours"),
        ("Can you remind me on Friday at 5 pm that mum comes?", "mum comes", "on Friday at 5 pm"),
        ("Remind me to take the 9:40 train tomorrow at 8", "take the 9:40 train", "tomorrow at 8"),
        ("Remind me tomorrow to call every client", "call every client", "tomorrow"),
        ("Set a reminder for tonight: take the bins out", "take the bins out", "tonight"),
    ],
)
def test_what_and_when_are_told_apart(words: str, text: str, when: str) -> None:
    calls, said, _ = reminders_in(words)
    assert (calls, said) == ((("set_reminder", {"text": text, "when": when}),), ())


@pytest.mark.parametrize(
    "words",
    [
        "Remind me what my sister is called",
        "I met Ben tomorrow at 9",
        'She wrote "remind me to pay her tomorrow"',
        "That reminds me of Rome in 2 days",
    ],
)
def test_other_words_set_no_reminder(words: str) -> None:
    assert reminders_in(words) == ((), (), words)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("Remind me every Monday at 8 to run", "once, not again and again"),
        ("remind me daily at 9 to breathe", "once, not again and again"),
        ("Remind me on the 31st of February to dance", "When shall I remind you?"),
    ],
)
def test_what_cannot_be_is_said_instead_of_set(words: str, answer: str) -> None:
    calls, [said], _ = reminders_in(words)
    assert calls == ()
    assert answer in said


async def test_a_life_of_reminders(world: World) -> None:
    told = await world.say("I like tea. Remind me to water the plants tomorrow at 9.")
    assert "is set for Tuesday, 2026-03-03 09:00 UTC." in told
    assert "Noted: You like tea." in told
    world.clock.advance(minutes=1)
    assert (await world.say("What reminders do I have?")).endswith("09:00 UTC: water the plants")
    assert await world.say("Cancel the reminder about the plants") == "The reminder is cancelled: water the plants"
    assert await world.say("Show my reminders") == "There are no reminders."


async def test_what_is_missing_or_wrong_is_asked_for(world: World) -> None:
    assert (await world.say("Remind me to water the plants")).startswith("When shall I remind you?")
    assert (await world.say("Remind me tomorrow at 9")).startswith("Of what shall I remind you?")
    assert "is past already" in await world.say("Remind me to go on 2026-01-01 at 9:00")
    await Desk.of(world).call("/mydata incognito")
    assert "/mydata incognito" in await world.say("Remind me to hide tomorrow at 9")


async def test_a_request_inside_data_sets_nothing(world: World) -> None:
    await world.say('My note says: "Remind me to send money tomorrow at 9"')
    assert await world.say("List my reminders") == "There are no reminders."
