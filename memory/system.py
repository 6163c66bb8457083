"""The face of the memory system: open it, and get the memory of a person's conversation.

Invariant: whoever opens it closes it, and with it everything that ``memory/opening`` has made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

from memory.database import Transaction, open_database
from memory.errors import DatabaseUnavailable
from memory.exchange import Place
from memory.ids import IdSource
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.mirror.process import MirrorAddress
from memory.note_files import NoteFiles
from memory.opening.ground import Ground
from memory.opening.services import open_services
from memory.opening.stores import open_stores
from memory.oversight import Oversight
from memory.parameters import MemoryParameters, ParametersInForce
from memory.person import PersonMemory
from memory.policy.audience import reach_of, reach_of_person, scope_of
from memory.policy.text import clean
from memory.ports import ChatModel, Clock, Embedder, SystemClock, TokenCounter
from memory.privacy import Privacy
from memory.process_lock import ProcessLock
from memory.processes.importer import Importer
from memory.processes.wanted import Wanted
from memory.records import Reach, SearchHit
from memory.services import Services
from memory.tidying import tidy

_SWEPT_AT_ONCE = 100


class MemorySystem:
    """The memory of everybody. Made by ``open_memory``.

    Attributes:
        stores: every store.
        privacy: export and erasure over all of them.
        oversight: what people and admins see and do from outside a conversation.
        importer: puts back what an export wrote.
        retraction: follows what people edit and delete on their platforms.
        feedback: hears what people make known of answers.
        tree_search: finds what is filed in categories.
        consolidator: archives what fades, and brings what matters most to hand.
        ingest: takes in what people write in their notes.
        tier_meter: says how large the tiers are.
        places: follows which servers, teams and channels the bot is in.
        in_force: the numbers, which may be changed at run time.
        prompt_sizes: how large the prompts were.
        talk: what was said lately in channels.
        retriever: finds what a message is answered with, and knows how long that took.
        outbox: notes how far answers have come.
        mirror: keeps the mirror and this memory alike; None where there is none.
        write: does brief work on any of the stores in one transaction; see ``Database.write``.
        warm_up: loads what the first message would wait for.
    """

    def __init__(self, services: Services, privacy: Privacy, importer: Importer) -> None:
        self._services = services
        self.stores = services.stores
        self.privacy = privacy
        self.oversight = Oversight(services, privacy)
        self.importer = importer
        self.retraction = services.retraction
        self.feedback = services.feedback
        self.tree_search = services.tree_search
        self.consolidator = services.consolidator
        self.ingest = services.ingest
        self.tier_meter = services.tier_meter
        self.places = services.places
        self.in_force = services.in_force
        self.prompt_sizes = services.prompt_sizes
        self.talk = services.talk
        self.retriever = services.retriever
        self.outbox = services.outbox
        self.mirror = services.mirror
        self.write = services.database.write
        self.warm_up = services.warm_up

    @property
    def parameters(self) -> MemoryParameters:
        """The numbers in force now."""
        return self.in_force.current

    def conversation(
        self, *, person: str, audience: str, conversation: str, community: str | None = None
    ) -> PersonMemory:
        """The memory of one person in one conversation.

        Args:
            person: ``discord:<user id>``, ``slack:<team id>:<user id>`` or ``console:<name>``.
            audience: who hears it: ``dm``, ``guild:<id>``, ``team:<id>`` or ``channel:<id>``.
            conversation: the key of the channel, thread or direct chat.
            community: the server or team that a private channel belongs to.

        Raises:
            InvalidInput: one of them is malformed.
        """
        sharing = self.parameters.sharing
        scope = scope_of(person, audience, sharing)
        place = Place(
            scope=scope,
            reach=reach_of(scope, community, sharing),
            conversation=conversation,
            community=community,
            audience=audience,
        )
        return PersonMemory(place, self._services)

    async def search(self, person: str, query: str, *, limit: int, audience: str | None = None) -> list[SearchHit]:
        """Search everything of a person's, best first, without a relevance floor.

        Args:
            person: whose.
            query: any text.
            limit: hits to return at most.
            audience: search as a conversation with this audience would; None for everything.

        Raises:
            DatabaseUnavailable: something could not be searched.
        """
        reach = await self._reach(person, audience)
        scope = scope_of(person, audience or "dm", self.parameters.sharing)
        wanted = Wanted(hits=limit, facts=limit, episodes=limit, procedures=limit)
        found = await self.retriever.retrieve(scope, reach, clean(query), wanted=wanted, floor=False)
        if found.failed:
            raise DatabaseUnavailable(f"Some of it could not be searched: {', '.join(found.failed)}. Try again.")
        return list(found.hits[:limit])

    async def sweep_idle(self) -> int:
        """End the sessions that have been silent for too long. Returns how many this call ended."""
        now = self._services.clock.now()
        idle = await self.stores.sessions.idle(now - self.parameters.session_idle, _SWEPT_AT_ONCE)
        ended = [await self._services.window.rest(session, at=now) for session in idle]
        self._services.jobs.kick()  # also for jobs whose next try is due by now
        return sum(ended)

    async def resume(self) -> None:
        """After a start: go on with what an earlier process left. Raises StorageError."""
        await self._services.jobs.take_over()
        self._services.indexer.kick()

    async def tidy(self) -> None:
        """Let go of what was over long ago; see ``memory.tidying``."""
        await tidy(self._services, self.privacy)

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """A write transaction over any of the stores: committed at the end, rolled back on any error."""
        return self._services.database.transaction()

    async def settle(self, *, embedding_seconds: float | None = None) -> None:
        """Wait until every job that is due is done, and everything stored is embedded.

        Args:
            embedding_seconds: how long to wait for the embedding; None for as long as it takes. After a change of
                embedder that may be hours, and what is left is embedded after the next start.
        """
        await self._services.jobs.settle()
        with suppress(TimeoutError):
            async with asyncio.timeout(embedding_seconds):
                await self.embedded()

    async def embedded(self) -> None:
        """Wait until everything stored is embedded, or the embedder failed."""
        self._services.indexer.kick()
        await self._services.indexer.settle()

    async def _reach(self, person: str, audience: str | None) -> Reach:
        if audience is None:
            return reach_of_person(person)
        scope = scope_of(person, audience, self.parameters.sharing)
        return reach_of(scope, await self.stores.sessions.community_of(scope), self.parameters.sharing)


@asynccontextmanager
async def open_memory(
    *,
    database_url: str,
    embedder: Embedder,
    counter: TokenCounter,
    memory_model: ChatModel,
    parameters: MemoryParameters,
    clock: Clock,
    notes_folder: Path | None = None,
    notes_model: ChatModel | None = None,
    mirror: MirrorAddress | None = None,
) -> AsyncIterator[MemorySystem]:
    """Open the memory system, and close it at the end of the context.

    Args:
        database_url: for example ``sqlite:///data/keepsake.db``.
        embedder: makes vectors; changing it re-embeds in the background.
        counter: counts tokens.
        memory_model: the model that looks after memory.
        parameters: every number.
        clock: where the time comes from.
        notes_folder: where files for people are written; None for none.
        notes_model: reads what people write there; None to read it by rule.
        mirror: where memory is mirrored; None for nowhere.

    Raises:
        StorageError: the database cannot be used.
    """
    database = await open_database(database_url)
    ids = IdSource(SystemClock())  # ids must be unique even where ``clock`` replays the past
    text_index = SqliteTextIndex()
    process = await asyncio.to_thread(ProcessLock.of, database.file)
    stores = open_stores(
        database, text_index, embedder=embedder, counter=counter, ids=ids, parameters=parameters, clock=clock
    )
    ground = Ground(
        database=database,
        stores=stores,
        model=memory_model,
        counter=counter,
        in_force=ParametersInForce(parameters),
        clock=clock,
        ids=ids,
        process=process,
        files=NoteFiles(notes_folder),
    )
    services = open_services(ground, notes_model=notes_model, mirror=mirror)
    privacy = Privacy(
        database, stores.personal, text_index, clock, talk=services.talk, files=services.files, mirror=services.mirror
    )
    importer = Importer(
        database=database,
        stores=stores.imported,
        recall=stores.recall,
        audit=stores.audit,
        ids=ids,
        indexer=services.indexer,
    )
    try:
        await services.begin(privacy)
        yield MemorySystem(services, privacy, importer)
    finally:
        await services.close()
        process.release()
