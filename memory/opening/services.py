"""Makes every process of an installation over its stores.

Invariant: nothing is begun here; ``Services.begin`` does that.
"""

from __future__ import annotations

from memory.channel_talk import ChannelTalk
from memory.mirror.process import MirrorAddress, MirrorProcess
from memory.opening.ground import Ground
from memory.opening.jobs import open_jobs, open_journaling, open_window
from memory.opening.mirroring import open_mirroring
from memory.opening.retraction import open_retraction
from memory.opening.tiers import open_consolidator, open_ingest, open_pages, open_tier_meter, open_tree_search
from memory.ports import ChatModel
from memory.processes.feedback import Feedback
from memory.processes.indexer import Indexer
from memory.processes.mirroring import Mirroring
from memory.processes.outbox import Outbox
from memory.processes.places import Places
from memory.processes.prompt_sizes import PromptSizes
from memory.processes.retriever import Retriever
from memory.processes.times_asked import TimesAsked
from memory.processes.tree_search import TreeSearch
from memory.services import Services
from memory.stores.mirrored import stores_of, tables_of


def open_services(ground: Ground, *, notes_model: ChatModel | None, mirror: MirrorAddress | None) -> Services:
    """Build the processes over the stores.

    Args:
        ground: what they rest on.
        notes_model: reads what people write in notes; None to read it by rule.
        mirror: where memory is mirrored; None for nowhere.
    """
    database, stores, clock = ground.database, ground.stores, ground.clock
    indexer = Indexer(stores.search)
    pages, ingest, tree_search = open_pages(ground), open_ingest(ground, notes_model), open_tree_search(ground)
    mirroring = None if mirror is None else _mirroring(ground, mirror, indexer)
    journaling = open_journaling(ground)
    window = open_window(ground, journaling=journaling, mirrored=mirroring is not None)
    runner = open_jobs(ground, window=window, journaling=journaling, mirroring=mirroring)
    return Services(
        database=database,
        stores=stores,
        tree_search=tree_search,
        retriever=_retriever(ground, tree_search),
        feedback=_feedback(ground),
        window=window,
        journaling=journaling,
        prompt_sizes=PromptSizes(),
        jobs=runner,
        consolidator=open_consolidator(ground, pages=pages, ingest=ingest),
        pages=pages,
        ingest=ingest,
        tier_meter=open_tier_meter(ground),
        files=ground.files,
        places=Places(database, stores.closures, clock),
        retraction=open_retraction(ground, runner=runner, pages=pages),
        indexer=indexer,
        counter=ground.counter,
        in_force=ground.in_force,
        clock=clock,
        ids=ground.ids,
        talk=ChannelTalk(),
        outbox=Outbox(
            database=database, inbox=stores.inbox, consent=stores.consent, process=ground.process, clock=clock
        ),
        mirror=mirroring,
    )


def _mirroring(ground: Ground, address: MirrorAddress, indexer: Indexer) -> Mirroring:
    mirrored = stores_of(with_messages=address.with_messages)
    return open_mirroring(ground, MirrorProcess(address, tables_of(mirrored)), mirrored, indexer=indexer)


def _retriever(ground: Ground, tree_search: TreeSearch) -> Retriever:
    stores = ground.stores
    times = TimesAsked(
        facts=stores.facts,
        recall=stores.recall,
        journal=stores.journal,
        search=stores.search,
        sessions=stores.sessions,
        preferences=stores.preferences,
        clock=ground.clock,
    )
    return Retriever(
        database=ground.database,
        recall=stores.recall,
        archival=stores.archival,
        facts=stores.facts,
        episodes=stores.episodes,
        procedures=stores.procedures,
        tree_search=tree_search,
        search=stores.search,
        times=times,
        clock=ground.clock,
    )


def _feedback(ground: Ground) -> Feedback:
    stores = ground.stores
    return Feedback(
        database=ground.database,
        replies=stores.reply_sources,
        answer_posts=stores.answer_posts,
        inbox=stores.inbox,
        procedures=stores.procedures,
        sessions=stores.sessions,
        consent=stores.consent,
    )
