"""Whom the rule-based model knows by name, and what becomes of what is said of them."""

from __future__ import annotations

import pytest

from tests.bot.offline_chat import Chat

FAMILY = ["Their husband is called Tom.", "Their daughter Ella is seven.", "Has a cat named Biscuit."]


@pytest.mark.parametrize(
    ("said", "core"),
    [
        ("Tom is vegetarian.", [*FAMILY, "Their husband Tom is vegetarian."]),
        ("Ella is eight now.", [FAMILY[0], "Their daughter Ella is eight.", FAMILY[2]]),
        ("Ella has just turned 8.", [FAMILY[0], "Their daughter Ella is 8.", FAMILY[2]]),
        ("Our daughter Ella is 8 years old", [FAMILY[0], "Their daughter Ella is 8 years old.", FAMILY[2]]),
        (
            "Ella loves drawing and Biscuit likes tuna.",
            [*FAMILY, "Their daughter Ella loves drawing.", "Their cat Biscuit likes tuna."],
        ),
        ("Uwe is vegetarian.", FAMILY),
        ("Is Tom vegetarian?", FAMILY),
        ("I saw that Tom is tired", FAMILY),
    ],
)
async def test_what_is_said_of_somebody_known_by_name_is_kept_as_about_them(said: str, core: list[str]) -> None:
    chat = Chat(core=list(FAMILY))
    await chat.say(said)
    assert chat.core == core


async def test_a_name_of_two_is_nobodys() -> None:
    core = ["Their brother is called Tom.", "Has a dog named Tom."]
    chat = Chat(core=list(core))
    await chat.say("Tom is vegetarian.")
    assert chat.core == core


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How old is Ella?", "Your daughter Ella is seven."),
        ("Who am I married to?", "Your husband is called Tom."),
        ("does Tom like fish", "I don't know that. What I know: Your husband is called Tom."),
        ("Does my brother like fish?", "I don't know that: I find nothing you told me about it."),
    ],
)
async def test_a_question_about_somebody_is_answered_by_what_is_known_of_them(question: str, answer: str) -> None:
    assert (await Chat(core=list(FAMILY)).say(question)).startswith(answer)
