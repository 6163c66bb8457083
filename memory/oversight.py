"""What people and admins see and do of what is remembered: an overview, running conversations, taking changes back.

Invariant: all but the check of the sources is about one person's scopes, given by name; a change and its entry in
the audit log are one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memory.database import Transaction
from memory.policy.audience import SHARED_AUDIENCE, reach_of_scope
from memory.privacy import Privacy
from memory.processes.archive_importer import ArchiveImporter
from memory.processes.experience_care import ExperienceCare
from memory.processes.fact_care import FactCare
from memory.processes.linking import Linking
from memory.processes.prompt_sizes import PromptSize
from memory.processes.provenance import Provenance
from memory.processes.sittings import Sittings
from memory.processes.tier_metrics import TierMetrics
from memory.processes.tier_undo import TierUndo
from memory.processes.undo import Undo
from memory.records import By, Episode, MemoryBlock, Reach, Scope, Session, Source, SummaryVersion
from memory.services import Services
from memory.stores.answer_posts import ExchangeKey
from memory.stores.posts import PostStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What is remembered in one scope.

    Attributes:
        summary: the rolling summary, or None.
        window_summary: the digest of what left the window of the newest session; may be empty.
        messages: how many are stored.
        facts: how many are true now.
        passages: documents in archival memory.
        last_activity: when something was last said, or None.
    """

    scope: Scope
    blocks: tuple[MemoryBlock, ...]
    summary: SummaryVersion | None
    window_summary: str
    messages: int
    facts: int
    passages: int
    last_activity: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How much there is in one scope, and how large its prompts are.

    Attributes:
        store: the name of the database.
        journal: entries by category, and how many of all are out of sight (``archived``).
        windows: messages in the window of each open conversation.
        last_prompt: the scope's last prompt, or None where there was none since the start.
        failed_searches: the sources that could not be searched within the last hour, of whomever, and when.
        tiers: how large the tiers are, and what happened to them.
    """

    scope: Scope
    store: str
    messages: int
    facts: int
    passages: int
    journal: Mapping[str, int]
    windows: Mapping[str, int]
    last_prompt: PromptSize | None
    failed_searches: Mapping[Source, datetime]
    tiers: TierMetrics


class Oversight:
    """The one door for looking at and changing memory from outside a conversation.

    Args:
        services: every store and process.
        privacy: knows a person's scopes.

    Attributes:
        sittings: pauses, ends and begins conversations.
        undo: takes changes back.
        facts: changes single facts.
        experience: changes episodes, procedures and documents.
        provenance: explains replies.
        linking: links accounts of one person.
        archives: takes in what was said before the bot was there.
    """

    def __init__(self, services: Services, privacy: Privacy) -> None:
        self._services = services
        self._privacy = privacy
        stores = services.stores
        self.sittings = Sittings(
            database=services.database,
            sessions=stores.sessions,
            consent=stores.consent,
            window=services.window,
            jobs=services.jobs,
            clock=services.clock,
            talk=services.talk,
        )
        self.linking = Linking(database=services.database, links=stores.links, audit=stores.audit, clock=services.clock)
        self.archives = ArchiveImporter(
            database=services.database,
            recall=stores.recall,
            sessions=stores.sessions,
            posts=PostStore(stores.recall, stores.search),
            consent=stores.consent,
            jobs=stores.jobs,
            audit=stores.audit,
            counter=services.counter,
            in_force=services.in_force,
            clock=services.clock,
        )
        self.undo = Undo(
            database=services.database,
            blocks=stores.blocks,
            summaries=stores.summaries,
            facts=stores.facts,
            fact_revisions=stores.fact_revisions,
            journal=stores.journal,
            experience=(stores.episodes, stores.procedures),
            tiers=TierUndo(cold=stores.cold, tree=stores.tree, changes=stores.tree_changes, hot=stores.hot),
            hot=stores.hot,
            audit=stores.audit,
            indexer=services.indexer,
            pages=services.pages,
            clock=services.clock,
        )
        self.facts = FactCare(
            database=services.database,
            facts=stores.facts,
            blocks=stores.blocks,
            audit=stores.audit,
            indexer=services.indexer,
            pages=services.pages,
            clock=services.clock,
        )
        self.experience = ExperienceCare(
            database=services.database,
            episodes=stores.episodes,
            procedures=stores.procedures,
            archival=stores.archival,
            audit=stores.audit,
            indexer=services.indexer,
            clock=services.clock,
        )
        self.provenance = Provenance(
            replies=stores.reply_sources,
            facts=stores.facts,
            recall=stores.recall,
            archival=stores.archival,
            episodes=stores.episodes,
            procedures=stores.procedures,
            entries=stores.warm,
            sessions=stores.sessions,
        )

    async def scopes_of(self, person: str) -> list[Scope]:
        """The scopes in which something is remembered of a person, but for closed ones. Raises InvalidInput."""
        closed = await self._services.stores.closures.closed(person)
        scopes = [scope for scope in await self._privacy.scopes_of(person) if scope not in closed]
        # Consent is kept once for a person, under an audience in which nothing need be remembered.
        return [scope for scope in scopes if scope.audience != SHARED_AUDIENCE or await self._is_used(scope)]

    async def overview(self, scope: Scope) -> Overview:
        """What is remembered in a scope."""
        stores = self._services.stores
        session = next(iter(await stores.sessions.recent(scope, 1)), None)
        return Overview(
            scope=scope,
            blocks=await stores.blocks.load(scope),
            summary=await stores.summaries.latest(scope),
            window_summary=session.window_summary if session else "",
            messages=await stores.recall.count(scope),
            facts=await stores.facts.count(scope),
            passages=(await stores.archival.stats(scope)).total,
            last_activity=session.last_activity_at if session else None,
        )

    async def statistics(self, scope: Scope) -> Statistics:
        """How much there is in a scope."""
        stores = self._services.stores
        open_sessions = await stores.sessions.all_open(reach_of_scope(scope))
        return Statistics(
            scope=scope,
            store=self._services.database.name,
            messages=await stores.recall.count(scope),
            facts=await stores.facts.count(scope),
            passages=(await stores.archival.stats(scope)).total,
            journal=await stores.journal.counts(scope),
            windows={
                session.conversation: len(await stores.recall.window(scope, session.conversation))
                for session in open_sessions
            },
            last_prompt=self._services.prompt_sizes.last(scope),
            failed_searches=self._services.retriever.failed_lately(),
            tiers=await self._services.tier_meter.measure(scope),
        )

    async def failing_sources(self) -> tuple[Source, ...]:
        """The sources that a search fails in; see ``Retriever.check``. Raises StorageError."""
        return await self._services.retriever.check()

    async def episodes_like(self, reach: Reach, query: str, *, limit: int) -> list[Episode]:
        """The episodes that answer a query best, and those of the days it names, best first."""
        services = self._services
        periods = await services.retriever.periods(reach, query)
        store = services.stores.episodes
        hits = await store.search(reach, query, limit=limit, periods=periods)
        by_id = {one.id: one for one in await store.get(reach, [hit.record_id for hit in hits])}
        return [by_id[hit.record_id] for hit in hits if hit.record_id in by_id]

    async def try_writing(self) -> None:
        """See whether the database can be written, of which nothing changes. Raises DatabaseUnavailable."""
        await self._services.database.try_writing()

    async def note(self, scope: Scope, *, by: By, action: str, detail: str = "") -> None:
        """Write a look into the audit log."""
        async with self._services.database.transaction() as tx:
            await self._services.stores.audit.note(scope, tx, actor=by.audited, action=action, detail=detail)

    async def forget_exchange(self, exchange: ExchangeKey, *, by: By) -> bool:
        """Let go of something a person said, with its answer; whether it was still kept. See ``Retraction.forget``."""

        async def noted(tx: Transaction) -> None:
            await self._services.stores.audit.note(exchange.scope, tx, actor=by.audited, action="mydata forget-message")

        return await self._services.retraction.forget(exchange, noted=noted)

    async def end_session(self, session: Session, *, by: By) -> None:
        """End a session by an admin's word."""

        async def noted(tx: Transaction) -> None:
            await self._services.stores.audit.note(
                session.scope, tx, actor=by.audited, action="memory end-session", detail=f"session {session.id}"
            )

        await self.sittings.end(session, noted=noted)

    async def _is_used(self, scope: Scope) -> bool:
        return bool(await self._services.stores.sessions.recent(scope, 1))
