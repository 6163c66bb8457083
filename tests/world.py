"""A whole application on fakes at its seams, for tests that talk to it as people do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.agent import Agent
from bot.budgets import Budgets
from bot.chat import Conversation, IncomingMessage
from bot.following import Following
from bot.handler import ChatHandler
from bot.listener import Listener
from bot.measures import Measures
from bot.reminders import Reminders
from bot.speaking import SpeakingRules
from bot.tool_table import toolbox_for
from bot.tools import Tool
from bot.tools_channel import ChannelReading
from memory.mirror.process import MirrorAddress
from memory.parameters import MemoryParameters
from memory.person import PersonMemory
from memory.policy.limits import Limit
from memory.ports import ChatModel, Embedder, Sleep, TokenCounter
from memory.system import MemorySystem, open_memory
from tests.fakes import FakeClock, HashEmbedder, RecordingChannel, ScriptedModel, WordTokenCounter
from tests.new_database import database_in


def dm(name: str) -> Conversation:
    """The one-to-one chat of a person on the console."""
    return Conversation(platform="console", key=f"console:{name}:dm", audience="dm")


@dataclass(slots=True, kw_only=True)
class World:
    """An application that is running."""

    system: MemorySystem
    handler: ChatHandler
    reminders: Reminders
    listener: Listener
    following: Following
    channel: RecordingChannel
    model: ScriptedModel
    memory_model: ScriptedModel
    clock: FakeClock
    said: int = field(default=0)

    def rule(self, rules: SpeakingRules) -> None:
        """From now on the bot speaks by these rules."""
        self.listener = Listener(system=self.system, rules=rules, clock=self.clock, refusals=self.handler.refusals)

    def incoming(
        self, text: str, *, who: str = "ann", where: Conversation | None = None, message_id: str | None = None
    ) -> IncomingMessage:
        """A message of somebody, now."""
        self.said += 1
        return IncomingMessage(
            id=message_id or f"{self.clock.now().isoformat()}-{self.said}",
            conversation=where or dm(who),
            person=f"console:{who}",
            author_name=who.capitalize(),
            text=text,
            sent_at=self.clock.now(),
        )

    async def say(self, text: str, *, who: str = "ann", where: Conversation | None = None) -> str:
        """Say something, wait until everything that follows from it is done, and return the reply."""
        before = len(self.channel.sent)
        await self.handler.accept(self.incoming(text, who=who, where=where))
        await self.handler.idle()
        await self.system.settle()
        [reply] = self.channel.texts[before:]
        return reply

    def memory(self, who: str = "ann", where: Conversation | None = None) -> PersonMemory:
        """The memory of somebody's conversation."""
        place = where or dm(who)
        return self.system.conversation(
            person=f"console:{who}", audience=place.audience, conversation=place.key, community=place.community
        )


@asynccontextmanager
async def running(
    folder: Path,
    *,
    model: ScriptedModel | None = None,
    memory_model: ScriptedModel | None = None,
    chat_model: ChatModel | None = None,
    clock: FakeClock | None = None,
    counter: TokenCounter | None = None,
    channel: RecordingChannel | None = None,
    parameters: MemoryParameters | None = None,
    rules: SpeakingRules | None = None,
    embedder: Embedder | None = None,
    sleep: Sleep = asyncio.sleep,
    drafts: bool = True,
    extra_tools: Sequence[Tool] = (),
    served_tools: Callable[[], Sequence[Tool]] = tuple,
    start: bool = True,
    limits: Mapping[Limit, int] | None = None,
    owners: frozenset[str] = frozenset(),
    admins_exempt: bool = True,
    measures: Measures | None = None,
    mirror: MirrorAddress | None = None,
    notes_folder: Path | None = None,
) -> AsyncIterator[World]:
    """Run an application on the database in a folder; run it again on the same folder for a restart.

    Args:
        folder: where the database is.
        model: the scripted chat model, which keeps the requests.
        memory_model: the scripted model that looks after memory.
        chat_model: another chat model in place of the scripted one.
        rules: when the bot speaks.
        sleep: waits between two drafts of an answer.
        drafts: whether answers are shown while they are written.
        embedder: another than the one that hashes words.
        extra_tools: tools offered besides those of the preset.
        served_tools: those of servers.
        start: whether to take up what was left and begin to answer.
        limits, owners, admins_exempt: as ``Budgets`` takes them.
        measures: where turns are counted.
        mirror: where memory is mirrored.
        notes_folder: where files for people are written.
    """
    clock = clock or FakeClock()
    counter = counter or WordTokenCounter()
    parameters = parameters or MemoryParameters()
    model = model or ScriptedModel()
    memory_model = memory_model or ScriptedModel(default="A digest.")
    channel = channel or RecordingChannel()
    async with open_memory(
        database_url=await database_in(folder),
        embedder=embedder or HashEmbedder(),
        counter=counter,
        memory_model=memory_model,
        parameters=parameters,
        clock=clock,
        mirror=mirror,
        notes_folder=notes_folder,
    ) as system:
        reading = ChannelReading(system)
        reading.attach({channel.platform: channel})
        agent = Agent(
            model=chat_model or model,
            toolbox=toolbox_for(parameters, (*reading.tools, *extra_tools), served_tools),
            counter=counter,
            secret=b"test",
            measures=measures,
        )
        budgets = Budgets(
            system=system,
            clock=clock,
            zone=parameters.zone,
            limits=limits,
            owners=owners,
            admins_exempt=admins_exempt,
        )
        handler = ChatHandler(
            system=system, agent=agent, clock=clock, sleep=sleep, drafts=drafts, budgets=budgets, measures=measures
        )
        handler.attach({channel.platform: channel})
        reminders = Reminders(system=system, clock=clock, sweep_seconds=5)
        reminders.attach({channel.platform: channel})
        if start:
            await handler.recover()
            handler.open()
        yield World(
            system=system,
            handler=handler,
            listener=Listener(system=system, rules=rules or SpeakingRules(), clock=clock, refusals=handler.refusals),
            reminders=reminders,
            following=Following(system=system, accept=handler.accept, clock=clock),
            channel=channel,
            model=model,
            memory_model=memory_model,
            clock=clock,
        )
        await handler.drain(5)
