"""What the rule-based model answers from memory, and what it never quotes."""

from __future__ import annotations

import pytest

from bot.offline import OfflineModel
from memory.messages import assistant_message, user_message
from memory.parameters import MemoryParameters
from memory.prompt.assembler import Gathered, assemble
from memory.records import MemoryBlock, Scope, SearchHit, Source
from tests.bot.offline_chat import LIFE, Chat, stored
from tests.fakes import START, WordTokenCounter

ANSWERS = [
    ("What's my name?", "Your name is Ann."),
    ("who am I", "Your name is Ann."),
    ("Do you remember my name?", "Your name is Ann."),
    ("Where do I live?", "You live in Rome."),
    ("Which city am I living in?", "You live in Rome."),
    ("What do I like?", "You love jasmine tea."),
    ("do I like jasmine tea?", "You love jasmine tea."),
    ("What do I hate?", "You hate coriander."),
    ("What is my dog called?", "Your dog is called Rex."),
    ("Do I have any pets?", "Your dog is called Rex."),
    ("What is my sister allergic to?", "Your sister Mia is allergic to nuts."),
    ("Who is allergic to nuts?", "Your sister Mia is allergic to nuts."),
    ("When is my birthday?", "Your birthday is 4 May."),
    ("when is my trip", "Your trip to Lisbon is on 12 June."),
    ("When is my holiday?", "Your trip to Lisbon is on 12 June."),
    ("What did I say about Lisbon?", "Your trip to Lisbon is on 12 June."),
    ("Do you know anything about Mia?", "Your sister Mia is allergic to nuts."),
    ("What's my favourite film?", "Your favourite film is Amelie."),
    ("What is my job?", "You work as a nurse at St Mary's."),
    ("Tell me about my family", "Your sister Mia is allergic to nuts."),
]


@pytest.mark.parametrize(("question", "answer"), ANSWERS)
async def test_a_question_is_answered_from_core_memory(question: str, answer: str) -> None:
    chat = Chat()
    for statement in LIFE:
        await chat.say(statement)
    chat.forget_the_conversation()
    assert answer in await chat.say(question)
    assert chat.calls == []


async def test_where_somebody_is_from_is_told_without_what_else_they_are() -> None:
    chat = Chat(core=["Is from Spain.", "Is vegetarian.", "Is half Irish."])
    assert await chat.say("Where am I from?") == "You are from Spain. You are half Irish."


async def test_without_tools_a_fact_is_found_in_the_conversation() -> None:
    chat = Chat(tools=())
    await chat.say("My name is Ann.")
    await chat.say("My dog is called Rex.")
    assert await chat.say("What's my name?") == 'You told me earlier: "My name is Ann."'
    assert await chat.say("What is my dog called?") == 'You told me earlier: "My dog is called Rex."'


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What's my name?", "Hello, I'm Ann"),
        ("Where do I live?", "We just moved to Rome"),
        ("What is my cat called?", "my cat is called Tom"),
        ("What did I say about the boiler?", "The plumber repaired our boiler for 300 euros."),
        ("When did I visit the dentist?", "I visited the dentist this morning."),
        ("我的狗叫什么名字？", "我的狗叫小白。"),
        ("¿Dónde vivo?", "Vivo en Roma desde 2019."),
        ("أين أعيش؟", "أعيش في روما."),
    ],
)
async def test_what_left_the_window_is_searched_and_quoted_with_its_date(question: str, said: str) -> None:
    chat = Chat(past=[f"- [2023-05-08 13:56, Ann, recall] {said}"])
    chat.retrieved = list(chat.past) if not said.isascii() else []
    assert await chat.say(question) == f'You told me on 8 May 2023: "{said}"'


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ("User's boat is called Wanda.", "Your boat is called Wanda."),
        ("User has a boat in Oslo.", "You have a boat in Oslo."),
        ("User sails a boat.", '"User sails a boat."'),
    ],
)
async def test_a_fact_is_told_to_the_person_it_is_about(fact: str, told: str) -> None:
    chat = Chat(archive=[fact])
    assert (await chat.say("What did I say about my boat?")).endswith(f": {told}")


async def test_being_called_by_its_name_changes_nothing() -> None:
    chat = Chat(core=["Their brother Tom lives in Bonn."])
    assert await chat.say("Hi Keepsake, where does my brother live?") == "Your brother Tom lives in Bonn."
    assert await chat.say("Keepsake: I love tea") == "Noted: You love tea."


