"""What leaves the window and when, and what of a history a model's service accepts.

A window is cut between exchanges only: an exchange begins with a user message that holds no tool result and
ends before the next one.

Invariant: what stays after any cut begins with a user's words and holds every tool call with its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from memory.messages import FilePart, ImagePart, Message, Part, Role, TextPart, ToolCall, ToolResult
from memory.parameters import MemoryParameters
from memory.records import EvictionReason, StoredMessage, WindowSize

# Of the threshold: a message may be shown a little larger than it was stored.
_NEARLY = 0.9

Exchange = tuple[StoredMessage, ...]


def opens_exchange(message: Message) -> bool:
    """Whether the history may be cut before this message."""
    return message.role is Role.USER and not message.tool_results


def exchanges(window: Sequence[StoredMessage]) -> tuple[Exchange, ...]:
    """The window as exchanges, oldest first. Messages before the first user's words form one of their own."""
    starts = [place for place, stored in enumerate(window) if opens_exchange(stored.message)]
    bounds = sorted({0, *starts, len(window)})
    return tuple(tuple(window[start:end]) for start, end in pairwise(bounds))


def plan_eviction(
    window: Sequence[StoredMessage],
    *,
    fixed_tokens: int,
    calibrated: Callable[[int], int],
    parameters: MemoryParameters,
) -> tuple[tuple[int, ...], EvictionReason]:
    """The ids of the messages that leave the window after a turn, oldest first, and why.

    Above ``eviction_threshold`` of the context window the oldest exchanges leave until the context is at or
    under ``eviction_target``; above ``max_conversation_history`` messages they leave until ``history_target``
    are left. The newest exchange stays, unless with it alone the context would pass the threshold.

    Args:
        window: the messages in the window, oldest first.
        fixed_tokens: calibrated tokens of the system prompt and the tools.
        calibrated: turns estimated tokens into tokens, as ``TokenCounter.calibrated`` does; rising.
        parameters: the limits.

    Returns:
        The ids and the reason; without ids nothing leaves and the reason has no meaning.
    """
    threshold = int(parameters.context_window_tokens * parameters.eviction_threshold)
    target = int(parameters.context_window_tokens * parameters.eviction_target)

    def context(kept: Sequence[Exchange]) -> int:
        return fixed_tokens + calibrated(sum(stored.tokens for exchange in kept for stored in exchange))

    kept = exchanges(window)
    too_large = context(kept) > threshold
    too_many = len(window) > parameters.max_conversation_history
    token_goal = target if too_large else threshold
    message_goal = parameters.history_target if too_many else parameters.max_conversation_history

    while len(kept) > 1 and (context(kept) > token_goal or sum(map(len, kept)) > message_goal):
        kept = kept[1:]
    if context(kept) > threshold:
        kept = ()
    leaving = window[: len(window) - sum(map(len, kept))]
    reason = EvictionReason.THRESHOLD if too_large else EvictionReason.HISTORY_LIMIT
    return tuple(stored.id for stored in leaving), reason


def is_crowded(
    size: WindowSize,
    *,
    fixed_tokens: int,
    calibrated: Callable[[int], int],
    parameters: MemoryParameters,
) -> bool:
    """Whether ``plan_eviction`` may have something to evict, told from sizes alone; no means that it has not.

    Args:
        size: of the window, as its messages were stored.
        fixed_tokens: estimated tokens of the system prompt and the tools.
        calibrated: as ``plan_eviction`` takes it.
        parameters: the limits.
    """
    nearly_full = parameters.context_window_tokens * parameters.eviction_threshold * _NEARLY
    too_many = size.messages > parameters.max_conversation_history
    return too_many or calibrated(fixed_tokens + size.tokens) > nearly_full


def sound_parts(messages: Sequence[Message]) -> tuple[tuple[Part, ...], ...]:
    """What of each message may be sent, in the same order; an empty tuple where the message cannot be.

    Left out are blank texts, all before the first user's words, tool calls whose result does not follow at
    once, and results whose call does not stand right before. A message deleted on its platform or a process
    killed in the middle of a turn leaves such remains.
    """
    opening = (place for place, message in enumerate(messages) if opens_exchange(message) and message.text.strip())
    first = next(opening, len(messages))
    sound: list[tuple[Part, ...]] = [()] * first
    for place in range(first, len(messages)):
        asked = {call.id for call in messages[place - 1].tool_calls} if place > first else set()
        following = messages[place + 1].tool_results if place + 1 < len(messages) else ()
        answered = {result.call_id for result in following}
        sound.append(tuple(part for part in messages[place].parts if _is_sound(part, asked, answered)))
    return tuple(sound)


def _is_sound(part: Part, asked: set[str], answered: set[str]) -> bool:
    match part:
        case TextPart():
            return bool(part.text.strip())
        case ToolCall():
            return part.id in answered
        case ToolResult():
            return part.call_id in asked
        case FilePart() | ImagePart():
            return True
