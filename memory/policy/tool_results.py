"""How long the model sees what a tool answered: for a few of its calls, then a line of the journal stands for it.

The call and a result stay, since the service takes neither without the other; only the result's text goes.

What comes from memory itself can be looked up again, and often several pieces of it are needed for one answer: it is
seen until the turn is over.

Invariant: a result that has become a line stays that line, so the history before the newest turn does not change from
one turn to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory.messages import Message, Role, ToolCall, ToolResult
from memory.policy.journal import tool_line
from memory.records import StoredMessage


def aged(
    history: Sequence[StoredMessage], turn: Sequence[Message], max_age: int
) -> tuple[tuple[StoredMessage, ...], tuple[Message, ...]]:
    """The history and the running turn as they are shown in the next call of the model.

    Args:
        history: the messages in the window, oldest first.
        turn: the newest user message, then the calls and results so far.
        max_age: in how many calls of the model a result is seen whole.

    Returns:
        Both, in their order; a message of the history that is shown otherwise than it was stored has no tokens yet.
    """
    messages = [*(stored.message for stored in history), *turn]
    shown: list[Message] = []
    seen_by = 0  # calls of the model in which the message was shown
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        asked = messages[place - 1].tool_calls if place else ()
        shown.append(_with_lines(message, asked, is_old=seen_by >= max_age, is_over=place < len(history)))
        seen_by += message.role is Role.ASSISTANT
    shown.reverse()
    known = zip(history, shown, strict=False)
    return (
        tuple(one if one.message is message else replace(one, message=message, tokens=0) for one, message in known),
        tuple(shown[len(history) :]),
    )


def _with_lines(message: Message, asked: Sequence[ToolCall], *, is_old: bool, is_over: bool) -> Message:
    """The message with lines in the place of results that were seen often enough, or whose turn is over."""
    if not message.tool_results:
        return message
    calls = {call.id: call for call in asked}
    parts = tuple(
        _shorter(part, calls.get(part.call_id))
        if isinstance(part, ToolResult) and (is_over if part.is_memory else is_old)
        else part
        for part in message.parts
    )
    return message if parts == message.parts else replace(message, parts=parts)


def _shorter(result: ToolResult, call: ToolCall | None) -> ToolResult:
    line = tool_line(call, result)
    return result if len(result.content) <= len(line) else replace(result, content=line)
