"""Makes every store and process of an installation.

Invariant: the only place that says what rests on what.
"""

from __future__ import annotations

from typing import Any

from memory.channel_talk import ChannelTalk
from memory.database import Database
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.mirror.process import MirrorAddress, MirrorProcess
from memory.note_files import NoteFiles
from memory.parameters import MemoryParameters, ParametersInForce
from memory.policy.tier_limits import cold_retention, hot_limits, tree_limits, warm_limits
from memory.ports import ChatModel, Clock, Embedder, TextIndex, TokenCounter
from memory.process_lock import ProcessLock
from memory.processes.consolidator import Consolidator
from memory.processes.daily_notes import DailyNotes
from memory.processes.digests import Digests
from memory.processes.episode_writer import WRITE_EPISODE, EpisodeWriter
from memory.processes.feedback import Feedback
from memory.processes.indexer import Indexer
from memory.processes.ingest import NoteIngest
from memory.processes.job_runner import JobRunner
from memory.processes.journaling import DIGEST_JOURNAL, Journaling
from memory.processes.learner import LEARN, Learner
from memory.processes.mirror_taking import MirrorTaking
from memory.processes.mirroring import MIRROR, Mirroring, without_mirror
from memory.processes.outbox import Outbox
from memory.processes.places import Places
from memory.processes.prompt_sizes import PromptSizes
from memory.processes.reconciler import Reconciler
from memory.processes.retraction import Retraction
from memory.processes.retriever import Retriever
from memory.processes.summarizer import CLOSE_SESSION, Summarizer
from memory.processes.tier_metrics import TierMeter
from memory.processes.times_asked import TimesAsked
from memory.processes.tree_rebuilder import TreeRebuilder
from memory.processes.tree_search import TreeSearch
from memory.processes.window import FOLD, Window
from memory.processes.written_pages import WrittenPages
from memory.services import Services, Stores
from memory.stores.answer_posts import AnswerPostStore
from memory.stores.archival import ArchivalStore
from memory.stores.audit import AuditStore
from memory.stores.block_sources import BlockSources
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
from memory.stores.fact_sources import FactSources
from memory.stores.fact_table import FactTable
from memory.stores.facts import FactStore
from memory.stores.hot import HotStore
from memory.stores.inbox import InboxStore
from memory.stores.jobs import JobStore
from memory.stores.journal import JournalStore
from memory.stores.journal_sources import JournalSources
from memory.stores.kept_posts import KeptPostStore
from memory.stores.last_seen import LastSeenStore
from memory.stores.links import LinkStore
from memory.stores.mirror_changes import MirrorChangeStore
from memory.stores.mirror_merge import MirrorMerge
from memory.stores.mirrored import stores_of, tables_of
from memory.stores.notes_read import NotesReadStore
from memory.stores.parameter_changes import ParameterChangeStore
from memory.stores.posts import PostStore
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


