"""How many tokens what is said takes.

Invariant: a long text is counted outside the event loop.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace

from memory.messages import TextPart
from memory.ports import TokenCounter
from memory.prompt.assembler import message_tokens
from memory.records import NewMessage

_COUNTED_AT_ONCE = 1_000  # characters; counting fewer takes less than the trip to a thread


async def counted(messages: Sequence[NewMessage], counter: TokenCounter) -> list[NewMessage]:
    """The messages with their tokens, counted where it is quickest."""
    if sum(map(_characters, messages)) < _COUNTED_AT_ONCE:
        return count_all(messages, counter)
    return await asyncio.to_thread(count_all, messages, counter)


def count_all(messages: Sequence[NewMessage], counter: TokenCounter) -> list[NewMessage]:
    """The messages with their tokens. Takes a millisecond for some thousand characters."""
    return [replace(new, tokens=message_tokens(new.message, counter)) for new in messages]


def _characters(new: NewMessage) -> float:
    """The length of a message; of one with more than text in it, beyond any limit."""
    return sum(len(part.text) if isinstance(part, TextPart) else math.inf for part in new.message.parts)
