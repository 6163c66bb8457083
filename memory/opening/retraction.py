"""Makes what follows edits and deletions of messages.

Invariant: every kind of memory that is made from messages is named here.
"""

from __future__ import annotations

from memory.opening.ground import Ground
from memory.processes.digests import Digests
from memory.processes.job_runner import JobRunner
from memory.processes.retraction import Retraction
from memory.processes.written_pages import WrittenPages
from memory.stores.block_sources import BlockSources
from memory.stores.fact_sources import FactSources
from memory.stores.fact_table import FactTable
from memory.stores.journal_sources import JournalSources
from memory.stores.posts import PostStore


def open_retraction(ground: Ground, *, runner: JobRunner, pages: WrittenPages) -> Retraction:
    """What takes back all that was made of a message.

    Args:
        ground: what it rests on.
        runner: learns anew from words that were edited.
        pages: are written anew without the old words.
    """
    stores, counter = ground.stores, ground.counter
    return Retraction(
        database=ground.database,
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
        clock=ground.clock,
    )
