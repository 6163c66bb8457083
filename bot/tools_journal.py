"""The tool of the journal: one tool with five operations, of which two may end a turn.

Invariant: an operation that lacks something says what, and changes nothing.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bot.tools import Arguments, Tool
from memory.errors import InvalidInput
from memory.exchange import Exchange
from memory.person import PersonMemory
from memory.prompt.sections import format_hits

_HITS = 5


class JournalArguments(Arguments):
    operation: Literal["read", "append", "update", "clear", "summarize"]
    text: str = Field(default="", description="append, update: the note.")
    number: int | None = Field(
        default=None,
        ge=1,
        description="read, update, clear: which entry; clear without it clears all.",
    )
    query: str = Field(default="", description="read: what to find.")


async def _memory(memory: PersonMemory, exchange: Exchange, arguments: JournalArguments) -> str:
    text, number = arguments.text, arguments.number
    match arguments.operation:
        case "read":
            return await _read(memory, arguments)
        case "append" | "update" if not text:
            raise InvalidInput(f"{arguments.operation} needs text. Nothing was changed.")
        case "append":
            await memory.notes.append(exchange, text)
            return "Noted."
        case "update":
            if number is None:
                raise InvalidInput("update needs the number of the note. Nothing was changed.")
            await memory.notes.update(exchange, number, text)
            return f"Note {number} was rewritten."
        case "clear":
            return f"Cleared notes: {await memory.notes.clear(exchange, number)}."
        case "summarize":
            return f"Entries that a digest will stand for in a moment: {await memory.notes.summarize(exchange)}."


async def _read(memory: PersonMemory, arguments: JournalArguments) -> str:
    if arguments.number is not None:
        return await memory.notes.whole(arguments.number)
    if query := arguments.query:
        return format_hits(await memory.notes.search(query, limit=_HITS))
    return "\n".join(await memory.notes.lines()) or "The journal is empty."


JOURNAL_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="memory",
        description="Your journal of what tools answered and what was done.",
        arguments=JournalArguments,
        run=_memory,
        ending_operations=("append", "update"),
        is_memory=True,
    ),
)
