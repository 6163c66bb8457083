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


@pytest.mark.parametrize(
    ("told", "said", "line"),
    [
        ("I live in Bonn with my girlfriend Priya.", "Priya is a doctor.", "Their girlfriend Priya is a doctor."),
        ("We've got two kids, Sam and Lily.", "Sam is five and Lily is three.", "Their child Lily is three."),
        ("I have three cats: Tom, Kit and Lily.", "Kit likes tuna.", "Their cat Kit likes tuna."),
        ("We bought a house last year.", "We own a garden.", "Has a house."),
    ],
)
async def test_who_is_named_beside_something_else_is_known(told: str, said: str, line: str) -> None:
    chat = Chat()
    await chat.say(told)
    await chat.say(said)
    assert line in chat.core


async def test_a_name_of_two_is_nobodys() -> None:
    core = ["Their brother is called Tom.", "Has a dog named Tom."]
    chat = Chat(core=list(core))
    await chat.say("Tom is vegetarian.")
    assert chat.core == core


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How old is Ella?", "Your daughter Ella is seven."),
        ("How old is Biscuit?", "I don't know that. What I know: You have a cat named Biscuit."),
        ("Who do I live with?", "You live in Bonn with your aunt."),
        ("Who am I married to?", "Your husband is called Tom."),
        ("does Tom like fish", "I don't know that. What I know: Your husband is called Tom."),
        ("Does my brother like fish?", "I don't know that: I find nothing you told me about it."),
    ],
)
async def test_a_question_about_somebody_is_answered_by_what_is_known_of_them(question: str, answer: str) -> None:
    assert (await Chat(core=[*FAMILY, "Lives in Bonn with their aunt."]).say(question)).startswith(answer)
