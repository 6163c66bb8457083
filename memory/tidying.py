"""What is let go of because it was over long ago, and what an earlier version left to be done; run every hour.

Invariant: each piece of it is a transaction, and does nothing more when it is run again.
"""

from __future__ import annotations

from datetime import timedelta

from memory.privacy import Privacy
from memory.services import Services

_THREADS_FOLLOWED = timedelta(days=30)
_FINISHED_JOBS_KEPT = timedelta(days=30)  # their keys keep the same work from being done twice
_FINISHED_REMINDERS_KEPT = timedelta(days=30)
_IDLE = timedelta(days=1)  # a document read later than this is never forgotten yet
_USAGE_KEPT = timedelta(days=60)
_SCOPES_AT_ONCE = 100

CHANNELS_KNOWN = timedelta(days=365)
"""How long it is known what was seen last in a channel that has been silent since."""


async def tidy(services: Services, privacy: Privacy) -> None:
    """Index anew what an earlier version wrote meanwhile, and let go of what is over.

    That is: finished jobs and reminders, silent threads and channels, old counts of use, old journal lines, faded
    documents and scopes that have long been closed.
    """
    stores, now = services.stores, services.clock.now()
    await stores.search.index_older()
    await stores.jobs.prune(now - _FINISHED_JOBS_KEPT)
    await stores.reminders.prune(now - _FINISHED_REMINDERS_KEPT)
    async with services.database.transaction() as tx:
        await stores.channels.forget_engagements(tx, before=now - _THREADS_FOLLOWED)
        await stores.usage.prune(tx, before=(now - _USAGE_KEPT).date().isoformat())
        await stores.last_seen.prune(tx, before=now - CHANNELS_KNOWN)
        await stores.journal.expire(tx, before=now - services.parameters.journal_expiry, at=now)
    for scope in await stores.archival.idle_scopes(now - _IDLE):
        async with services.database.transaction() as tx:
            await stores.archival.forget(scope, tx)
    closed_before = now - services.parameters.closed_scope_kept
    await privacy.erase_due(lambda tx: stores.closures.overdue(tx, before=closed_before, limit=_SCOPES_AT_ONCE))
