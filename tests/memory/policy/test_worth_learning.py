"""Small talk costs no model call; whatever may teach something gets one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.policy.worth_learning import worth_learning

SMALL_TALK = [
    "",
    "   ",
    "Hi!",
    "hello there",
    "Good morning :)",
    "thanks a lot!!",
    "Thank you so much for your help",
    "ok",
    "Okay, got it.",
    "cool, makes sense",
    "lol",
    "hahahaha",
    "👍",
    "🎉🎉🎉 ❤️",
    ":thumbsup: <:party:123456789012345678>",
    "...",
    "?!",
    "/mydata show",
    "!memory help",
    "Guten Morgen",
    "Vielen Dank!",
    "alles klar, danke dir",
    "merci beaucoup",
    "d'accord, merci",
    "muchas gracias",
    "buenos días",
    "grazie mille!",
    "obrigado",
    "спасибо большое",
    "こんにちは",
    "ありがとうございます！",
    "谢谢你",
    "好的，谢谢",
    "감사합니다",
    "شكرا",
    "What's the capital of Norway?",
    "how does a heat pump work?",
    "Ok, and what is 2+2?",
    "Is it raining in Oslo? Will it stop?",
]

WORTH = [
    "I'm a nurse",
    "I love hiking",
    "my sister is allergic to nuts",
    "yes",
    "no, the other one",
    "42",
    "Rome",
    "Good morning, I slept badly",
    "thanks, my mum will love it",
    "Can I eat fish if I'm allergic to nuts?",
    "What should we cook for our wedding?",
    "Where do vegans eat in Oslo? Asking since meat makes everyone here ill.",
    "What time is it? The train leaves at 5.",
    "remember: the door code changed",
    "call me Max",
    "/ is the root folder here",
    "Ich wohne in Köln",
    "Danke, ich bin jetzt Vegetarier",
    "J'habite à Lyon",
    "¿Puedo comer pescado si tengo alergia?",
    "Me mudé a Madrid",
    "sono di Roma",
    "Я живу в Москве",
    "私は東京に住んでいます",
    "猫が好き",
    "我住在北京",
    "好的，我叫安娜",
    "저는 서울에 살아요",
    "أنا من القاهرة",
    "😀 got a new job",
    "ok 2026-05-03 then",
]


@pytest.mark.parametrize("text", SMALL_TALK)
def test_small_talk_is_passed_over(text: str) -> None:
    assert not worth_learning(text)


@pytest.mark.parametrize("text", WORTH)
def test_what_may_teach_something_is_looked_at(text: str) -> None:
    assert worth_learning(text)


@given(st.sampled_from(SMALL_TALK), st.sampled_from(WORTH[:4]))
def test_small_talk_around_a_statement_never_hides_it(small_talk: str, statement: str) -> None:
    if not small_talk.startswith(("/", "!")):
        assert worth_learning(f"{small_talk} {statement}")
        assert worth_learning(f"{statement}. {small_talk}")
