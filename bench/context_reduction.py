"""How much smaller the prompt is than one that keeps everything, and how much of what was planted is still found.

Run it as ``python bench/context_reduction.py``, with ``--data FILE`` also on a conversation in LoCoMo's shape; see
bench/README.md for what the columns mean.

Invariant: both prompts have the same fixed parts and are counted by the same counter; nothing is asked before the whole
conversation is over.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from learning_world import SetClock, memory_model
from locomo import Talk, Turn, read_talk
from rich.console import Console
from rich.table import Table
from stand_ins import Nowhere
from tool_talk import TOOLS, Planted, Step, tool_talk

from bot.agent import Agent
from bot.chat import Conversation, IncomingMessage
from bot.handler import ChatHandler
from bot.logs import configure_logs
from bot.tool_table import toolbox_for
from bot.tools import Arguments, Tool
from memory.embedding import MiniLmTokenEmbedder
from memory.exchange import Exchange
from memory.messages import ModelRequest, ModelResponse, Part, StopReason, TextPart, ToolCall, ToolResult
from memory.parameters import MemoryParameters
from memory.person import PersonMemory
from memory.ports import OnText, TokenCounter
from memory.prompt.assembler import message_tokens
from memory.prompt.fitting import as_json
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

_WHERE = Conversation(platform="console", key="console:bench:dm", audience="dm")
_PERSON = "console:bench"
_HITS = 5  # as the tools give
_STEPS_SHOWN = 20
_PACE = timedelta(minutes=1)
_SPEAKERS = ("Sam", "Keepsake")  # the person and the bot


class LookupArguments(Arguments):
    """What the tools of the conversation take."""

    query: str
    page: str


class Script:
    """A chat model that plays the conversation's steps: it calls the tool once, then gives the reply."""

    name = "script"

    def __init__(self) -> None:
        self.step = Step(said="", lookup=None, reply="I see.")
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """The tool call of the step, or its reply where the tool has answered."""
        self.requests.append(request)
        lookup = self.step.lookup
        answered = bool(request.messages[-1].tool_results)
        part: Part = TextPart(text=self.step.reply)
        if lookup is not None and not answered:
            part = ToolCall(id=f"call{len(self.requests)}", name=lookup.tool, arguments=dict(lookup.arguments))
        stop = StopReason.TOOL_USE if isinstance(part, ToolCall) else StopReason.END_TURN
        return ModelResponse(parts=(part,), stop_reason=stop, model=self.name)

    async def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One conversation. Sizes in estimated tokens.

    Attributes:
        fixed: the tools and the instructions, which both ways need.
        kept_last, shown_last: the last prompt where everything is kept, and ours.
        kept_all, shown_all: all prompts of the conversation together.
        asked: questions asked in the end.
        in_prompt: how many of them the prompt itself answers.
        searchable: how many the prompt answers, or one search of past messages or of the journal.
    """

    name: str
    turns: int
    calls: int
    fixed: int
    kept_last: int
    shown_last: int
    kept_all: int
    shown_all: int
    asked: int
    in_prompt: int
    searchable: int

    @property
    def smaller_last(self) -> float:
        """How much smaller the last prompt is, as a share."""
        return 1 - self.shown_last / self.kept_last

    @property
    def smaller_besides(self) -> float:
        """How much smaller the last prompt is besides its fixed parts, as a share."""
        return 1 - (self.shown_last - self.fixed) / (self.kept_last - self.fixed)

    @property
    def smaller_all(self) -> float:
        """How much smaller all prompts together are, as a share."""
        return 1 - self.shown_all / self.kept_all


@dataclass(slots=True, kw_only=True)
class Desk:
    """A running application, and the sizes that both ways of prompting came to."""

    system: MemorySystem
    handler: ChatHandler
    script: Script
    clock: SetClock
    counter: TokenCounter
    author: str
    everything: int = 0
    kept: list[int]
    shown: list[int]

    async def play(self, step: Step, number: int, at: datetime) -> None:
        """One turn, with all that follows from it."""
        self.script.step, self.clock.time = step, at
        before = len(self.script.requests)
        await self.handler.accept(
            IncomingMessage(
                id=str(number),
                conversation=_WHERE,
                person=_PERSON,
                author_name=self.author,
                text=step.said,
                sent_at=at,
            )
        )
        await self.handler.idle()
        await self.system.settle()
        fresh = self.script.requests[before:]
        self.everything += self.counter.count(step.said)
        for request in fresh:
            self.kept.append(_fixed(fresh[0], self.counter) + self.everything)
            self.shown.append(_size(request, self.counter))
            if step.lookup is not None and request is fresh[0]:
                call, content = as_json(step.lookup.arguments), step.lookup.content
                self.everything += sum(map(self.counter.count, (step.lookup.tool, call, content)))
        self.everything += self.counter.count(step.reply)

    async def answers(self, planted: Planted, number: int, at: datetime) -> tuple[bool, bool]:
        """Whether the prompt of a question answers it, and whether it does with what one search finds."""
        self.script.step, self.clock.time = Step(said=planted.question, lookup=None, reply="I see."), at
        before = len(self.script.requests)
        await self.play(self.script.step, number, at)
        in_prompt = _holds(_texts(self.script.requests[before]), planted)
        memory = self.system.conversation(person=_PERSON, audience=_WHERE.audience, conversation=_WHERE.key)
        hits = [
            *await memory.paging.recall_search(planted.question, limit=_HITS, evicted_only=False),
            *await memory.notes.search(planted.question, limit=_HITS),
        ]
        return in_prompt, in_prompt or _holds((hit.text for hit in hits), planted)


def _fixed(request: ModelRequest, counter: TokenCounter) -> int:
    """The parts that keeping everything needs as well: the tools and the instructions."""
    instructions = sum(counter.count(block.text) for block in request.system if block.name == "instructions")
    return instructions + _tools(request, counter)


def _tools(request: ModelRequest, counter: TokenCounter) -> int:
    return sum(
        counter.count(text)
        for tool in request.tools
        for text in (tool.name, tool.description, as_json(tool.input_schema))
    )


def _size(request: ModelRequest, counter: TokenCounter) -> int:
    system = sum(counter.count(block.text) for block in request.system)
    return system + _tools(request, counter) + sum(message_tokens(message, counter) for message in request.messages)


def _texts(request: ModelRequest) -> Iterator[str]:
    yield from (block.text for block in request.system)
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                yield part.text
            elif isinstance(part, ToolResult):
                yield part.content


def _holds(texts: Iterator[str], planted: Planted) -> bool:
    whole = "\n".join(texts)
    return any(answer in whole for answer in planted.answers)


async def measured(
    name: str,
    steps: Sequence[tuple[Step, datetime]],
    planted: Sequence[Planted],
    *,
    tools: Sequence[str] = (),
    speakers: tuple[str, str] = _SPEAKERS,
) -> Figures:
    """Play a conversation on a new database, then ask.

    Args:
        name: of the row.
        steps: the turns with their times.
        planted: what is asked in the end.
        tools: the names of the tools that the steps call.
        speakers: the names of the person and of the bot.
    """
    author, agent_name = speakers
    parameters, clock, counter, script = (
        MemoryParameters(agent_name=agent_name),
        SetClock(),
        TiktokenCounter(),
        Script(),
    )
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        embedder, memory = MiniLmTokenEmbedder(), memory_model()
        stack.push_async_callback(embedder.close)
        stack.push_async_callback(memory.close)
        system = await stack.enter_async_context(
            open_memory(
                database_url=f"sqlite:///{folder}/keepsake.db",
                embedder=embedder,
                counter=counter,
                memory_model=memory,
                parameters=parameters,
                clock=clock,
            )
        )

        async def run(memory: PersonMemory, exchange: Exchange, arguments: LookupArguments) -> str:
            return script.step.lookup.content if script.step.lookup else ""

        further = [Tool(name=tool, description="Look it up.", arguments=LookupArguments, run=run) for tool in tools]
        agent = Agent(model=script, toolbox=toolbox_for(parameters, further), counter=counter, secret=b"bench")
        handler = ChatHandler(system=system, agent=agent, clock=clock, drafts=False)
        handler.attach({Nowhere.platform: Nowhere()})
        handler.open()
        desk = Desk(
            system=system,
            handler=handler,
            script=script,
            clock=clock,
            counter=counter,
            author=author,
            kept=[],
            shown=[],
        )
        for number, (step, at) in enumerate(steps):
            await desk.play(step, number, at)
            if number % _STEPS_SHOWN == 0:
                print(f"{name}: turn {number + 1} of {len(steps)}", file=sys.stderr)
        kept, shown = list(desk.kept), list(desk.shown)
        end = steps[-1][1] + _PACE
        found = [await desk.answers(one, len(steps) + place, end) for place, one in enumerate(planted)]
        await handler.drain(5)
    return Figures(
        name=name,
        turns=len(steps),
        calls=len(kept),
        fixed=_fixed(script.requests[-1], counter),
        kept_last=kept[-1],
        shown_last=shown[-1],
        kept_all=sum(kept),
        shown_all=sum(shown),
        asked=len(found),
        in_prompt=sum(in_prompt for in_prompt, _ in found),
        searchable=sum(searchable for _, searchable in found),
    )


def steps_of(talk: Talk) -> list[tuple[Step, datetime]]:
    """The turns of a file as exchanges: what the first speaker says in a row, then what the other one does."""
    exchanges: list[tuple[list[Turn], list[Turn]]] = []
    for turn in (turn for session in talk.sessions for turn in session):
        by_person = turn.speaker == talk.person
        if not exchanges or (by_person and exchanges[-1][1]):
            exchanges.append(([], []))
        exchanges[-1][0 if by_person else 1].append(turn)
    return [
        (
            Step(
                said="\n".join(turn.text for turn in said) or "Hello!",
                lookup=None,
                reply="\n".join(turn.text for turn in replied) or "I see.",
            ),
            (said or replied)[0].said_at,
        )
        for said, replied in exchanges
    ]


def speakers_of(talk: Talk) -> tuple[str, str]:
    """The names of the person and of the one who takes the bot's part."""
    others = [turn.speaker for session in talk.sessions for turn in session if turn.speaker != talk.person]
    return talk.person, others[0]


