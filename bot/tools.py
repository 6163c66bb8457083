"""The tools offered to the model, as values: name, schema, function.

Invariant: a tool call never crashes a turn. Whatever is wrong with it comes back as the text of its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.errors import MemorySystemError
from memory.exchange import Exchange
from memory.messages import ToolCall, ToolResult, ToolSpec
from memory.parameters import Preset
from memory.person import PersonMemory
from memory.policy.presets import parts_of
from memory.policy.text import clean
from memory.prompt.sections import format_hits, format_messages

_HITS = 5
_MESSAGES = 20


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused, so that a typing error is noticed."""

    model_config = ConfigDict(extra="forbid")


class AppendArguments(Arguments):
    text: str = Field(min_length=1, description="One short, lasting fact.")
    block: Literal["human", "persona"] = Field(
        default="human", description="human: about the person. persona: about yourself."
    )


class ReplaceArguments(Arguments):
    old: str = Field(min_length=1, description="Text that stands in core memory, exactly.")
    new: str = Field(description="What to put in its place; empty to delete it.")


class QueryArguments(Arguments):
    query: str = Field(min_length=1, description="What to look for, in a few words.")


class ArchivalQueryArguments(QueryArguments):
    k: int = Field(default=10, ge=1, le=50, description="Results to return at most.")


class InsertArguments(Arguments):
    text: str = Field(min_length=1, description="The fact or document to keep.")


class DateArguments(Arguments):
    start_date: date = Field(description="First day, YYYY-MM-DD.")
    end_date: date = Field(description="Last day, YYYY-MM-DD.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    Attributes:
        name: as the model calls it.
        description: one line of purpose.
        arguments: the model its arguments must fit.
        run: does the work; gets the conversation's memory, the exchange and the arguments.
        may_end_turn: a reply of text followed only by successful calls of such tools ends the turn.
        is_memory: what it says is kept elsewhere in memory already, so no journal needs to keep its results.
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[PersonMemory, Exchange, Any], Awaitable[str]]
    may_end_turn: bool = False
    is_memory: bool = False

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        for described in schema.get("properties", {}).values():
            described.pop("title", None)
        return ToolSpec(name=self.name, description=self.description, input_schema=schema)


async def _core_append(memory: PersonMemory, exchange: Exchange, arguments: AppendArguments) -> str:
    await memory.paging.core_append(exchange, label=arguments.block, text=clean(arguments.text))
    return "Saved in core memory."


async def _core_replace(memory: PersonMemory, exchange: Exchange, arguments: ReplaceArguments) -> str:
    await memory.paging.core_replace(exchange, old=clean(arguments.old), new=clean(arguments.new))
    return "Core memory changed."


async def _recall_search(memory: PersonMemory, exchange: Exchange, arguments: QueryArguments) -> str:
    return format_hits(await memory.paging.recall_search(clean(arguments.query), limit=_HITS, evicted_only=True))


async def _archival_insert(memory: PersonMemory, exchange: Exchange, arguments: InsertArguments) -> str:
    await memory.paging.archival_insert(exchange, clean(arguments.text))
    return "Saved in archival memory."


async def _archival_search(memory: PersonMemory, exchange: Exchange, arguments: ArchivalQueryArguments) -> str:
    return format_hits(await memory.paging.archival_search(clean(arguments.query), limit=arguments.k))


async def _conversation_search(memory: PersonMemory, exchange: Exchange, arguments: QueryArguments) -> str:
    hits = await memory.paging.recall_search(clean(arguments.query), limit=_HITS + 1, evicted_only=False)
    return format_hits([hit for hit in hits if hit.record_id != exchange.user.id][:_HITS])


async def _conversation_search_date(memory: PersonMemory, exchange: Exchange, arguments: DateArguments) -> str:
    said = await memory.paging.messages_between(arguments.start_date, arguments.end_date, limit=_MESSAGES)
    return format_messages(said)


MEMORY_TOOLS: tuple[Tool, ...] = (
    Tool(
        name="core_memory_append",
        description="Save a durable fact to core memory, which you always see.",
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
    Tool(
        name="archival_insert",
        description="Save a fact or document to the long-term archive.",
        arguments=InsertArguments,
        run=_archival_insert,
        may_end_turn=True,
        is_memory=True,
    ),
    Tool(
        name="archival_search",
        description="Look up facts and documents in the long-term archive.",
        arguments=ArchivalQueryArguments,
        run=_archival_search,
        is_memory=True,
    ),
    Tool(
        name="conversation_search",
        description="Search everything said in past conversations with this person.",
        arguments=QueryArguments,
        run=_conversation_search,
        is_memory=True,
    ),
    Tool(
        name="conversation_search_date",
        description="Read what was said between two days.",
        arguments=DateArguments,
        run=_conversation_search_date,
        is_memory=True,
    ),
)


class Toolbox:
    """Runs the calls of a turn.

    Args:
        tools: the tools offered, in their fixed order.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.specs = tuple(tool.spec for tool in tools)

    def may_end_turn(self, call: ToolCall) -> bool:
        """Whether a successful call of this kind needs no further word of the model."""
        tool = self._tools.get(call.name)
        return tool is not None and tool.may_end_turn

    def is_memory(self, name: str) -> bool:
        """Whether results of the tool of this name are kept elsewhere in memory already."""
        tool = self._tools.get(name)
        return tool is not None and tool.is_memory

    async def run(self, memory: PersonMemory, exchange: Exchange, call: ToolCall) -> ToolResult:
        """Run one call. Errors that the model can act on become the result's text."""
        tool = self._tools.get(call.name)
        if tool is None:
            return failed(call, f"There is no tool {call.name!r}. Use one of: {', '.join(self._tools)}.")
        if call.malformed is not None:
            return failed(call, "The arguments are no JSON object. Send them again.")
        try:
            content = await tool.run(memory, exchange, tool.arguments.model_validate(dict(call.arguments)))
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}" for item in error.errors()
            )
            return failed(call, f"The arguments do not fit: {wrong}.")
        except MemorySystemError as error:
            return failed(call, str(error))
        return ToolResult(call_id=call.id, name=call.name, content=content)


def toolbox_for(preset: Preset) -> Toolbox:
    """The tools that a preset offers."""
    return Toolbox(MEMORY_TOOLS if parts_of(preset).tools else ())


def failed(call: ToolCall, reason: str) -> ToolResult:
    """A result that tells the model what went wrong."""
    return ToolResult(call_id=call.id, name=call.name, content=f"Error: {reason}", is_error=True)
