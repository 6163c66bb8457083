"""The tools with which the model searches and writes its memory, under the names of MemGPT.

Invariant: they do nothing but call ``memory.paging``, which decides what may be written.
"""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from bot.tools import Arguments, Tool
from memory.exchange import Exchange
from memory.person import PersonMemory
from memory.prompt.sections import format_hits, format_messages

_HITS = 5
_MESSAGES = 20


class AppendArguments(Arguments):
    text: str = Field(min_length=1)
    block: Literal["human", "persona"] = "human"


class ReplaceArguments(Arguments):
    old: str = Field(min_length=1, description="Exactly as it stands there.")
    new: str = Field(description="In its place; empty to delete it.")


class QueryArguments(Arguments):
    query: str = Field(min_length=1)


class ArchivalQueryArguments(QueryArguments):
    k: int = Field(default=10, ge=1, le=50, description="Results at most.")


class InsertArguments(Arguments):
    text: str = Field(min_length=1)


class DateArguments(Arguments):
    start_date: date
    end_date: date


async def _core_append(memory: PersonMemory, exchange: Exchange, arguments: AppendArguments) -> str:
    await memory.paging.core_append(exchange, label=arguments.block, text=arguments.text)
    return "Saved in core memory."


async def _core_replace(memory: PersonMemory, exchange: Exchange, arguments: ReplaceArguments) -> str:
    await memory.paging.core_replace(exchange, old=arguments.old, new=arguments.new)
    return "Core memory changed."


async def _recall_search(memory: PersonMemory, exchange: Exchange, arguments: QueryArguments) -> str:
    return format_hits(await memory.paging.recall_search(arguments.query, limit=_HITS, evicted_only=True))


async def _archival_insert(memory: PersonMemory, exchange: Exchange, arguments: InsertArguments) -> str:
    await memory.paging.archival_insert(exchange, arguments.text)
    return "Saved in archival memory."


async def _archival_search(memory: PersonMemory, exchange: Exchange, arguments: ArchivalQueryArguments) -> str:
    return format_hits(await memory.paging.archival_search(arguments.query, limit=arguments.k))


async def _conversation_search(memory: PersonMemory, exchange: Exchange, arguments: QueryArguments) -> str:
    hits = await memory.paging.recall_search(arguments.query, limit=_HITS + 1, evicted_only=False)
    return format_hits([hit for hit in hits if hit.record_id != exchange.user.id][:_HITS])


async def _conversation_search_date(memory: PersonMemory, exchange: Exchange, arguments: DateArguments) -> str:
    said = await memory.paging.messages_between(arguments.start_date, arguments.end_date, limit=_MESSAGES)
    return format_messages(said)


ARCHIVAL_INSERT = Tool(
    name="archival_insert",
    description="Save a fact or document to the long-term archive.",
    arguments=InsertArguments,
    run=_archival_insert,
    may_end_turn=True,
    is_memory=True,
)
ARCHIVAL_SEARCH = Tool(
    name="archival_search",
    description="Look up facts and documents in the long-term archive.",
    arguments=ArchivalQueryArguments,
    run=_archival_search,
    is_memory=True,
)
CONVERSATION_SEARCH = Tool(
    name="conversation_search",
    description="Search all that was said in conversations with this person.",
    arguments=QueryArguments,
    run=_conversation_search,
    is_memory=True,
)
CONVERSATION_SEARCH_DATE = Tool(
    name="conversation_search_date",
    description="Read what was said from one day to another.",
    arguments=DateArguments,
    run=_conversation_search_date,
    is_memory=True,
)

MEMORY_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="core_memory_append",
        description="Save a durable fact to core memory.",
        arguments=AppendArguments,
        run=_core_append,
        may_end_turn=True,
        is_memory=True,
    ),
    Tool(
        name="core_memory_replace",
        description="Rewrite or shorten a fact in core memory.",
        arguments=ReplaceArguments,
        run=_core_replace,
        may_end_turn=True,
        is_memory=True,
    ),
    Tool(
        name="recall_search",
        description="Find exact past messages that have left your context.",
        arguments=QueryArguments,
        run=_recall_search,
        is_memory=True,
    ),
    ARCHIVAL_INSERT,
    ARCHIVAL_SEARCH,
    CONVERSATION_SEARCH,
    CONVERSATION_SEARCH_DATE,
)
