"""The memory tools under the names of Letta, for models and prompts that know those.

Invariant: they write on the same paths as ``bot/tools_memory.py``, and the two are never offered together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import Field

from bot.tools import Arguments, Tool
from bot.tools_memory import ARCHIVAL_INSERT, ARCHIVAL_SEARCH, CONVERSATION_SEARCH, CONVERSATION_SEARCH_DATE
from memory.exchange import Exchange
from memory.person import PersonMemory

Section = Literal["human", "persona"]


class SectionArguments(Arguments):
    section: Section = Field(description="human: the person. persona: yourself.")


class InsertArguments(SectionArguments):
    content: str = Field(min_length=1)


class ReplaceArguments(SectionArguments):
    old_content: str = Field(min_length=1, description="Exactly as it stands there.")
    new_content: str = Field(description="In its place; empty to delete it.")


class RethinkArguments(SectionArguments):
    new_content: str


class ArchiveArguments(Arguments):
    content: str = Field(min_length=1)


async def _insert(memory: PersonMemory, exchange: Exchange, arguments: InsertArguments) -> str:
    await memory.paging.core_append(exchange, label=arguments.section, text=arguments.content)
    return "Saved in core memory."


async def _replace(memory: PersonMemory, exchange: Exchange, arguments: ReplaceArguments) -> str:
    await memory.paging.core_replace(
        exchange, label=arguments.section, old=arguments.old_content, new=arguments.new_content
    )
    return "Core memory changed."


async def _rethink(memory: PersonMemory, exchange: Exchange, arguments: RethinkArguments) -> str:
    await memory.paging.core_rewrite(exchange, label=arguments.section, text=arguments.new_content)
    return "Core memory changed."


async def _archive(memory: PersonMemory, exchange: Exchange, arguments: ArchiveArguments) -> str:
    await memory.paging.archival_insert(exchange, arguments.content)
    return "Saved in archival memory."


LETTA_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="memory_insert",
        description="Save a durable fact to a section of core memory.",
        arguments=InsertArguments,
        run=_insert,
        may_end_turn=True,
        is_memory=True,
    ),
    Tool(
        name="memory_replace",
        description="Rewrite or delete a piece of a section of core memory.",
        arguments=ReplaceArguments,
        run=_replace,
        may_end_turn=True,
        is_memory=True,
    ),
    Tool(
        name="memory_rethink",
        description="Write a whole section of core memory anew.",
        arguments=RethinkArguments,
        run=_rethink,
        may_end_turn=True,
        is_memory=True,
    ),
    replace(ARCHIVAL_INSERT, name="archival_memory_insert", arguments=ArchiveArguments, run=_archive),
    replace(ARCHIVAL_SEARCH, name="archival_memory_search"),
    CONVERSATION_SEARCH,
    CONVERSATION_SEARCH_DATE,
)
