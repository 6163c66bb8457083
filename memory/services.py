"""Every store and process of an installation, as two values that are handed around.

Invariant: built once, in ``memory/opening``.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from memory.channel_talk import ChannelTalk
from memory.database import Database
from memory.errors import EmbedderError
from memory.heap import give_back_freed_memory
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.note_files import NoteFiles
from memory.parameters import MemoryParameters, ParametersInForce
from memory.ports import Clock, TokenCounter
from memory.privacy import PersonalStore, Privacy
from memory.processes.consolidator import Consolidator
from memory.processes.feedback import Feedback
from memory.processes.importer import RestorableStore
from memory.processes.indexer import Indexer
from memory.processes.ingest import NoteIngest
from memory.processes.job_runner import JobRunner
from memory.processes.journaling import Journaling
from memory.processes.mirroring import Mirroring
from memory.processes.outbox import Outbox
from memory.processes.places import Places
from memory.processes.prompt_sizes import PromptSizes
from memory.processes.retraction import Retraction
from memory.processes.retriever import Retriever
from memory.processes.tier_metrics import TierMeter
from memory.processes.tree_search import TreeSearch
from memory.processes.window import Window
from memory.processes.written_pages import WrittenPages
from memory.stores.answer_posts import AnswerPostStore
from memory.stores.archival import ArchivalStore
from memory.stores.audit import AuditStore
from memory.stores.blocks import BlockStore
from memory.stores.calibration import CalibrationStore
from memory.stores.channels import ChannelStore
from memory.stores.closures import ClosureStore
from memory.stores.cold import ColdStore
from memory.stores.community_limits import CommunityLimitStore
from memory.stores.consent import ConsentStore
from memory.stores.consolidations import ConsolidationStore
from memory.stores.episodes import EpisodeStore
from memory.stores.fact_revisions import FactRevisionStore
from memory.stores.facts import FactStore
from memory.stores.hot import HotStore
from memory.stores.inbox import InboxStore
from memory.stores.jobs import JobStore
from memory.stores.journal import JournalStore
from memory.stores.kept_posts import KeptPostStore
from memory.stores.last_seen import LastSeenStore
from memory.stores.links import LinkStore
from memory.stores.mirror_changes import MirrorChangeStore
from memory.stores.notes_read import NotesReadStore
from memory.stores.parameter_changes import ParameterChangeStore
from memory.stores.preferences import PreferenceStore
from memory.stores.procedure_versions import ProcedureVersionStore
from memory.stores.procedures import ProcedureStore
from memory.stores.recall import RecallStore
from memory.stores.reminders import ReminderStore
from memory.stores.reply_sources import ReplySourceStore
from memory.stores.search import SearchStore
from memory.stores.sessions import SessionStore
from memory.stores.standing import StandingReader
from memory.stores.summaries import SummaryStore
from memory.stores.tier_days import TierDayStore
from memory.stores.tree import TreeStore
from memory.stores.tree_changes import TreeChangeStore
from memory.stores.usage import UsageStore
from memory.stores.warm import WarmStore
from memory.stores.working import WorkingStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Every store of an installation."""

    sessions: SessionStore
    recall: RecallStore
    blocks: BlockStore
    archival: ArchivalStore
    facts: FactStore
    fact_revisions: FactRevisionStore
    journal: JournalStore
    working: WorkingStore
    hot: HotStore
    warm: WarmStore
    cold: ColdStore
    tree: TreeStore
    tree_changes: TreeChangeStore
    consolidations: ConsolidationStore
    notes_read: NotesReadStore
    tier_days: TierDayStore
    episodes: EpisodeStore
    procedures: ProcedureStore
    procedure_versions: ProcedureVersionStore
    reminders: ReminderStore
    preferences: PreferenceStore
    reply_sources: ReplySourceStore
    answer_posts: AnswerPostStore
    inbox: InboxStore
    summaries: SummaryStore
    standing: StandingReader
    jobs: JobStore
    audit: AuditStore
    consent: ConsentStore
    closures: ClosureStore
    links: LinkStore
    search: SearchStore
    calibration: CalibrationStore
    parameter_changes: ParameterChangeStore
    channels: ChannelStore
    usage: UsageStore
    limits: CommunityLimitStore
    last_seen: LastSeenStore
    kept_posts: KeptPostStore
    mirror_changes: MirrorChangeStore

    @property
    def personal(self) -> tuple[PersonalStore, ...]:
        """The stores of people's data."""
        return (
            self.sessions,
            self.recall,
            self.blocks,
            self.archival,
            self.facts,
            self.fact_revisions,
            self.journal,
            self.working,
            self.hot,
            self.warm,
            self.tree,
            self.tree_changes,
            self.consolidations,
            self.notes_read,
            self.tier_days,
            self.episodes,
            self.procedures,
            self.procedure_versions,
            self.reminders,
            self.preferences,
            self.reply_sources,
            self.answer_posts,
            self.inbox,
            self.summaries,
            self.jobs,
            self.audit,
            self.consent,
            self.closures,
            self.usage,
            self.links,
            self.search,
            self.mirror_changes,  # the last, since what the others erase is noted there
        )

    @property
    def imported(self) -> tuple[RestorableStore, ...]:
        """The stores of an export but for recall, in the order in which they are put back; the tree counts entries."""
        return (
            self.sessions,
            self.blocks,
            self.archival,
            self.facts,
            self.fact_revisions,
            self.journal,
            self.working,
            self.hot,
            self.warm,
            self.tree,
            self.tree_changes,
            self.consolidations,
            self.episodes,
            self.procedures,
            self.procedure_versions,
            self.reminders,
            self.preferences,
            self.summaries,
            self.audit,
            self.consent,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What every person's memory shares."""

    database: Database
    stores: Stores
    retriever: Retriever
    tree_search: TreeSearch
    feedback: Feedback
    window: Window
    journaling: Journaling
    prompt_sizes: PromptSizes
    jobs: JobRunner
    consolidator: Consolidator
    pages: WrittenPages
    ingest: NoteIngest
    tier_meter: TierMeter
    files: NoteFiles
    retraction: Retraction
    places: Places
    indexer: Indexer
    counter: TokenCounter
    in_force: ParametersInForce
    clock: Clock
    ids: IdSource
    talk: ChannelTalk
    outbox: Outbox
    mirror: Mirroring | None

    @property
    def parameters(self) -> MemoryParameters:
        """The numbers in force now."""
        return self.in_force.current

    async def begin(self, privacy: Privacy) -> None:
        """Where memory is mirrored: note what changes here, and erase here who was erased elsewhere."""
        if self.mirror is not None:
            await self.mirror.watch(erase_due=privacy.erase_due)

    async def close(self) -> None:
        """End what runs in the background, then close the database."""
        await self.jobs.close()
        if self.mirror is not None:
            await self.mirror.close()
        await self.indexer.close()
        await self.database.close()

    async def warm_up(self) -> None:
        """Load the heavy libraries, off the event loop; what fails here fails where it is needed, with its sentence."""
        await asyncio.to_thread(self.counter.count, "warm")
        await asyncio.to_thread(FaissIndex, 1)
        with suppress(EmbedderError):
            await self.stores.search.embed_query("warm")
        await asyncio.to_thread(give_back_freed_memory)
