"""This device's place in the register of those that share the mirror, and what it may have missed while it had none.

The mark of a deleted row goes once every registered device has seen it. So a device registers before it takes in its
first row, says once a day what it has seen, and is taken out of the register by the others when it has said nothing for
thirty days. If it comes back then, or with an older database of its own (from a backup), it may have missed deletions:
it deletes what it was never told to keep, which is whatever the mirror does not hold and does not wait to be told.

Invariant: nothing is deleted for want of being in the mirror unless that is the same hosted database as before, and
knows all that it was told. To another one, or one that was put back to an earlier day, everything is told anew.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog

from memory.database import Database, Transaction
from memory.mirror.process import MirrorProcess
from memory.ports import Clock
from memory.records import Scope, scope_slug
from memory.stores.mirror_changes import MirrorChangeStore
from memory.stores.mirror_merge import Incoming, MirrorMerge
from memory.stores.mirror_state import Registration, RegistrationStore
from memory.stores.mirrored import COLD, Mirrored

_log = structlog.get_logger(__name__)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EVERY = timedelta(days=1)
_AWAY = timedelta(days=30)
_CLOCKS_DIFFER = timedelta(days=2)  # at most, of two devices
_SCOPES_AT_ONCE = 100
_DELETED_AT_ONCE = 200  # in one transaction, for which whoever writes meanwhile waits


class MirrorRegister:
    """Registers a device.

    Args:
        process: talks to the mirror's worker.
        database: for transactions.
        changes: what the mirror has to be told, and what is known of other devices' rows.
        registrations: where this device is registered.
        merge: deletes rows as another device would have them deleted.
        clock: dates the words.
        stores: what is mirrored row by row.
    """

    def __init__(
        self,
        process: MirrorProcess,
        *,
        database: Database,
        changes: MirrorChangeStore,
        registrations: RegistrationStore,
        merge: MirrorMerge,
        clock: Clock,
        stores: Sequence[Mirrored],
    ) -> None:
        self._process = process
        self._database = database
        self._changes = changes
        self._registrations = registrations
        self._merge = merge
        self._clock = clock
        self._stores = stores
        self._device = ""

    def as_device(self, device: str) -> None:
        """Say what this database is called among the devices of its mirror."""
        self._device = device

    async def enter(self) -> bool:
        """Look into the register, before anything is taken in; a device that is new here registers.

        Returns:
            whether deletions may have been missed, so that ``compare`` is due.

        Raises:
            MirrorUnavailable: it cannot be reached.
        """
        found, known = await self._process.register(), await self._registrations.load()
        said_at, now = found["words"].get(self._device), self._clock.now()
        if known is not None and known.mirror == found["mirror"]:
            if known.at < _milliseconds(now - _AWAY) or (said_at or 0) > known.at:
                return True
            if said_at == known.at:
                return False
            if said_at is None and known.at < _milliseconds(now - _AWAY + _CLOCKS_DIFFER):
                return True
        if known is not None:  # another hosted database, or the same as it was before it heard this word
            async with self._database.transaction() as tx:
                await self._changes.begin_anew(tx, self._stores)
            _log.warning("mirror_told_anew")
        if not await self._changes.seen():
            await self._write_word(found["mirror"])
        return False

    async def renew(self, *, compared: bool) -> None:
        """Once everything is taken in and told: leave a word if that is due, and tidy the register and its marks.

        Args:
            compared: whether all was compared since this device had missed something, which it says at once.

        Raises:
            MirrorUnavailable: it cannot be reached.
        """
        known, now = await self._registrations.load(), self._clock.now()
        if known is not None and not compared:
            if known.at > _milliseconds(now - _EVERY):
                return
            # By the word of yesterday: a mark made since stays, for a device that has fetched all without it and
            # is not registered yet.
            while await self._process.tidy(away_since=_milliseconds(now - _AWAY)):
                await self._process.exchange(pull=False)
        await self._write_word((await self._process.register())["mirror"])

    async def compare(self) -> None:
        """Delete here what other devices deleted while this one was away: what the mirror neither holds nor lacks."""
        deleted = 0
        for store in self._stores:
            scopes = await self._registrations.scopes_with(store)
            for start in range(0, len(scopes), _SCOPES_AT_ONCE):
                deleted += await self._compare(store, scopes[start : start + _SCOPES_AT_ONCE])
        _log.info("mirror_compared", deleted=deleted)

    async def _compare(self, store: Mirrored, scopes: Sequence[Scope]) -> int:
        agents = [scope_slug(scope) for scope in scopes]
        held: defaultdict[str, set[str]] = defaultdict(set)
        for table in (store.remote, COLD) if store.name == "entries" else (store.remote,):
            for agent, record in await self._process.records(table, agents):
                held[agent].add(record)
        deleted = 0
        for scope, agent in zip(scopes, agents, strict=True):
            missing = sorted(await self._registrations.records(scope, store) - held[agent])
            for start in range(0, len(missing), _DELETED_AT_ONCE):
                some = missing[start : start + _DELETED_AT_ONCE]
                deleted += await self._database.write(partial(self._delete, scope, store, some))
        return deleted

    async def _delete(self, scope: Scope, store: Mirrored, missing: Sequence[str], tx: Transaction) -> int:
        """Delete some of what the mirror does not hold, unless it waits to be told; how much."""
        waiting = await self._changes.pending_of(scope, tx, store=store.name)
        gone = [record for record in missing if record not in waiting]
        deleted = await self._merge.merge(scope, tx, store, [Incoming(record=one, data=None, row=None) for one in gone])
        await self._changes.settled(scope, tx, store=store.name, records=gone)
        return deleted

    async def _write_word(self, mirror: str | None) -> None:
        registration = Registration(mirror=mirror or uuid.uuid4().hex, at=_milliseconds(self._clock.now()))
        async with self._database.transaction() as tx:  # first: a word later than the one noted here tells of a backup
            await self._registrations.note(tx, registration)
        seen = await self._changes.seen()
        await self._process.write_word(mirror=registration.mirror, device=self._device, seen=seen, at=registration.at)
        await self._process.exchange(pull=False)


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
