"""From gathered values to one request that fits the context window.

Invariant: a request is at most as large as the budget, is one the service accepts, holds the newest message,
and its tools and system blocks up to the first cache breakpoint depend on nothing that changes from turn to turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from memory.errors import InvalidInput
from memory.messages import Message, ModelRequest, SystemBlock, TextPart, ToolSpec
from memory.parameters import MemoryParameters
from memory.policy.budget import room_for_turn
from memory.policy.presets import parts_of
from memory.policy.tool_results import aged
from memory.ports import TokenCounter
from memory.prompt import sections
from memory.prompt.fitting import (
    as_json,
    fit_data,
    fit_history,
    fit_journal,
    fit_surroundings,
    fit_turn,
    message_tokens,
)
from memory.prompt.sections import Surroundings
from memory.records import MemoryBlock, SearchHit, Source, StoredMessage

__all__ = ["Gathered", "Prompt", "assemble", "fixed_tokens", "message_tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Everything a prompt is made of.

    Attributes:
        agent_name: the name the agent answers to.
        audience_note: one sentence on who hears the conversation.
        summary: rolling summary of earlier sessions; may be empty.
        blocks: core memory; none where it is switched off.
        hot: the hot state as JSON, and ``tree``, the index of the tree of categories; either may be empty.
        window_summary: digest of what left the window; may be empty.
        history: the messages in the window, oldest first, without those of this turn.
        turn: the newest user message, then this turn's own tool calls and results so far.
        hits: what was found for the newest message, best first.
        unsearched: what could not be searched for it.
        now: the present moment, in the zone it is to be told in.
        channel_context: the latest messages of others in a shared channel; may be empty.
        working_memory: what the agent is doing just now; may be empty.
        journal: the newest lines of the journal, oldest first.
        tools: the tools offered, in their fixed order.
    """

    agent_name: str
    audience_note: str
    summary: str
    blocks: tuple[MemoryBlock, ...]
    window_summary: str
    history: tuple[StoredMessage, ...]
    turn: tuple[Message, ...]
    hits: tuple[SearchHit, ...]
    now: datetime
    unsearched: tuple[Source, ...] = ()
    channel_context: str = ""
    working_memory: str = ""
    journal: tuple[str, ...] = ()
    hot: str = ""
    tree: str = ""
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A request and what it is made of.

    Attributes:
        request: ready to be sent.
        tokens: its size, calibrated.
        estimated: its size as the counter estimates it; what ``TokenCounter.calibrate`` wants.
        fixed_tokens: the size of everything that is no message, as ``fixed_tokens`` gives it.
        estimated_fixed: the same, as the counter estimates it.
        report: estimated tokens per section; they sum to ``estimated``.
        dropped_messages: messages of the history that are not in the request.
        cut: whether the person's newest message was shortened.
        shown: the hits that are in the request.
    """

    request: ModelRequest
    tokens: int
    estimated: int
    fixed_tokens: int
    estimated_fixed: int
    report: Mapping[str, int]
    dropped_messages: int
    cut: bool
    shown: tuple[SearchHit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    name: str
    render: Callable[[Gathered, MemoryParameters], str]


_STABLE = (
    _Section(name="summary", render=lambda g, _: sections.conversation_summary(g.summary)),
    _Section(
        name="instructions",
        render=lambda g, p: sections.instructions(g.agent_name, g.audience_note, g.tools, parts_of(p.preset)),
    ),
    _Section(
        name="core",
        render=lambda g, p: sections.core_memory(g.blocks, g.agent_name, p.core_memory_limit) if g.blocks else "",
    ),
    _Section(name="hot", render=lambda g, _: sections.hot_memory(g.hot)),
    _Section(name="tree", render=lambda g, _: sections.category_tree(g.tree)),
)
_CHANGING = (_Section(name="window_summary", render=lambda g, _: sections.window_summary(g.window_summary)),)


def assemble(
    gathered: Gathered,
    *,
    parameters: MemoryParameters,
    counter: TokenCounter,
    tools_enabled: bool = True,
    person_hash: str | None = None,
) -> Prompt:
    """The request for one model call.

    A tool's result that was seen often enough is shown as a line. What is too much leaves in this order: retrieved
    text, the journal's oldest lines, the oldest exchanges, the oldest tool rounds of this turn; then the longest texts
    of this turn are cut in the middle.

    Args:
        gathered: what the prompt is made of.
        parameters: the limits.
        counter: estimates and calibrates.
        tools_enabled: False forbids the model to call the tools it is shown.
        person_hash: an opaque hash of the person, for the model's service.

    Raises:
        InvalidInput: the newest message holds no text, or the fixed parts alone fill the window.
    """
    if not gathered.turn or not gathered.turn[0].text.strip():
        raise InvalidInput("The message holds no text. Send some words.")
    system = _system(gathered, parameters)
    report = _fixed_report(system, gathered.tools, counter)
    fixed = sum(report.values())
    fitted = _fitted(gathered, room_for_turn(fixed, parameters, counter.calibrated), parameters, counter)
    report |= fitted.report
    newest = replace(fitted.turn[0], parts=(TextPart(text=fitted.data), *fitted.turn[0].parts))
    return Prompt(
        request=ModelRequest(
            system=system,
            messages=(*(stored.message for stored in fitted.history), newest, *fitted.turn[1:]),
            tools=gathered.tools,
            tools_enabled=tools_enabled,
            max_output_tokens=parameters.max_output_tokens,
            cached_messages=len(fitted.history),
            person_hash=person_hash,
        ),
        tokens=counter.calibrated(sum(report.values())),
        estimated=sum(report.values()),
        fixed_tokens=counter.calibrated(fixed),
        estimated_fixed=fixed,
        report=report,
        dropped_messages=len(gathered.history) - len(fitted.history),
        cut=fitted.cut,
        shown=fitted.shown,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """What fits beside the fixed parts; ``report`` as in ``Prompt``."""

    history: Sequence[StoredMessage]
    turn: Sequence[Message]
    data: str
    shown: tuple[SearchHit, ...]
    cut: bool
    report: Mapping[str, int]


def _fitted(gathered: Gathered, room: int, parameters: MemoryParameters, counter: TokenCounter) -> _Fitted:
    """The messages and the retrieved text for which there is room, in estimated tokens."""
    around = fit_surroundings(
        Surroundings(
            now=gathered.now,
            channel=gathered.channel_context,
            working=gathered.working_memory,
            unsearched=gathered.unsearched,
        ),
        min(int(room * parameters.retrieved_share), room // 2),
        counter.count,
    )
    room -= counter.count(sections.memory_data(around, ()))
    aged_history, aged_turn = aged(gathered.history, gathered.turn, parameters.max_tool_response_age)
    turn, cut = fit_turn(aged_turn, room, result_cap=parameters.tool_result_max_tokens, counter=counter)
    room -= (turn_tokens := sum(message_tokens(message, counter) for message in turn))
    kept_free = max(0, parameters.message_reserve - turn_tokens)
    history = fit_history(aged_history, room - kept_free, result_cap=parameters.tool_result_max_tokens, counter=counter)
    room -= (history_tokens := sum(stored.tokens for stored in history))
    data, shown = _fitted_data(gathered, around, room, parameters, counter)
    report = {"turn": turn_tokens, "history": history_tokens, "memory_data": counter.count(data)}
    return _Fitted(history=history, turn=turn, data=data, shown=shown, cut=cut, report=report)


def _fitted_data(
    gathered: Gathered, around: Surroundings, room: int, parameters: MemoryParameters, counter: TokenCounter
) -> tuple[str, tuple[SearchHit, ...]]:
    """The data block for which there is room besides its surroundings, and the hits in it."""
    bare = counter.count(sections.memory_data(around, ()))
    tail_room = min(parameters.journal_tail_tokens, int(room * parameters.retrieved_share))
    around = fit_journal(around, gathered.journal, tail_room, room, counter.count)
    frame = counter.count(sections.memory_data(around, ())) if around.journal else bare
    left = room - (frame - bare)
    hits = gathered.hits if left > parameters.retrieved_min_room else ()
    return fit_data(around, hits, frame + int(left * parameters.retrieved_share), counter.count)


def fixed_tokens(gathered: Gathered, *, parameters: MemoryParameters, counter: TokenCounter) -> int:
    """The size of the system prompt and the tools alone, calibrated; history, turn and hits do not matter."""
    return counter.calibrated(sum(_fixed_report(_system(gathered, parameters), gathered.tools, counter).values()))


def _system(gathered: Gathered, parameters: MemoryParameters) -> tuple[SystemBlock, ...]:
    return (*_blocks(_STABLE, gathered, parameters), *_blocks(_CHANGING, gathered, parameters))


def _fixed_report(system: Sequence[SystemBlock], tools: Sequence[ToolSpec], counter: TokenCounter) -> dict[str, int]:
    sizes = {block.name: counter.count(block.text) for block in system}
    return {**sizes, "tools": _tools_tokens(tuple(tools), counter.count)}


@lru_cache(64)  # the same tools are offered with every message
def _tools_tokens(tools: tuple[ToolSpec, ...], count: Callable[[str], int]) -> int:
    return sum(count(text) for tool in tools for text in (tool.name, tool.description, as_json(tool.input_schema)))


def _blocks(table: Sequence[_Section], gathered: Gathered, parameters: MemoryParameters) -> tuple[SystemBlock, ...]:
    texts = [(section.name, section.render(gathered, parameters)) for section in table]
    blocks = [SystemBlock(name=name, text=text) for name, text in texts if text]
    return (*blocks[:-1], *(replace(last, cache_breakpoint=True) for last in blocks[-1:]))
