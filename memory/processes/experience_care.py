"""What people and admins do to episodes, procedures and documents: forget, bring back, approve, edit, retire.

Invariant: a change and its entry in the audit log are one transaction; nothing is deleted, and no text stands in the
audit log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from memory.database import Database, Transaction
from memory.errors import InvalidInput
from memory.ids import handle_of
from memory.policy.experience_text import how_to_from
from memory.policy.secrets import redact
from memory.policy.text import clean
from memory.ports import Clock
from memory.processes.indexer import Indexer
from memory.records import By, Change, Episode, Passage, Procedure, Scope
from memory.stores.archival import ArchivalStore
from memory.stores.audit import AuditStore
from memory.stores.episodes import EpisodeStore
from memory.stores.procedures import ProcedureStore


class ExperienceCare:
    """Changes episodes, procedures and documents by somebody's word.

    Args:
        database: for the transaction over all stores.
        episodes, procedures, archival: what is changed.
        audit: says who did it.
        indexer: makes what comes back found by its meaning.
        clock: dates it.
    """

    def __init__(
        self,
        *,
        database: Database,
        episodes: EpisodeStore,
        procedures: ProcedureStore,
        archival: ArchivalStore,
        audit: AuditStore,
        indexer: Indexer,
        clock: Clock,
    ) -> None:
        self._database = database
        self._episodes = episodes
        self._procedures = procedures
        self._archival = archival
        self._audit = audit
        self._indexer = indexer
        self._clock = clock

    async def forget_episode(self, scope: Scope, episode_id: int, *, by: By) -> Episode:
        """Let an episode be found no more. Raises InvalidInput where it is not found as it is."""
        async with self._database.transaction() as tx:
            reason, now = f"forgotten by {by.actor}", self._clock.now()
            episode = await self._episodes.forget(scope, tx, episode_id=episode_id, reason=reason, at=now)
            if episode is None:
                raise InvalidInput("That episode is forgotten already.")
            await self._note(scope, tx, by, "episodes forget", f"episode {handle_of(episode_id)}")
        return episode

    async def restore_episode(self, scope: Scope, episode_id: int, *, by: By) -> Episode:
        """Bring a forgotten episode back. Raises InvalidInput where there is none."""
        async with self._database.transaction() as tx:
            episode = await self._episodes.reinstate(scope, tx, episode_id=episode_id, at=self._clock.now())
            if episode is None:
                raise InvalidInput("There is no such episode any more.")
            await self._note(scope, tx, by, "episodes restore", f"episode {handle_of(episode_id)}")
        self._indexer.kick()
        return episode

    async def restore_document(self, scope: Scope, passage_id: int, *, by: By) -> Passage:
        """Bring a forgotten document back. Raises InvalidInput where there is none."""
        async with self._database.transaction() as tx:
            passage = await self._archival.reinstate(scope, tx, passage_id=passage_id)
            if passage is None:
                raise InvalidInput("There is no such document any more.")
            await self._note(scope, tx, by, "documents restore", f"document {handle_of(passage_id)}")
        self._indexer.kick()
        return passage

    async def approve(self, scope: Scope, procedure_id: int, *, by: By) -> Procedure:
        """Let a procedure be followed. Raises InvalidInput where there is none."""
        return await self._changed(scope, procedure_id, by, "approve", self._procedures.approve)

    async def retire(self, scope: Scope, procedure_id: int, *, by: By) -> Procedure:
        """Let a procedure be followed no more. Raises InvalidInput where there is none."""
        return await self._changed(scope, procedure_id, by, "retire", self._procedures.retire)

    async def take_back(self, scope: Scope, procedure_id: int, *, by: By) -> Procedure:
        """Take the last change of a procedure back. Raises InvalidInput where there is none."""
        return await self._changed(scope, procedure_id, by, "undo", self._procedures.take_back)

    async def edit(self, scope: Scope, present: Procedure, text: str, *, by: By) -> Procedure:
        """Put other words in place of a procedure's parts. Secrets are taken out.

        Args:
            present: the procedure as it is.
            text: the parts to change, as ``experience_text.how_to_from`` reads them.

        Raises:
            InvalidInput: they cannot be read, or there is no such procedure any more.
        """
        how_to = how_to_from(redact(clean(text)), present=present.how_to)

        async def edited(scope: Scope, tx: Transaction, **named: object) -> Procedure:
            change, at = _change(by, "edit"), self._clock.now()
            return await self._procedures.edit(scope, tx, procedure_id=present.id, how_to=how_to, change=change, at=at)

        return await self._changed(scope, present.id, by, "edit", edited)

    async def _changed(
        self, scope: Scope, procedure_id: int, by: By, action: str, change: Callable[..., Awaitable[Procedure]]
    ) -> Procedure:
        async with self._database.transaction() as tx:
            now = self._clock.now()
            after = await change(scope, tx, procedure_id=procedure_id, change=_change(by, action), at=now)
            await self._note(scope, tx, by, f"procedures {action}", f"procedure {handle_of(procedure_id)}")
        self._indexer.kick()
        return after

    async def _note(self, scope: Scope, tx: Transaction, by: By, action: str, detail: str) -> None:
        await self._audit.note(scope, tx, actor=by.audited, action=f"{by.command} {action}", detail=detail)


def _change(by: By, reason: str) -> Change:
    return Change(actor=by.actor, reason=reason)
