"""What the rule-based model keeps of a conversation in a digest."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.offline import OfflineModel
from memory.prompt.memory_work import window_summary_request
from memory.records import StoredMessage
from tests.bot.offline_chat import Chat, stored


async def summarized(previous: str, said: list[StoredMessage], max_words: int) -> str:
    response = await OfflineModel().complete(window_summary_request(previous, said, max_words))
    return response.message.text


async def test_a_digest_keeps_facts_and_constraints_and_drops_pleasantries() -> None:
    said = stored(
        ("Ann", "Hello! Thanks!"),
        ("Ann", "My sister Mia lives in Oslo. Nice."),
        ("Ann", "We decided to paint room 12 on 4 May."),
        ("Ann", "Never call me before ten."),
        ("Keepsake", "Thanks!"),
    )
    digest = await summarized("[2026-03-01] Ann: I moved to Rome.", said, 200)
    assert digest.splitlines() == [
        "[2026-03-02] Ann: Never call me before ten.",
        "[2026-03-01] Ann: I moved to Rome.",
        "[2026-03-02] Ann: My sister Mia lives in Oslo.",
        "[2026-03-02] Ann: We decided to paint room 12 on 4 May.",
    ]


async def test_a_constraint_outlives_many_digests_and_new_facts_find_room() -> None:
    digest = ""
    for day in range(60):
        said = stored(
            ("Ann", f"I paid bill {day} to Mr Miller{day}."), *([("Ann", "Never phone me.")] if day == 0 else [])
        )
        digest = await summarized(digest, said, 40)
        assert f"Miller{day}" in digest
    assert "Never phone me." in digest


async def test_a_digest_of_pleasantries_says_so_until_something_is_said() -> None:
    nothing = await summarized("", stored(("Ann", "Hello!")), 50)
    assert nothing == "Nothing worth keeping was said."
    digest = await summarized(nothing, stored(("Ann", "I live in Rome.")), 50)
    assert digest == "[2026-03-02] Ann: I live in Rome."


async def test_a_digest_leaves_out_what_was_only_asked() -> None:
    said = stored(("Ann", "What is on my shopping list? We painted room 12 on 4 May."), ("Ann", "Who is my boss?"))
    assert await summarized("", said, 80) == "[2026-03-02] Ann: We painted room 12 on 4 May."


async def test_a_digest_leaves_out_what_the_agent_itself_said() -> None:
    said = stored(("Ann", "We painted room 12 on 4 May."), ("Keepsake", "You decided to paint room 14 on 6 May."))
    assert await summarized("", said, 80) == "[2026-03-02] Ann: We painted room 12 on 4 May."


async def test_a_digest_keeps_room_for_what_it_held_before() -> None:
    said = stored(*(("Ann", f"We decided on room {number} for 4 May.") for number in range(20)))
    digest = await summarized("[2026-03-01] Ann: My sister Mia was born on 3 July 1990.", said, 60)
    assert "3 July 1990" in digest


async def test_a_digest_can_be_asked_afterwards() -> None:
    summary = await summarized("", stored(("Ann", "My sister Mia lives in Oslo."), ("Keepsake", "I live in Rome.")), 50)
    chat = Chat(window_summary=summary)
    assert await chat.say("Where does my sister live?") == 'You told me on 2 March 2026: "My sister Mia lives in Oslo."'
    assert (await chat.say("Where do I live?")).startswith("I don't know that")


@given(
    texts=st.lists(st.text(min_size=1, max_size=60), max_size=6),
    previous=st.text(max_size=80),
    max_words=st.integers(min_value=6, max_value=30),
)
@settings(max_examples=60)
async def test_a_digest_never_has_more_words_than_allowed(texts: list[str], previous: str, max_words: int) -> None:
    digest = await summarized(previous, stored(*(("Ann", text) for text in texts)), max_words)
    assert 0 < len(digest.split()) <= max_words