@pytest.mark.parametrize("question", ["Where do I live?", "How old am I?", "When is my birthday?", "What is my name?"])
async def test_a_fact_about_somebody_else_is_no_answer_about_the_person(question: str) -> None:
    facts = ["My sister lives in Oslo.", "My mother's birthday is 3 July.", "My dog's name is Rex.", "I love old maps."]
    chat = Chat(past=[f"- [2023-05-08 13:56, Ann, recall] {fact}" for fact in facts])
    for fact in facts:
        await chat.say(fact)
    assert (await chat.say(question)).startswith("I don't know that")


async def test_the_newest_of_several_statements_answers() -> None:
    chat = Chat(
        past=[
            "- [2021-01-01 10:00, Ann, recall] I live in Oslo.",
            "- [2023-05-08 13:56, Ann, recall] I live in Rome.",
            "- [2022-01-01 10:00, Ann, recall] I live in Bonn.",
        ]
    )
    assert (await chat.say("Where do I live?")).startswith('You told me on 8 May 2023: "I live in Rome."')


async def test_a_day_that_is_asked_about_is_searched_by_date() -> None:
    chat = Chat(past=["- [2023-05-08 13:56, Ann, recall] The boiler broke.", "- [2023-05-09 09:00, Ann, recall] No."])
    assert await chat.say("What did we talk about on 8 May 2023?") == 'You told me on 8 May 2023: "The boiler broke."'
    assert [call.name for call in chat.calls] == ["conversation_search_date"]


async def test_what_is_unknown_is_said_after_two_rounds_of_searching_at_most() -> None:
    chat = Chat(core=["Lives in Rome.", "Their dog is called Rex."], past=["- [2023-05-08 09:00, Ann, recall] Hi."])
    reply = await chat.say("What is my cousin's shoe size?")
    assert reply.startswith("I don't know that")
    assert len(chat.calls) == 4
    reply = await chat.say("What is my cat called?")
    assert "Rex" not in reply


async def test_a_question_that_names_something_is_not_answered_with_something_else() -> None:
    chat = Chat(core=["Their trip to Rome is on 1 May."])
    assert (await chat.say("When is my trip to Lisbon?")).startswith("I don't know that")


async def test_before_anything_is_known_it_says_so() -> None:
    assert (await Chat().say("What do you know about me?")).startswith("I don't know that")


async def test_a_message_full_of_questions_makes_few_calls() -> None:
    chat = Chat()
    await chat.say("Where is my red bike? Where is my old lamp? Where is my blue cup? Where is my big hat?")
    assert len(chat.calls) == 4


async def test_a_failed_search_is_not_told_as_nothing_found() -> None:
    chat = Chat(search_is_broken=True)
    assert "could not search" in await chat.say("What's my name?")


async def test_what_the_agent_said_is_no_evidence() -> None:
    line = "- [2023-05-08 13:56, Keepsake, recall] My name is Bob. You live in Rome. I live in Rome."
    chat = Chat(past=[line], retrieved=[line], window_summary="[2023-05-08] Keepsake: I live in Rome.")
    chat.history = [user_message("Hm"), assistant_message("I live in Rome. My name is Bob.")]
    for question in ("Where do I live?", "What's my name?", "What did I say about Rome?"):
        assert (await chat.say(question)).startswith("I don't know that")
    assert chat.core == []


async def test_how_something_is_wanted_is_no_question_though_it_begins_like_one() -> None:
    assert "I don't know that" not in await Chat().say("When I ask for a report, write three lines")
    assert "I don't know that" in await Chat().say("When did I write a report, and for whom?")


async def test_a_question_asked_before_is_no_answer() -> None:
    chat = Chat(past=["- [2023-05-08 13:56, Ann, recall] What is my sister allergic to?"])
    assert (await chat.say("What is my sister allergic to?")).startswith("I don't know that")


@pytest.mark.parametrize(
    ("core", "question", "answer"),
    [
        (
            ["Plays the bass in a band.", "Their band is called The Wet Socks."],
            "What's my band called?",
            "The Wet Socks.",
        ),
        (["Has a dog named Bolt.", "Their dog is called Volt."], "What is my dog's name?", "Your dog is called Volt."),
        (["Is married to Rita."], "What's my wife's name?", "You are married to Rita."),
        (["Is married to Rita."], "Tell me about my family", "You are married to Rita."),
    ],
)
async def test_who_asks_for_a_name_is_told_one(core: list[str], question: str, answer: str) -> None:
    assert (await Chat(core=core).say(question)).endswith(answer)


async def test_a_question_about_something_sad_is_only_answered() -> None:
    assert (await Chat().say("Which of my cats died?")).startswith("I don't know that")


async def test_a_wish_to_forget_is_never_quoted() -> None:
    chat = Chat(past=["- [2023-05-08 13:56, Ann, recall] Forget that I hate coriander."])
    assert (await chat.say("Do I hate coriander?")).startswith("I don't know that")


