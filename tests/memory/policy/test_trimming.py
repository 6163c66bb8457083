"""What leaves the window, and what of a history may be sent."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memory.messages import Message, Role, TextPart, ToolCall, ToolResult, assistant_message, user_message
from memory.parameters import MemoryParameters
from memory.policy.trimming import exchanges, is_crowded, plan_eviction, sound_parts
from memory.records import EvictionReason, Scope, StoredMessage, WindowSize
from tests.fakes import START

LIMITS = MemoryParameters(
    context_window_tokens=1000,
    eviction_threshold=0.7,
    eviction_target=0.5,
    max_conversation_history=20,
    history_target=10,
)


def window_of(messages: Sequence[Message], tokens: int) -> tuple[StoredMessage, ...]:
    return tuple(
        StoredMessage(
            id=number,
            scope=Scope(person="console:ann", audience="dm"),
            conversation="console:ann",
            session_id=1,
            exchange_id=1,
            author="Ann",
            message=message,
            sent_at=START,
            tokens=tokens,
        )
        for number, message in enumerate(messages, start=1)
    )


def chat(exchanges: int) -> list[Message]:
    return [message for _ in range(exchanges) for message in (user_message("hi"), assistant_message("hello"))]


def tool_round(call_id: str) -> list[Message]:
    call = ToolCall(id=call_id, name="recall_search", arguments={"query": "tea"})
    result = ToolResult(call_id=call_id, name="recall_search", content="Nothing found.")
    return [Message(role=Role.ASSISTANT, parts=(call,)), Message(role=Role.USER, parts=(result,))]


def unchanged(tokens: int) -> int:
    return tokens


def evicted(window: Sequence[StoredMessage], fixed_tokens: int = 0) -> tuple[tuple[int, ...], EvictionReason]:
    return plan_eviction(window, fixed_tokens=fixed_tokens, calibrated=unchanged, parameters=LIMITS)


def test_an_exchange_ends_only_before_the_next_words_of_the_person() -> None:
    messages = [user_message("a"), *tool_round("1"), assistant_message("b"), user_message("c"), user_message("d")]
    assert [[stored.id for stored in part] for part in exchanges(window_of(messages, 1))] == [
        [1, 2, 3, 4],
        [5],
        [6],
    ]


def test_an_empty_window_has_no_exchanges_and_evicts_nothing() -> None:
    assert exchanges(()) == ()
    assert evicted(())[0] == ()


def test_at_the_threshold_nothing_leaves() -> None:
    assert evicted(window_of(chat(7), 50))[0] == ()


def test_above_the_threshold_the_oldest_leave_down_to_the_target() -> None:
    ids, reason = evicted(window_of(chat(7), 50), fixed_tokens=1)
    assert reason is EvictionReason.THRESHOLD
    assert ids == (1, 2, 3, 4, 5, 6)  # 701 tokens -> 401, the first whole exchange at or under 500


def test_sizes_are_calibrated_before_they_are_compared() -> None:
    ids, _ = plan_eviction(
        window_of(chat(7), 40), fixed_tokens=0, calibrated=lambda tokens: tokens * 2, parameters=LIMITS
    )
    assert ids == (1, 2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize("exchanges_held", range(1, 12))
@pytest.mark.parametrize("fixed_tokens", [0, 300, 650])
def test_a_window_of_which_something_leaves_was_crowded(exchanges_held: int, fixed_tokens: int) -> None:
    window = window_of(chat(exchanges_held), 40)
    size = WindowSize(messages=len(window), tokens=40 * len(window))
    crowded = is_crowded(size, fixed_tokens=fixed_tokens, calibrated=unchanged, parameters=LIMITS)
    assert crowded or not evicted(window, fixed_tokens)[0]


def test_a_window_is_crowded_by_messages_or_by_tokens_and_not_before() -> None:
    def crowded(messages: int, tokens: int, fixed_tokens: int = 0) -> bool:
        size = WindowSize(messages=messages, tokens=tokens)
        return is_crowded(size, fixed_tokens=fixed_tokens, calibrated=unchanged, parameters=LIMITS)

    assert not crowded(20, 330, fixed_tokens=300)
    assert crowded(21, 330)
    assert crowded(2, 331, fixed_tokens=300)


def test_above_the_message_limit_the_oldest_leave_down_to_the_history_target() -> None:
    ids, reason = evicted(window_of(chat(11), 1))
    assert reason is EvictionReason.HISTORY_LIMIT
    assert ids == tuple(range(1, 13))


def test_a_cut_never_falls_between_a_tool_call_and_its_result() -> None:
    messages = [user_message("a"), *tool_round("1"), *tool_round("2"), assistant_message("b"), *chat(1)]
    ids, _ = evicted(window_of(messages, 100))
    assert ids == (1, 2, 3, 4, 5, 6)


def test_the_newest_exchange_stays_though_it_is_over_the_target() -> None:
    assert evicted(window_of(chat(2), 300))[0] == (1, 2)


def test_a_newest_exchange_over_the_threshold_leaves_too() -> None:
    assert evicted(window_of(chat(2), 400))[0] == (1, 2, 3, 4)


def test_a_sound_history_is_sent_as_it_is() -> None:
    messages = [user_message("a"), *tool_round("1"), assistant_message("b")]
    assert sound_parts(messages) == tuple(message.parts for message in messages)


def test_what_stands_before_the_first_words_of_the_person_is_not_sent() -> None:
    messages = [*tool_round("1"), assistant_message("b"), user_message(" "), user_message("a")]
    assert sound_parts(messages) == ((), (), (), (), (TextPart(text="a"),))


def test_a_call_without_result_and_a_result_without_call_are_not_sent() -> None:
    call, result = tool_round("1")
    messages = [user_message("a"), call, user_message("b"), result, assistant_message("c")]
    assert [len(parts) for parts in sound_parts(messages)] == [1, 0, 1, 0, 1]


def test_blank_text_beside_a_tool_call_is_not_sent() -> None:
    call, result = tool_round("1")
    blank = Message(role=Role.ASSISTANT, parts=(TextPart(text=" \n"), *call.parts))
    assert sound_parts([user_message("a"), blank, result])[1] == call.parts
