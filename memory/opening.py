"""Makes every store of an installation.

Invariant: the only place that says which store rests on which other.
"""

from __future__ import annotations

from memory.database import Database
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.parameters import MemoryParameters
from memory.ports import Clock, Embedder, TextIndex, TokenCounter
from memory.services import Stores
from memory.stores.archival import ArchivalStore
from memory.stores.audit import AuditStore
from memory.stores.blocks import BlockStore
from memory.stores.calibration import CalibrationStore
from memory.stores.consent import ConsentStore
from memory.stores.fact_revisions import FactRevisionStore
from memory.stores.facts import FactStore
from memory.stores.inbox import InboxStore
from memory.stores.jobs import JobStore
from memory.stores.journal import JournalStore
from memory.stores.recall import RecallStore
from memory.stores.reply_sources import ReplySourceStore
from memory.stores.search import SearchStore
from memory.stores.sessions import SessionStore
from memory.stores.summaries import SummaryStore


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
    return Stores(
        sessions=SessionStore(database, ids),
        recall=RecallStore(database, search, ids),
        blocks=BlockStore(database, counter, limit=parameters.core_memory_limit),
        archival=ArchivalStore(database, search, ids, clock),
        facts=FactStore(database, search, revisions, ids=ids, counter=counter, clock=clock),
        fact_revisions=revisions,
        journal=JournalStore(database, ids),
        reply_sources=ReplySourceStore(database),
        inbox=InboxStore(database, ids),
        summaries=SummaryStore(database, counter, versions=parameters.summary_versions),
        jobs=JobStore(database, ids),
        audit=AuditStore(database, ids, clock),
        consent=ConsentStore(database),
        search=search,
        calibration=CalibrationStore(database),
    )