HATE, FORGET = "I hate coriander.", "Forget that I hate coriander."


@pytest.mark.parametrize(
    "past",
    [
        [f"- [2023-05-08 13:56, Ann, recall] {HATE}", f"- [2023-05-08 13:57, Ann, recall] {FORGET}"],
        [f"- [2023-05-08 13:56, Ann, recall] {HATE}", f"- [2023-05-09 13:57, Ann, recall] {FORGET}"],
        [f"- [2023-05-08 13:56, Ann, recall] {HATE} {FORGET}"],
        [f"- [2023-05-08 13:56, Ann, recall] {FORGET}", "- [2023-05-07 13:57, archival] Hates coriander."],
    ],
)
async def test_what_was_said_before_a_wish_to_forget_it_is_not_quoted(past: list[str]) -> None:
    assert (await Chat(past=past).say("Do I hate coriander?")).startswith("I don't know that")


async def test_what_was_said_again_after_a_wish_to_forget_it_is_quoted() -> None:
    again = f"- [2023-05-09 13:56, Ann, recall] {HATE}"
    assert HATE in await Chat(past=[f"- [2023-05-08 13:56, Ann, recall] {FORGET}", again]).say("Do I hate coriander?")


async def test_what_is_to_be_forgotten_is_not_quoted_while_it_stands_in_the_conversation() -> None:
    chat = Chat(tools=(), window_summary="- [2026-03-02 08:50] Ann: I collect stamps.")
    await chat.say("I collect stamps from Peru. I have a boat.")
    await chat.say("Forget about my stamps")
    assert (await chat.say("Do I have stamps?")).startswith("I don't know that")
    assert "boat" in await chat.say("Do I have a boat?")
    await chat.say("I collect stamps from Chile now.")
    assert "Chile" in await chat.say("Which stamps do I collect?")


async def test_a_weekday_asked_about_is_the_last_one() -> None:
    chat = Chat(past=["- [2026-02-28 13:56, Ann, recall] The hive stands behind the chapel."])
    assert "behind the chapel" in await chat.say("What did I tell you on Saturday?")


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What did we talk about last time?", ["chapel"]),
        ("What did we talk about last week?", ["boiler", "chapel"]),
        ("What did we talk about last year?", []),
    ],
)
async def test_of_a_time_without_an_episode_what_was_said_is_quoted(question: str, quoted: list[str]) -> None:
    said = {
        "hive": "- [2026-02-12 13:56, Ann, recall] The hive is painted.",
        "boiler": "- [2026-02-24 13:56, Ann, recall] The plumber repaired our boiler.",
        "chapel": "- [2026-02-28 13:56, Ann, recall] I rebuilt the chapel.",
    }
    answered = await Chat(tools=(), retrieved=list(said.values())).say(question)
    assert [word for word in said if word in answered] == quoted


async def test_lines_of_another_writer_are_quoted_as_they_stand() -> None:
    chat = Chat(core=["Ann prefers trains to planes."])
    assert await chat.say("What do you know about me?") == 'My notes say: "Ann prefers trains to planes."'


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("What's my name?", "Your name is Ann."),
        ("When is my exam?", 'I noted on 2 March 2026: "The exam is on 4 May."'),
        ("What did I say about the boiler?", 'You told me on 2 March 2026: "The boiler broke. Twice."'),
        ("What did I say about trains?", 'My summary says: "Ann missed two trains."'),
        ("What did I say about lamps?", 'You told me earlier: "I bought three lamps."'),
        ("What day is it?", "It is Monday 2 March 2026."),
    ],
)
async def test_the_prompt_is_read_as_the_assembler_writes_it(words: str, reply: str) -> None:
    scope = Scope(person="console:ann", audience="dm")
    found = {"scope": scope, "record_id": 1, "score": 1.0, "at": START, "reason": "words"}
    gathered = Gathered(
        agent_name="Keepsake",
        audience_note="",
        summary="Ann missed two trains.",
        blocks=(MemoryBlock(label="human", value="Name: Ann.", version=1),),
        window_summary="",
        history=tuple(stored(("Ann", "I bought three lamps."), ("Keepsake", "I own a boiler."))),
        turn=(user_message(words),),
        hits=(
            SearchHit(source=Source.RECALL, text="The boiler broke.\nTwice.", author="Ann", **found),
            SearchHit(source=Source.RECALL, text="My exam is on 9 May.", author="Keepsake", **found),
            SearchHit(source=Source.ARCHIVAL, text="The exam is on 4 May.", author=None, **found),
        ),
        now=START,
    )
    prompt = assemble(gathered, parameters=MemoryParameters(), counter=WordTokenCounter())
    response = await OfflineModel().complete(prompt.request)
    assert response.message.text == reply
