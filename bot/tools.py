"""Tools as values: name, schema, function; and the box that runs a turn's calls.

The tools themselves stand in ``bot/tools_*.py``; ``bot/tool_table.py`` says which are offered.

Invariant: a tool call never crashes a turn. Whatever is wrong with it comes back as the text of its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.tool_schema import schema_of
from memory.errors import MemorySystemError
from memory.exchange import Exchange
from memory.messages import Message, Part, ToolCall, ToolResult, ToolSpec
from memory.person import PersonMemory
from memory.policy.text import clean
from memory.policy.tool_names import in_offered_names

_NOT_KEPT = "(Shown when it was asked for, and not kept. Call the tool again to see it.)"


class ToolFailed(MemorySystemError):
    """A tool could not do its work. The text tells the model what went wrong."""


class Arguments(BaseModel):
    """Arguments of a tool; unknown ones are refused, so that a typing error is noticed."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    Attributes:
        name: as the model calls it.
        description: one line of purpose.
        arguments: the model its arguments must fit.
        run: does the work; gets the conversation's memory, the exchange and the arguments.
        may_end_turn: a reply of text followed only by successful calls of such tools ends the turn.
        ending_operations: of a tool with operations, those that may end a turn as well.
        is_memory: what it says is kept elsewhere in memory already, so no journal needs to keep its results.
        keeps_result: False where its results are words of others: they are shown in this turn, and stored nowhere.
        schema: its arguments as JSON schema where they are described elsewhere; None for that of ``arguments``.
    """

    name: str
    description: str
    arguments: type[Arguments]
    run: Callable[[PersonMemory, Exchange, Any], Awaitable[str]]
    may_end_turn: bool = False
    ending_operations: tuple[str, ...] = ()
    is_memory: bool = False
    keeps_result: bool = True
    schema: Mapping[str, Any] | None = None

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        if self.schema is not None:
            return ToolSpec(name=self.name, description=self.description, input_schema=dict(self.schema))
        return ToolSpec(name=self.name, description=self.description, input_schema=schema_of(self.arguments))


class Toolbox:
    """Runs the calls of a turn.

    Args:
        tools: the tools offered, in their fixed order.
        served: those that come from elsewhere and may grow more; offered behind the others.
    """

    def __init__(self, tools: Sequence[Tool], served: Callable[[], Sequence[Tool]] = tuple) -> None:
        self._own = {tool.name: tool for tool in tools}
        self._own_specs = tuple(tool.spec for tool in tools)
        self._served = served

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools offered, as the model sees them."""
        served = {tool.name: tool.spec for tool in self._served() if tool.name not in self._own}
        return (*self._own_specs, *served.values())

    @property
    def _tools(self) -> Mapping[str, Tool]:
        return {**{tool.name: tool for tool in reversed(self._served())}, **self._own}

    def may_end_turn(self, call: ToolCall) -> bool:
        """Whether a successful call of this kind needs no further word of the model."""
        tool = self._tools.get(call.name)
        if tool is None:
            return False
        return tool.may_end_turn or call.arguments.get("operation") in tool.ending_operations

    def is_memory(self, name: str) -> bool:
        """Whether results of the tool of this name are kept elsewhere in memory already."""
        tool = self._tools.get(name)
        return tool is not None and tool.is_memory

    def kept(self, message: Message) -> Message:
        """A message of a turn as it is stored, without the results that are not to be kept."""
        return replace(message, parts=tuple(map(self._kept, message.parts)))

    def _kept(self, part: Part) -> Part:
        tool = self._tools.get(part.name) if isinstance(part, ToolResult) else None
        if tool is None or tool.keeps_result or not isinstance(part, ToolResult):
            return part
        return replace(part, content=_NOT_KEPT)

    async def run(self, memory: PersonMemory, exchange: Exchange, call: ToolCall) -> ToolResult:
        """Run one call. Errors that the model can act on become the result's text.

        Args:
            memory: the memory of the conversation.
            exchange: the message that is answered.
            call: as the model made it, cleaned (``bot.model_answers.cleaned``).
        """
        return replace(await self._result(memory, exchange, call), is_memory=self.is_memory(call.name))

    async def _result(self, memory: PersonMemory, exchange: Exchange, call: ToolCall) -> ToolResult:
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
            return failed(call, in_offered_names(str(error), self._tools))
        return ToolResult(call_id=call.id, name=call.name, content=clean(content))


def failed(call: ToolCall, reason: str) -> ToolResult:
    """A result that tells the model what went wrong."""
    return ToolResult(call_id=call.id, name=call.name, content=f"Error: {reason}", is_error=True)