def open_services(
    database: Database,
    stores: Stores,
    *,
    memory_model: ChatModel,
    counter: TokenCounter,
    parameters: MemoryParameters,
    clock: Clock,
    ids: IdSource,
    process: ProcessLock,
    files: NoteFiles,
    notes_model: ChatModel | None,
    mirror: MirrorAddress | None,
) -> Services:
    """Build the processes over the stores.

    Args:
        database: the open database.
        stores: every store over it.
        memory_model: the model that looks after memory.
        counter, parameters, clock, ids: what they all share.
        process: tells what other processes on the database live.
        files: notes that people can read.
        notes_model: reads what people write there; None to read it by rule.
        mirror: where memory is mirrored; None for nowhere.
    """
    in_force = ParametersInForce(parameters)
    ingest = NoteIngest(
        database=database,
        files=files,
        warm=stores.warm,
        tree=stores.tree,
        read=stores.notes_read,
        consent=stores.consent,
        model=notes_model,
        in_force=in_force,
        clock=clock,
    )
    pages = WrittenPages(
        files=files,
        notes=DailyNotes(files=files, journal=stores.journal, in_force=in_force),
        hot=stores.hot,
        reports=stores.consolidations,
        in_force=in_force,
        clock=clock,
    )
    shared: dict[str, Any] = {
        "database": database,
        "jobs": stores.jobs,
        "model": memory_model,
        "counter": counter,
        "clock": clock,
    }
    log: dict[str, Any] = {"recall": stores.recall, "sessions": stores.sessions}
    journaling = Journaling(**shared, journal=stores.journal, in_force=in_force)
    window = Window(
        **shared,
        **log,
        journaling=journaling,
        working=stores.working,
        in_force=in_force,
        follow_ups=() if mirror is None else (MIRROR,),
    )
    indexer = Indexer(stores.search)
    mirroring = None
    if mirror is not None:
        mirroring = _mirroring(mirror, database, stores, indexer=indexer, ids=ids, clock=clock)
    summarizer = Summarizer(**shared, **log, summaries=stores.summaries, parameters=parameters)
    reconciler = Reconciler(
        facts=stores.facts, journal=stores.journal, warm=stores.warm, model=memory_model, parameters=parameters
    )
    learner = Learner(
        database=database,
        jobs=stores.jobs,
        recall=stores.recall,
        summaries=stores.summaries,
        reconciler=reconciler,
        model=memory_model,
        counter=counter,
        parameters=parameters,
    )
    episode_writer = EpisodeWriter(
        **shared,
        **log,
        parameters=parameters,
        facts=stores.facts,
        episodes=stores.episodes,
        procedures=stores.procedures,
        reconciler=reconciler,
    )
    runner = JobRunner(
        database=database,
        jobs=stores.jobs,
        handlers={
            FOLD: window.fold,
            CLOSE_SESSION: summarizer.close_session,
            LEARN: learner.learn,
            DIGEST_JOURNAL: journaling.digest,
            WRITE_EPISODE: episode_writer.write,
            MIRROR: without_mirror(database, stores.jobs) if mirroring is None else mirroring.after_conversation,
        },
        clock=clock,
        attempts=parameters.job_attempts,
        process=process,
    )
    tree_search = TreeSearch(
        tree=stores.tree, warm=stores.warm, hot=stores.hot, model=memory_model, in_force=in_force, clock=clock
    )
    return Services(
        database=database,
        stores=stores,
        tree_search=tree_search,
        retriever=Retriever(
            database=database,
            recall=stores.recall,
            archival=stores.archival,
            facts=stores.facts,
            episodes=stores.episodes,
            procedures=stores.procedures,
            tree_search=tree_search,
            search=stores.search,
            times=TimesAsked(
                facts=stores.facts,
                recall=stores.recall,
                journal=stores.journal,
                search=stores.search,
                sessions=stores.sessions,
                preferences=stores.preferences,
                clock=clock,
            ),
            clock=clock,
        ),
        feedback=Feedback(
            database=database,
            replies=stores.reply_sources,
            answer_posts=stores.answer_posts,
            inbox=stores.inbox,
            procedures=stores.procedures,
            sessions=stores.sessions,
            consent=stores.consent,
        ),
        window=window,
        journaling=journaling,
        prompt_sizes=PromptSizes(),
        jobs=runner,
        consolidator=_consolidator(
            database,
            stores,
            memory_model,
            in_force,
            pages=pages,
            ingest=ingest,
            counter=counter,
            clock=clock,
            ids=ids,
        ),
        pages=pages,
        ingest=ingest,
        tier_meter=TierMeter(
            hot=stores.hot,
            warm=stores.warm,
            cold=stores.cold,
            tree=stores.tree,
            days=stores.tier_days,
            consolidations=stores.consolidations,
            clock=clock,
        ),
        files=files,
        places=Places(database, stores.closures, clock),
        retraction=_retraction(database, stores, runner, pages=pages, counter=counter, clock=clock),
        indexer=indexer,
        counter=counter,
        in_force=in_force,
        clock=clock,
        ids=ids,
        talk=ChannelTalk(),
        outbox=Outbox(database=database, inbox=stores.inbox, consent=stores.consent, process=process, clock=clock),
        mirror=mirroring,
    )


def _mirroring(
    address: MirrorAddress,
    database: Database,
    stores: Stores,
    *,
    indexer: Indexer,
    ids: IdSource,
    clock: Clock,
) -> Mirroring:
    mirrored = stores_of(with_messages=address.with_messages)
    shared: dict[str, Any] = {
        "database": database,
        "changes": stores.mirror_changes,
        "hot": stores.hot,
        "tree": stores.tree,
    }
    return Mirroring(
        MirrorProcess(address, tables_of(mirrored)),
        **shared,
        taking=MirrorTaking(
            **shared,
            merge=MirrorMerge((*stores.imported, stores.recall), blocks=stores.blocks, search=stores.search),
            indexer=indexer,
        ),
        stores=mirrored,
        jobs=stores.jobs,
        ids=ids,
        clock=clock,
    )


def _consolidator(
    database: Database,
    stores: Stores,
    model: ChatModel,
    in_force: ParametersInForce,
    *,
    pages: WrittenPages,
    ingest: NoteIngest,
    counter: TokenCounter,
    clock: Clock,
    ids: IdSource,
) -> Consolidator:
    return Consolidator(
        database=database,
        hot=stores.hot,
        warm=stores.warm,
        cold=stores.cold,
        tree=stores.tree,
        facts=stores.facts,
        reports=stores.consolidations,
        rebuilder=TreeRebuilder(tree=stores.tree, warm=stores.warm, model=model, counter=counter, clock=clock),
        pages=pages,
        days=stores.tier_days,
        in_force=in_force,
        ids=ids,
        clock=clock,
        ingest=ingest,
    )


def _retraction(
    database: Database,
    stores: Stores,
    runner: JobRunner,
    *,
    pages: WrittenPages,
    counter: TokenCounter,
    clock: Clock,
) -> Retraction:
    """What follows edits and deletions. A new kind of memory that is made from messages gets its line here."""
    return Retraction(
        database=database,
        posts=PostStore(stores.recall, stores.search),
        inbox=stores.inbox,
        sessions=stores.sessions,
        facts=FactSources(FactTable(stores.search, stores.fact_revisions, counter), stores.fact_revisions),
        learned=(
            JournalSources(stores.search),
            stores.archival,
            stores.procedures,
            stores.warm,
            stores.hot,
            BlockSources(),
        ),
        asked_for=(stores.reminders,),
        replies=stores.reply_sources,
        answer_posts=stores.answer_posts,
        working=stores.working,
        digests=Digests(
            sessions=stores.sessions,
            summaries=stores.summaries,
            recall=stores.recall,
            episodes=stores.episodes,
            procedures=stores.procedures,
            jobs=stores.jobs,
        ),
        jobs=stores.jobs,
        runner=runner,
        pages=pages,
        counter=counter,
        clock=clock,
    )
