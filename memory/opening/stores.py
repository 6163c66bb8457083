"""Makes every store of an installation.

Invariant: a store that two others share is one object.
"""

from __future__ import annotations

from memory.database import Database
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.parameters import MemoryParameters
from memory.policy.tier_limits import cold_retention, hot_limits, tree_limits, warm_limits
from memory.ports import Clock, Embedder, TextIndex, TokenCounter
from memory.services import Stores
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


def open_stores(
    database: Database,
    text_index: TextIndex,
    *,
    embedder: Embedder,
    counter: TokenCounter,
    ids: IdSource,
    parameters: MemoryParameters,
    clock: Clock,
) -> Stores:
    """Every store, on one database.

    Args:
        database: where the rows are.
        text_index: full text, in the same database.
        embedder: makes vectors.
        counter: counts tokens, for limits and logs.
        ids: where ids come from.
        parameters: every number.
        clock: where the time comes from.
    """
    search = SearchStore(database, text_index, embedder, ids, new_index=FaissIndex)
    revisions = FactRevisionStore(database, ids)
    procedure_versions = ProcedureVersionStore(database)
    reply_sources = ReplySourceStore(database)
    tree_changes = TreeChangeStore(database, ids)
    tier_days = TierDayStore(database, zone=parameters.zone)
    tree = TreeStore(database, tree_changes, clock, limits=tree_limits(parameters))
    return Stores(
        sessions=SessionStore(database, ids),
        recall=RecallStore(database, search, ids),
        blocks=BlockStore(database, counter, limit=parameters.core_memory_limit),
        archival=ArchivalStore(database, search, ids, clock, fading=parameters.fading),
        facts=FactStore(database, search, revisions, ids=ids, counter=counter, clock=clock),
        fact_revisions=revisions,
        journal=JournalStore(database, search, ids),
        working=WorkingStore(database),
        hot=HotStore(database, limits=hot_limits(parameters)),
        warm=WarmStore(database, search, tree, tier_days, limits=warm_limits(parameters)),
        cold=ColdStore(database, search, tree, retention=cold_retention(parameters)),
        tree=tree,
        tree_changes=tree_changes,
        consolidations=ConsolidationStore(database),
        notes_read=NotesReadStore(database),
        tier_days=tier_days,
        episodes=EpisodeStore(database, search, ids),
        procedures=ProcedureStore(database, search, procedure_versions, ids),
        procedure_versions=procedure_versions,
        reminders=ReminderStore(database, ids),
        preferences=PreferenceStore(database, zone=parameters.zone),
        reply_sources=reply_sources,
        answer_posts=AnswerPostStore(database),
        inbox=InboxStore(database, ids),
        summaries=SummaryStore(database, counter, versions=parameters.summary_versions),
        standing=StandingReader(database, zone=parameters.zone),
        jobs=JobStore(database, ids),
        audit=AuditStore(database, ids, clock),
        consent=ConsentStore(database),
        closures=ClosureStore(database),
        links=LinkStore(database, reply_sources),
        search=search,
        calibration=CalibrationStore(database),
        parameter_changes=ParameterChangeStore(database, ids),
        channels=ChannelStore(database),
        usage=UsageStore(database),
        limits=CommunityLimitStore(database),
        last_seen=LastSeenStore(database),
        kept_posts=KeptPostStore(database),
        mirror_changes=MirrorChangeStore(database, ids, clock),
    )
