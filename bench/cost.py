"""What learning costs: model calls and tokens for an exchange, and how much of each prompt can be cached.

Run it as ``python bench/cost.py``, or with ``--data FILE`` on a conversation in the shape of LoCoMo; see
docs/learning.md for what the rows mean.

Invariant: what is counted are the requests that the application makes, as they would go over the wire.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any

from learning import load
from learning_world import LearningWorld, learning_world, memory_model
from rich.console import Console
from rich.table import Table

from bot.llm_wire import request_body
from bot.logs import configure_logs
from memory.messages import ModelRequest
from memory.tokens import TiktokenCounter

_FIRST_COUNTED = 4  # turns before are the start of a conversation, when there is little to cache
_MOST_CALLS = 1.3
_LEAST_CACHEABLE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The figures of one conversation. Tokens as the counter estimates them.

    Attributes:
        exchanges: how many there were.
        calls: calls of the memory model for an exchange, by task.
        tokens_in, tokens_out: of these calls, for an exchange.
        chat_tokens: input tokens of the chat model for an exchange.
        cacheable: share of these, from the fifth exchange on, that stand before the last cache mark.
        read: share of these that the exchange before had marked already, so that they are read from the cache.
        facts: facts known at the end.
    """

    name: str
    exchanges: int
    calls: dict[str, float]
    tokens_in: float
    tokens_out: float
    chat_tokens: float
    cacheable: float
    read: float
    facts: int

    @property
    def all_calls(self) -> float:
        """Calls of the memory model for an exchange, the digests of what left the window included."""
        return sum(self.calls.values())


def exchanges_of(file: Path) -> Iterator[tuple[str, str]]:
    """What the first speaker of a conversation said, and what the second one answered."""
    conversation: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["conversation"]
    numbers = sorted(int(key[8:]) for key in conversation if key.startswith("session_") and key[8:].isdecimal())
    turns = [turn for number in numbers for turn in conversation[f"session_{number}"]]
    spoken = [
        (speaker == conversation["speaker_a"], " ".join(turn["text"] for turn in of_one))
        for speaker, of_one in groupby(turns, key=lambda turn: turn["speaker"])
    ]
    for (is_person, said), (_, answer) in pairwise(spoken):
        if is_person:
            yield said, answer


def small_talk() -> Iterator[tuple[str, str]]:
    """Messages that hold nothing worth learning."""
    for item in load("junk"):
        yield item["say"], "I see."


async def measure(name: str, exchanges: Sequence[tuple[str, str]]) -> Cost:
    """Hold a conversation with an application on a new database, and count."""
    with tempfile.TemporaryDirectory() as folder:
        async with learning_world(Path(folder) / "cost.db", memory_model()) as world:
            for said, answer in exchanges:
                world.listener.reply = answer
                await world.say({"sam": said})
            return await asyncio.to_thread(_counted, name, len(exchanges), world, len(await world.facts("sam")))


def _counted(name: str, exchanges: int, world: LearningWorld, facts: int) -> Cost:
    counter = TiktokenCounter()
    calls = Counter(request.system[0].name for request, _ in world.memory.exchanges)
    tokens_in = sum(_Marked.of(request, counter).total for request, _ in world.memory.exchanges)
    tokens_out = sum(counter.count(response.message.text) for _, response in world.memory.exchanges)
    chat = [_Marked.of(request, counter) for request in world.listener.requests]
    late = list(pairwise(chat))[_FIRST_COUNTED - 1 :]
    total = sum(now.total for _, now in late) or 1
    return Cost(
        name=name,
        exchanges=exchanges,
        calls={task: count / exchanges for task, count in calls.items()},
        tokens_in=tokens_in / exchanges,
        tokens_out=tokens_out / exchanges,
        chat_tokens=sum(request.total for request in chat) / exchanges,
        cacheable=sum(now.up_to(now.last_mark) for _, now in late) / total,
        read=sum(now.up_to(before.shared_mark(now)) for before, now in late) / total,
        facts=facts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marked:
    """A request as a row of pieces, in the order in which they are cached.

    Attributes:
        pieces: tools, system blocks and message blocks as JSON, cache marks left out.
        sizes: their tokens.
        marks: after how many pieces a cache mark stands.
    """

    pieces: tuple[str, ...]
    sizes: tuple[int, ...]
    marks: tuple[int, ...]

    @classmethod
    def of(cls, request: ModelRequest, counter: TiktokenCounter) -> _Marked:
        """Read a request."""
        blocks = list(_blocks(request))
        pieces = tuple(_as_json({key: block[key] for key in block if key != "cache_control"}) for block in blocks)
        return cls(
            pieces=pieces,
            sizes=tuple(map(counter.count, pieces)),
            marks=tuple(number for number, block in enumerate(blocks, start=1) if "cache_control" in block),
        )

    @property
    def total(self) -> int:
        """Tokens of the whole request."""
        return sum(self.sizes)

    @property
    def last_mark(self) -> int:
        """After how many pieces the last mark stands."""
        return max(self.marks, default=0)

    def up_to(self, pieces: int) -> int:
        """Tokens of the first pieces."""
        return sum(self.sizes[:pieces])

    def shared_mark(self, later: _Marked) -> int:
        """The last mark up to which a later request begins as this one."""
        return max((mark for mark in self.marks if later.pieces[:mark] == self.pieces[:mark]), default=0)


def _blocks(request: ModelRequest) -> Iterator[dict[str, Any]]:
    body = request_body(request, model="")
    yield from body.get("tools", ())
    yield from body.get("system", ())
    for message in body["messages"]:
        yield from message["content"]


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _show(costs: Sequence[Cost]) -> None:
    table = Table(title="What learning costs, for one exchange")
    table.add_column("")
    for cost in costs:
        table.add_column(cost.name, justify="right")
    tasks = sorted({task for cost in costs for task in cost.calls})
    rows = [("exchanges", [str(cost.exchanges) for cost in costs])]
    rows += [("calls of the memory model", [f"{cost.all_calls:.2f}" for cost in costs])]
    rows += [(f"  {task}", [f"{cost.calls.get(task, 0.0):.2f}" for cost in costs]) for task in tasks]
    rows += [("memory model: tokens in", [f"{cost.tokens_in:.0f}" for cost in costs])]
    rows += [("memory model: tokens out", [f"{cost.tokens_out:.0f}" for cost in costs])]
    rows += [("chat model: tokens in", [f"{cost.chat_tokens:.0f}" for cost in costs])]
    rows += [("  of these cacheable", [f"{cost.cacheable:.1%}" for cost in costs])]
    rows += [("  of these read from the cache", [f"{cost.read:.1%}" for cost in costs])]
    rows += [("facts known at the end", [str(cost.facts) for cost in costs])]
    for heading, figures in rows:
        table.add_row(heading, *figures)
    Console().print(table)


async def _measure_all(data: Path | None, most: int) -> list[Cost]:
    costs = [await measure("small talk", list(small_talk()))]
    if data is not None:
        costs.append(await measure(data.stem, list(islice(exchanges_of(data), most))))
    return costs


def main() -> int:
    """Measure and print; 1 where it costs more than it may."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="a conversation in the shape of LoCoMo")
    parser.add_argument("--exchanges", type=int, default=200, help="how many of its exchanges at most")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    configure_logs("ERROR")
    costs = asyncio.run(_measure_all(arguments.data, arguments.exchanges))
    _show(costs)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(cost) for cost in costs], indent=2))
    return int(any(cost.all_calls > _MOST_CALLS or cost.cacheable < _LEAST_CACHEABLE for cost in costs))


if __name__ == "__main__":
    sys.exit(main())
