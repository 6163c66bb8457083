"""Episodes: what happened in each session, found by likeness, by time and by person.

Invariant: a session has at most one episode that is found; a forgotten one stays until it is erased and can be
brought back. A row and its search entry change in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import and_, delete, insert, select, update

from memory.database import Database, Transaction
from memory.ids import IdSource, handle_of
from memory.records import Change, Episode, Narrative, Origin, Scope, Source, StoredMessage
from memory.schema import episodes as table
from memory.stores.episode_reader import EpisodeReader, not_forgotten
from memory.stores.episode_rows import episode_of_row, row_of_episode, searchable_episode
from memory.stores.scoped import as_stored, delete_scope, in_scope, made_by, restore_rows, rows_of_scope
from memory.stores.search import SearchStore

_log = structlog.get_logger(__name__)

_CHANGING = ("forgotten_at", "forgotten_reason")


class EpisodeStore(EpisodeReader):
    """The table of episodes.

    Args:
        database: where the rows are.
        search: indexes their texts.
        ids: draws the episodes' ids.
    """

    name = "episodes"

    def __init__(self, database: Database, search: SearchStore, ids: IdSource) -> None:
        super().__init__(database, search)
        self._ids = ids

    async def add(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        messages: Sequence[StoredMessage],
        narrative: Narrative,
        change: Change,
        at: datetime,
    ) -> Episode:
        """Keep the story of a session, in place of one that was made of it before.

        Args:
            scope: whose.
            tx: the open transaction.
            messages: what was said in it, oldest first; at least one.
            narrative: its story.
            change: what made it, with the session.
            at: when it was made.
        """
        for earlier in await self._of_session(scope, tx, change):
            await self.forget(scope, tx, episode_id=earlier.id, reason="made anew", at=at)
        episode = Episode(
            id=self._ids.next(),
            scope=scope,
            conversation=messages[0].conversation,
            started_at=min(message.sent_at for message in messages),
            ended_at=max(message.sent_at for message in messages),
            participants=tuple(dict.fromkeys(message.author for message in messages)),
            message_count=len(messages),
            first_message=messages[0].id,
            last_message=messages[-1].id,
            narrative=narrative,
            made_at=as_stored(at),
            change=change,
        )
        await tx.connection.execute(insert(table).values(row_of_episode(episode)))
        await self._search.add(scope, tx, source=Source.EPISODE, items=searchable_episode(episode))
        tx.after_commit(
            lambda: _log.info(
                "memory_write",
                memory="episode",
                episode=episode.id,
                session_id=change.session_id,
                messages=episode.message_count,
                moments=len(narrative.key_moments),
                lessons=len(narrative.lessons),
            )
        )
        return episode

    async def forget(
        self, scope: Scope, tx: Transaction, *, episode_id: int, reason: str, at: datetime
    ) -> Episode | None:
        """Let an episode be found no more; None where there is none of that id that is."""
        episode = await self._one(scope, tx, episode_id)
        if episode is None or episode.forgotten_at is not None:
            return None
        after = replace(episode, forgotten_at=as_stored(at), forgotten_reason=reason)
        await self._write(tx, after)
        await self._search.remove(scope, tx, source=Source.EPISODE, record_ids=[episode_id])
        return after

    async def reinstate(self, scope: Scope, tx: Transaction, *, episode_id: int, at: datetime) -> Episode | None:
        """Bring a forgotten episode back, in place of another of its session; None where there is none of that id."""
        episode = await self._one(scope, tx, episode_id)
        if episode is None or episode.forgotten_at is None:
            return episode
        for other in await self._of_session(scope, tx, episode.change):
            await self.forget(scope, tx, episode_id=other.id, reason="another version came back", at=at)
        after = replace(episode, forgotten_at=None, forgotten_reason="")
        await self._write(tx, after)
        await self._search.put(scope, tx, source=Source.EPISODE, items=searchable_episode(after))
        return after

    async def remove_of_session(self, scope: Scope, tx: Transaction, *, session_id: int) -> bool:
        """Delete for good every episode of a session, forgotten or not; whether there was one.

        An episode tells what its messages said, so that where one was deleted, it must not stay in any form.
        """
        mine = and_(in_scope(table, scope), table.c.session_id == session_id)
        ids = (await tx.connection.execute(select(table.c.id).where(mine))).scalars().all()
        await self._search.remove(scope, tx, source=Source.EPISODE, record_ids=ids)
        await tx.connection.execute(delete(table).where(mine))
        return bool(ids)

    async def work_of(self, scope: Scope, tx: Transaction, *, origin: Origin) -> dict[str, str]:
        """What stands of the work of a session or a job: name -> text."""
        found = await self._standing(scope, tx, origin=origin)
        return {f"episode {handle_of(one.id)}": one.narrative.summary for one in found}

    async def undo_work(
        self,
        scope: Scope,
        tx: Transaction,
        *,
        origin: Origin,
        change: Change,
        at: datetime,
    ) -> None:
        """Forget what stands of the work of a session or a job."""
        for episode in await self._standing(scope, tx, origin=origin):
            await self.forget(scope, tx, episode_id=episode.id, reason=change.reason, at=at)

    async def export(self, scope: Scope) -> list[dict[str, Any]]:
        """Every episode of a scope, the forgotten ones included, oldest first."""
        return await rows_of_scope(self._database, table, scope)

    async def restore(self, scope: Scope, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> int:
        """Put back rows of an export, searchable but for the forgotten; how many were not there.

        Raises:
            InvalidInput: another episode has the id of one of them.
        """
        new = {row["id"] for row in await restore_rows(tx, table, scope, rows, changing=_CHANGING)}
        back = (await tx.connection.execute(select(table).where(in_scope(table, scope), table.c.id.in_(new)))).all()
        standing = [episode for episode in map(episode_of_row, back) if episode.forgotten_at is None]
        items = [item for episode in standing for item in searchable_episode(episode)]
        await self._search.add(scope, tx, source=Source.EPISODE, items=items)
        return len(new)

    async def erase(self, scope: Scope, tx: Transaction) -> dict[str, int]:
        """Delete every episode of a scope (the search store erases its entries)."""
        return {table.name: await delete_scope(tx, table, scope)}

    async def _standing(self, scope: Scope, tx: Transaction, *, origin: Origin) -> list[Episode]:
        found = select(table).where(in_scope(table, scope), made_by(table, origin), not_forgotten())
        return [episode_of_row(row) for row in await tx.connection.execute(found.order_by(table.c.id))]

    async def _of_session(self, scope: Scope, tx: Transaction, change: Change) -> list[Episode]:
        """What stands of the session that a change was made in."""
        if change.session_id is None:
            return []
        return await self._standing(scope, tx, origin=Origin(session_id=change.session_id))

    async def _one(self, scope: Scope, tx: Transaction, episode_id: int) -> Episode | None:
        query = select(table).where(in_scope(table, scope), table.c.id == episode_id)
        row = (await tx.connection.execute(query)).first()
        return None if row is None else episode_of_row(row)

    async def _write(self, tx: Transaction, episode: Episode) -> None:
        mine = and_(in_scope(table, episode.scope), table.c.id == episode.id)
        await tx.connection.execute(update(table).where(mine).values(row_of_episode(episode)))
