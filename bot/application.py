"""The application: the parts that every way of running shares, and how they are made.

Invariant: nothing is built before the settings are checked, and everything opened here is closed here, in the
opposite order.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from bot.action_table import ACTION_TABLE
from bot.actions import Actions
from bot.agent import Agent
from bot.backups import Backups
from bot.budgets import Budgets
from bot.chat import ChannelAdapter
from bot.circuit_breaker import CircuitBreaker
from bot.command_table import COMMAND_TABLE
from bot.commands import Commands, Services
from bot.config import Settings
from bot.fair_slots import FairSlots, QueuedModel
from bot.following import Following
from bot.handler import ChatHandler
from bot.last_seen import LastSeen
from bot.listener import Listener
from bot.look_back import LookBack
from bot.measures import Measures
from bot.models import Models
from bot.reminders import Reminders
from bot.run_time_settings import take_up
from bot.speaking import SpeakingRules
from bot.tool_table import toolbox_for
from bot.tools_channel import ChannelReading
from bot.tools_mcp import McpServers, served_tools
from memory.embedding import MiniLmEmbedder, MiniLmTokenEmbedder
from memory.multilingual import MultilingualEmbedder
from memory.ports import Clock
from memory.system import MemorySystem, open_memory
from memory.tokens import TiktokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The parts that every way of running shares."""

    settings: Settings
    system: MemorySystem
    handler: ChatHandler
    reading: ChannelReading
    servers: McpServers
    reminders: Reminders
    listener: Listener
    following: Following
    commands: Commands
    actions: Actions
    backups: Backups | None
    clock: Clock
    last_seen: LastSeen
    look_back: LookBack
    measures: Measures
    slots: FairSlots
    breakers: tuple[CircuitBreaker, ...]

    def attach(self, channels: Mapping[str, ChannelAdapter]) -> None:
        """Say how answers travel: adapters by platform, or by conversation key where one serves a single one."""
        for part in (self.handler, self.reminders, self.reading):
            part.attach(channels)


@asynccontextmanager
async def open_application(settings: Settings, *, clock: Clock) -> AsyncIterator[Application]:
    """Build the application, and close it at the end of the context.

    Args:
        settings: checked settings.
        clock: where the time comes from.

    Raises:
        ConfigurationError: the file of MCP_CONFIG cannot be used.
        StorageError: the database cannot be used.
    """
    async with AsyncExitStack() as stack:
        slots, measures = FairSlots(settings.parallel_model_calls), Measures()
        models = Models(settings, clock, measures)
        chat_model = QueuedModel(models.chat(), slots)
        stack.push_async_callback(chat_model.close)
        memory_model = QueuedModel(models.of(settings.memory_model), slots)
        stack.push_async_callback(memory_model.close)
        embedder = embedder_of(settings)
        stack.push_async_callback(embedder.close)
        counter = TiktokenCounter()
        system = await stack.enter_async_context(
            open_memory(
                database_url=settings.database_address,
                embedder=embedder,
                counter=counter,
                memory_model=memory_model,
                parameters=settings.memory_parameters,
                clock=clock,
                notes_folder=settings.data_dir / "notes",
                notes_model=memory_model if settings.anthropic_api_key else None,
                mirror=settings.mirror,
            )
        )
        await take_up(settings, system)
        learned = await system.stores.calibration.load(chat_model.name)
        if learned is not None:
            ratio, samples = learned
            counter.resume(ratio=ratio, samples=samples)
        reading = ChannelReading(system, settings.attachment_limits)
        servers = served_tools(settings.mcp_config, counter)
        agent = Agent(
            model=chat_model,
            toolbox=toolbox_for(settings.memory_parameters, reading.tools, servers.tools),
            counter=counter,
            secret=_secret(settings),
            measures=measures,
        )
        handler = _handler(settings, system, agent, clock=clock, measures=measures)
        commands = _commands(settings, system, clock)
        rules = SpeakingRules(access=settings.access, mode=settings.channel_mode, answer_bots=settings.answer_bots)
        yield Application(
            settings=settings,
            system=system,
            handler=handler,
            listener=Listener(system=system, rules=rules, clock=clock, refusals=handler.refusals),
            reading=reading,
            servers=servers,
            last_seen=LastSeen(system=system, clock=clock, reach=timedelta(minutes=settings.back_fill_minutes)),
            look_back=LookBack(system=system, clock=clock, reach=timedelta(days=settings.look_back_days)),
            measures=measures,
            slots=slots,
            breakers=tuple(models.breakers),
            reminders=Reminders(system=system, clock=clock, sweep_seconds=settings.reminder_sweep_seconds),
            following=Following(system=system, accept=handler.accept, clock=clock),
            commands=commands,
            actions=Actions(ACTION_TABLE, commands),
            backups=_backups(settings, clock),
            clock=clock,
        )


def _handler(
    settings: Settings, system: MemorySystem, agent: Agent, *, clock: Clock, measures: Measures
) -> ChatHandler:
    return ChatHandler(
        system=system,
        agent=agent,
        clock=clock,
        admin_reads_dms=settings.slack_admin_reads_dms,
        attachment_limits=settings.attachment_limits,
        drafts=settings.stream_replies,
        measures=measures,
        budgets=Budgets(
            system=system,
            clock=clock,
            zone=settings.memory_parameters.zone,
            limits=settings.limits,
            owners=settings.owners,
            admins_exempt=settings.limits_spare_admins,
        ),
    )


def _commands(settings: Settings, system: MemorySystem, clock: Clock) -> Commands:
    services = Services(
        system=system,
        settings=settings,
        clock=clock,
        owners=settings.owners,
        admin_reads_dms=settings.slack_admin_reads_dms,
        channel_mode=settings.channel_mode,
    )
    return Commands(COMMAND_TABLE, services)


def _backups(settings: Settings, clock: Clock) -> Backups | None:
    file = settings.database_file
    if settings.backup_dir is None or file is None:
        return None
    every = timedelta(hours=settings.backup_every_hours)
    return Backups(file, settings.backup_dir, every=every, keep=settings.backup_keep, clock=clock)


def embedder_of(settings: Settings) -> MiniLmEmbedder | MultilingualEmbedder:
    """The embedder that is set; whoever asks for it closes it."""
    if settings.embedder == "multilingual":
        return MultilingualEmbedder()
    return MiniLmTokenEmbedder() if settings.late_interaction else MiniLmEmbedder()


def _secret(settings: Settings) -> bytes:
    """The key of the hash by which the model's service tells people apart: nobody else has the API key."""
    key = settings.anthropic_api_key
    return hashlib.sha256(key.get_secret_value().encode() if key else b"offline").digest()
