"""Why a reply was what it was: what stood before the model, where it came from, and what became of it since.

Invariant: only what the reply itself was given is named, and what was forgotten or deleted since is named without
its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory.policy.audience import reach_of_scope
from memory.policy.experience_text import episode_shown, procedure_shown
from memory.records import FactState, ProcedureState, Scope, Source, StoredMessage
from memory.stores.archival import ArchivalStore
from memory.stores.episodes import EpisodeStore
from memory.stores.facts import FactStore
from memory.stores.procedures import ProcedureStore
from memory.stores.recall import RecallStore
from memory.stores.reply_sources import ReplySource, ReplySources, ReplySourceStore
from memory.stores.sessions import SessionStore
from memory.stores.tier_search import EntryReader


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMessage:
    """A message that something comes from, and the server or team of its conversation where that is known."""

    message: StoredMessage
    community: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Something that a reply was given.

    Attributes:
        text: its words; None where it was forgotten or deleted since.
        at: when it was said, learned or stored; None with the text.
        still_true: False for a fact that was replaced since.
        messages: those it comes from, as far as they are still kept.
    """

    source: ReplySource
    text: str | None = None
    at: datetime | None = None
    still_true: bool = True
    messages: tuple[SourceMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a reply was what it was.

    Attributes:
        at: when it was written.
        asked: the message that it answers, where it is still kept.
        given: what was looked up for it, in the order it was shown.
    """

    at: datetime
    asked: SourceMessage | None
    given: tuple[Given, ...]


class Provenance:
    """Explains replies.

    Args:
        replies: what each was given.
        facts, recall, archival, episodes, procedures, entries: what can be given.
        sessions: knows the communities of conversations.
    """

    def __init__(
        self,
        *,
        replies: ReplySourceStore,
        facts: FactStore,
        recall: RecallStore,
        archival: ArchivalStore,
        episodes: EpisodeStore,
        procedures: ProcedureStore,
        entries: EntryReader,
        sessions: SessionStore,
    ) -> None:
        self._replies = replies
        self._facts = facts
        self._recall = recall
        self._archival = archival
        self._episodes = episodes
        self._procedures = procedures
        self._entries = entries
        self._sessions = sessions

    async def of_last_reply(self, scope: Scope, conversation: str) -> Explanation | None:
        """Explain the last reply of a conversation of which it is kept; None where there is none."""
        return await self._explained(scope, await self._replies.latest(scope, conversation))

    async def of_exchange(self, scope: Scope, exchange_id: int) -> Explanation | None:
        """Explain the reply to a message; None where that is not kept any more."""
        return await self._explained(scope, await self._replies.of_exchange(scope, exchange_id))

    async def _explained(self, scope: Scope, last: ReplySources | None) -> Explanation | None:
        if last is None:
            return None
        asked = await self._messages(scope, [last.exchange_id])
        return Explanation(
            at=last.at,
            asked=asked[0] if asked else None,
            given=tuple([await self._given(source) for source in last.sources]),
        )

    async def _given(self, source: ReplySource) -> Given:
        messages = await self._messages(source.scope, source.message_ids)
        reads = {
            Source.FACT: self._fact,
            Source.RECALL: self._message,
            Source.ARCHIVAL: self._document,
            Source.EPISODE: self._episode,
            Source.PROCEDURE: self._procedure,
            Source.ENTRY: self._entry,
        }
        read = reads.get(source.source)
        given = await read(source) if read else None
        return Given(source=source) if given is None else replace(given, messages=messages)

    async def _fact(self, source: ReplySource) -> Given | None:
        for fact in await self._facts.get(reach_of_scope(source.scope), [source.record_id]):
            if fact.state is not FactState.FORGOTTEN:
                at, still_true = fact.valid_from or fact.updated_at, fact.state is FactState.CURRENT
                return Given(source=source, text=fact.text, at=at, still_true=still_true)
        return None

    async def _message(self, source: ReplySource) -> Given | None:
        for found in await self._messages(source.scope, [source.record_id]):
            return Given(source=source, text=found.message.text, at=found.message.sent_at)
        return None

    async def _document(self, source: ReplySource) -> Given | None:
        for passage in await self._archival.get(reach_of_scope(source.scope), [source.record_id]):
            if passage.forgotten_at is None:
                return Given(source=source, text=passage.content, at=passage.created_at)
        return None

    async def _episode(self, source: ReplySource) -> Given | None:
        for episode in await self._episodes.get(reach_of_scope(source.scope), [source.record_id]):
            if episode.forgotten_at is None:
                return Given(source=source, text=episode_shown(episode), at=episode.started_at)
        return None

    async def _procedure(self, source: ReplySource) -> Given | None:
        for procedure in await self._procedures.get(reach_of_scope(source.scope), [source.record_id]):
            text, still_true = procedure_shown(procedure.how_to), procedure.state is ProcedureState.APPROVED
            return Given(source=source, text=text, at=procedure.updated_at, still_true=still_true)
        return None

    async def _entry(self, source: ReplySource) -> Given | None:
        for entry in await self._entries.get(reach_of_scope(source.scope), [source.record_id]):
            return Given(source=source, text=entry.text, at=entry.created_at)
        return None

    async def _messages(self, scope: Scope, message_ids: Sequence[int]) -> tuple[SourceMessage, ...]:
        found = []
        for message in await self._recall.get(reach_of_scope(scope), message_ids):
            session = await self._sessions.get(scope, message.session_id)
            found.append(SourceMessage(message=message, community=session.community if session else None))
        return tuple(found)