def questions_of(talk: Talk, most: int) -> list[Planted]:
    """Questions that one of the file's turns answers, evenly spread over the file."""
    texts = {turn.id: turn.text for session in talk.sessions for turn in session}
    able = [
        Planted(question=question.text, answers=tuple(texts[turn] for turn in sorted(question.evidence)))
        for question in talk.questions
        if question.category in (1, 2, 4)
    ]
    return able[:: max(1, len(able) // most)][:most]


def show(rows: Sequence[Figures]) -> None:
    """Print one table."""
    table = Table(title="The prompt against one that keeps everything (estimated tokens)")
    for column in (
        "conversation",
        "turns",
        "last: kept",
        "ours",
        "smaller",
        "besides fixed",
        "all",
        "in prompt",
        "or a search",
    ):
        table.add_column(column, justify="left" if column == "conversation" else "right")
    for row in rows:
        table.add_row(
            row.name,
            str(row.turns),
            f"{row.kept_last:,}",
            f"{row.shown_last:,}",
            f"{row.smaller_last:.1%}",
            f"{row.smaller_besides:.1%}",
            f"{row.smaller_all:.1%}",
            f"{row.in_prompt} of {row.asked}",
            f"{row.searchable} of {row.asked}",
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)


async def measure(arguments: argparse.Namespace) -> list[Figures]:
    """The conversation with tools, then those of the files."""
    configure_logs("WARNING")
    clock = SetClock()
    made, planted = tool_talk(arguments.turns)
    steps = [(step, clock.time + number * _PACE) for number, step in enumerate(made)]
    rows = [await measured("with tools", steps, planted, tools=TOOLS)]
    for path in arguments.data:
        talk = read_talk(path)
        planted = questions_of(talk, arguments.questions)
        rows.append(await measured(path.stem, steps_of(talk), planted, speakers=speakers_of(talk)))
    return rows


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100, help="of the made-up conversation with tools")
    parser.add_argument("--data", type=Path, action="append", default=[], metavar="FILE", help="may be repeated")
    parser.add_argument("--questions", type=int, default=50, help="asked of each file, at most")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    if arguments.turns < _STEPS_SHOWN:
        parser.error(f"--turns: at least {_STEPS_SHOWN}, so that every planted fact finds its place")
    rows = asyncio.run(measure(arguments))
    show(rows)
    if arguments.json:
        content = [
            {
                **asdict(row),
                "smaller_last": row.smaller_last,
                "smaller_besides": row.smaller_besides,
                "smaller_all": row.smaller_all,
            }
            for row in rows
        ]
        arguments.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
