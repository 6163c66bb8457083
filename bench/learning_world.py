"""A whole application for measuring what it learns: real store, real embedder, and a chat model that only listens.

Invariant: what is learned comes through the door that messages come through, with nothing added for the benchmark.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stand_ins import Nowhere

from bot.agent import Agent
from bot.chat import Conversation, IncomingMessage
from bot.handler import ChatHandler
from bot.offline import OfflineModel
from bot.tool_table import toolbox_for
from memory.embedding import MiniLmEmbedder
from memory.messages import ModelRequest, ModelResponse, StopReason, TextPart, Usage
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_person
from memory.ports import ChatModel, OnText
from memory.records import Fact
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class SetClock:
    """A clock that stands where it was set."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        """The moment it was set to."""
        return self.time


class Listener:
    """A chat model that answers with what it was given, calls no tool, and keeps the requests."""

    name = "listener"

    def __init__(self) -> None:
        self.reply = "I see."
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """The reply, with token counts as a service would give them."""
        self.requests.append(request)
        return ModelResponse(
            parts=(TextPart(text=self.reply),),
            stop_reason=StopReason.END_TURN,
            model=self.name,
            usage=Usage(input_tokens=4_000, output_tokens=20),
        )

    async def close(self) -> None:
        """Nothing is held."""


class Watched:
    """Another model, every request to which is kept."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name
        self.exchanges: list[tuple[ModelRequest, ModelResponse]] = []

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelResponse:
        """The other model's answer."""
        response = await self._model.complete(request, on_text=on_text)
        self.exchanges.append((request, response))
        return response

    async def close(self) -> None:
        """Close the other model."""
        await self._model.close()


def memory_model(environment: Mapping[str, str] = os.environ) -> ChatModel:
    """Claude where a key or an address is set, else the rules that answer without one."""
    key, address = environment.get("ANTHROPIC_API_KEY"), environment.get("ANTHROPIC_BASE_URL")
    if not key and not address:
        return OfflineModel()
    from bot.config import Settings
    from bot.llm import ClaudeModel

    settings = Settings()
    return ClaudeModel(
        model=settings.memory_model, api_key=key or "none", base_url=address, deadline=settings.model_deadline_seconds
    )


@dataclass(slots=True, kw_only=True)
class LearningWorld:
    """An application that is running. ``listener`` and ``memory`` are its two models."""

    system: MemorySystem
    handler: ChatHandler
    clock: SetClock
    listener: Listener
    memory: Watched
    said: int = 0

    async def say(self, words: Mapping[str, str]) -> None:
        """Let people speak, each once, and wait until everything that follows from it is done.

        Args:
            words: what each person says.
        """
        self.clock.time += timedelta(minutes=1)
        for who, text in words.items():
            self.said += 1
            await self.handler.accept(
                IncomingMessage(
                    id=str(self.said),
                    conversation=Conversation(platform="console", key=f"console:{who}:dm", audience="dm"),
                    person=f"console:{who}",
                    author_name="Sam",
                    text=text,
                    sent_at=self.clock.time,
                )
            )
        await self.handler.idle()
        await self.system.settle()

    async def facts(self, who: str) -> list[Fact]:
        """What is known of somebody now."""
        return await self.system.stores.facts.within(reach_of_person(f"console:{who}"))


@asynccontextmanager
async def learning_world(database: Path, model: ChatModel) -> AsyncIterator[LearningWorld]:
    """Run an application on a database file.

    Args:
        database: where it is, or will be.
        model: the memory model.
    """
    parameters, clock, counter = MemoryParameters(), SetClock(), TiktokenCounter()
    watched, listener = Watched(model), Listener()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(watched.close)
        embedder = MiniLmEmbedder()
        stack.push_async_callback(embedder.close)
        system = await stack.enter_async_context(
            open_memory(
                database_url=f"sqlite:///{database}",
                embedder=embedder,
                counter=counter,
                memory_model=watched,
                parameters=parameters,
                clock=clock,
            )
        )
        toolbox = toolbox_for(parameters)
        agent = Agent(model=listener, toolbox=toolbox, counter=counter, secret=b"bench")
        handler = ChatHandler(system=system, agent=agent, clock=clock)
        handler.attach({Nowhere.platform: Nowhere()})
        handler.open()
        yield LearningWorld(system=system, handler=handler, clock=clock, listener=listener, memory=watched)
        await handler.drain(5)


async def snapshots(
    world: LearningWorld, scripts: Mapping[str, Sequence[str]], *, shown: Callable[[str], None] = lambda _: None
) -> dict[str, list[list[Fact]]]:
    """Play what people say, all first messages, then all second ones; what is known of each after each message.

    Args:
        scripts: what each person says, in order.
        shown: told of the progress.
    """
    known: dict[str, list[list[Fact]]] = {who: [] for who in scripts}
    for step in range(max(map(len, scripts.values()))):
        speaking = {who: says[step] for who, says in scripts.items() if step < len(says)}
        shown(f"message {step + 1}: {len(speaking)} people")
        await world.say(speaking)
        for who in speaking:
            known[who].append(await world.facts(who))
    return known
