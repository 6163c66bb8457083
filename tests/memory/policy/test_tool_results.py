"""How long a tool's result is seen whole, and the lines of the journal that stand for what happened."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memory.messages import Message, Role, ToolCall, ToolResult, assistant_message, user_message
from memory.policy.journal import conversation_line, description, printed, tool_line
from memory.policy.tool_results import aged
from memory.records import JournalCategory, JournalEntry, Scope, StoredMessage
from tests.memory.prompt.gathered import stored

CALL = ToolCall(id="c1", name="read_file", arguments={"operation": "read", "file_name": "notes.txt"})
LONG = "line of the file\n" * 50
LINE = "TOOL_RESULT: read_file - SUCCESS - operation: read, file_name: notes.txt"
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def asks(call: ToolCall = CALL) -> Message:
    return Message(role=Role.ASSISTANT, parts=(call,))


def answers(content: str = LONG, *, call_id: str = "c1", is_memory: bool = False, is_error: bool = False) -> Message:
    result = ToolResult(call_id=call_id, name="read_file", content=content, is_memory=is_memory, is_error=is_error)
    return Message(role=Role.USER, parts=(result,))


def contents(messages: tuple[Message, ...]) -> list[str]:
    return [result.content for message in messages for result in message.tool_results]


def test_a_result_is_whole_in_the_next_call_and_a_line_from_then_on() -> None:
    question = user_message("What does the file say?")
    first = ToolCall(id="c2", name="read_file", arguments={"file_name": "b.txt"})
    turn = (question, asks(), answers())
    assert aged((), turn, 1) == ((), turn)
    _, later = aged((), (*turn, asks(first), answers(call_id="c2")), 1)
    assert contents(later) == [LINE, LONG]
    assert [message.role for message in later] == [Role.USER, Role.ASSISTANT] * 2 + [Role.USER]


def test_in_the_next_turn_a_line_stands_in_the_history_and_its_size_is_to_be_counted() -> None:
    history = stored([user_message("Read it"), asks(), answers(), assistant_message("Done")])
    shown, turn = aged(history, (user_message("Thanks"),), 1)
    assert contents(tuple(one.message for one in shown)) == [LINE]
    assert [one.tokens == 0 for one in shown] == [False, False, True, False]
    assert turn == (user_message("Thanks"),)
    again, _ = aged((*shown, *stored([user_message("Thanks"), assistant_message("Welcome")])), (), 1)
    assert again[: len(shown)] == shown


@pytest.mark.parametrize(("age", "whole"), [(1, False), (2, True), (3, True)])
def test_the_age_is_a_number_of_calls(age: int, whole: bool) -> None:
    turn = (user_message("?"), asks(), answers(), asks(replace(CALL, id="c2")), answers("short", call_id="c2"))
    _, shown = aged((), turn, age)
    assert contents(shown) == [LONG if whole else LINE, "short"]


def test_what_comes_from_memory_is_whole_until_its_turn_is_over() -> None:
    turn = (user_message("?"), asks(), answers(is_memory=True), asks(), answers(is_memory=True))
    assert aged((), turn, 1) == ((), turn)
    shown, _ = aged(stored(turn), (user_message("And?"),), 1)
    assert contents(tuple(one.message for one in shown)) == [LINE, LINE]


def test_what_is_shorter_than_its_line_stays() -> None:
    for result in (answers("17"), answers("17", is_memory=True)):
        history = stored([user_message("?"), asks(), result, assistant_message("ok")])
        assert aged(history, (), 1) == (history, ())


def test_a_line_says_the_tool_its_success_and_the_telling_arguments() -> None:
    [result] = answers(is_error=True).tool_results
    assert tool_line(CALL, result) == LINE.replace("SUCCESS", "FAILURE")
    assert tool_line(None, result) == "TOOL_RESULT: read_file - FAILURE - no arguments"
    assert description({"q": "two\nlines", "empty": "", "none": None, "n": 0}) == "q: two lines, n: 0"
    assert len(description({f"argument{number}": "x" * 500 for number in range(9)})) == 160
    assert "hunter2" not in description({"login": "password: hunter2hunter2"})


def test_an_entry_is_printed_behind_its_time_in_the_zone() -> None:
    entry = JournalEntry(
        id=1,
        scope=Scope(person="console:ann", audience="dm"),
        at=NOON,
        text="Ask about the ferry",
        importance=0.5,
        noted_at=NOON,
        category=JournalCategory.NOTE,
    )
    assert printed(entry, UTC) == "[2026-03-02 12:00:00] Ask about the ferry"
    assert printed(entry, ZoneInfo("Asia/Tokyo")) == "[2026-03-02 21:00:00] Ask about the ferry"


def talk(*, minutes: float) -> tuple[StoredMessage, ...]:
    said = stored(
        [
            user_message("When does the ferry leave? I like the ferry."),
            asks(),
            answers(),
            assistant_message("At seven. The harbour is open."),
            user_message("And the tickets for the ferry?"),
            assistant_message("Online."),
        ]
    )
    return tuple(replace(one, sent_at=NOON + number * timedelta(minutes=minutes)) for number, one in enumerate(said))


def test_messages_that_leave_are_a_line_with_times_topics_actions_and_their_number() -> None:
    assert conversation_line(talk(minutes=2), UTC) == (
        "CONVERSATION_SUMMARY: Conversation (12:00:00 to 12:10:00): Topics: ferry, leave, like, tickets. "
        "Actions: read_file. (6 messages)"
    )
    assert "(2026-03-02 12:00:00 to 04:00:00)" in conversation_line(talk(minutes=192), UTC)
    nothing = stored([assistant_message("Hm.")])
    assert "Topics: none. Actions: none. (1 messages)" in conversation_line(nothing, UTC)
