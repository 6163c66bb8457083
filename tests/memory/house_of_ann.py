"""A memory system in a folder, and a life that leaves something in every store of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from memory.database import Database, open_database
from memory.messages import Message, Role, TextPart, ToolCall, ToolResult, user_message
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_person
from memory.policy.working_memory import WorkingMemory
from memory.processes.importer import ImportReceipt
from memory.records import (
    HUMAN,
    PERSONA,
    Candidate,
    Change,
    ConsolidationReport,
    EvictionReason,
    Example,
    HowTo,
    KeyMoment,
    Mode,
    MomentKind,
    Narrative,
    NewEntry,
    NewMessage,
    Scope,
    SearchHit,
    Session,
)
from memory.schema import (
    PERSONAL_TABLES,
    audit_log,
    block_versions,
    consent,
    consolidations,
    entries,
    episodes,
    fact_revisions,
    facts,
    hot_versions,
    journal_entries,
    messages,
    passages,
    preferences,
    procedure_versions,
    procedures,
    reminders,
    sessions,
    summary_versions,
    tree_changes,
    tree_nodes,
    working_memory,
)
from memory.stores.passage_use import Trace
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.new_database import database_in

ANN = Scope(person="console:ann", audience="dm")

TABLES = {
    "sessions": sessions,
    "recall": messages,
    "blocks": block_versions,
    "archival": passages,
    "facts": facts,
    "fact_revisions": fact_revisions,
    "journal": journal_entries,
    "working": working_memory,
    "hot": hot_versions,
    "entries": entries,
    "tree": tree_nodes,
    "tree_changes": tree_changes,
    "consolidations": consolidations,
    "episodes": episodes,
    "procedures": procedures,
    "procedure_versions": procedure_versions,
    "reminders": reminders,
    "preferences": preferences,
    "summaries": summary_versions,
    "audit": audit_log,
    "consent": consent,
}

TASK = WorkingMemory(goal="Grow kumquats").observe("garden", "frost", at=START).add_hypothesis("It is cold", 0.5)

CALL = ToolCall(id="t1", name="archival_search", arguments={"query": "kumquats", "n": 2**70, "x": 0.1})

RESULT = ToolResult(call_id="t1", name="archival_search", content="Nothing found.")


class House:
    """A memory system, with a second way into its database."""

    def __init__(self, system: MemorySystem, database: Database, clock: FakeClock) -> None:
        self.system = system
        self.clock = clock
        self.stores = system.stores
        self.database = database

    async def rows_of(self, scope: Scope) -> dict[str, list[dict[str, Any]]]:
        """Every row of a scope but those that an import writes about itself, and those made anew."""
        found = {}
        async with self.database.read() as connection:
            for table in PERSONAL_TABLES:
                query = select(table).where(table.c.person == scope.person, table.c.audience == scope.audience)
                rows = (await connection.execute(query.order_by(*table.primary_key))).mappings()
                found[table.name] = [dict(row) for row in rows if row.get("action") != "memory import"]
        for entry in found["search_entries"]:
            del entry["id"]
        del found["index_generations"], found["archival_stats"]  # they say how this installation searched
        return found

    async def every_row(self) -> dict[str, list[tuple[Any, ...]]]:
        async with self.database.read() as connection:
            return {t.name: [tuple(row) for row in await connection.execute(select(t))] for t in PERSONAL_TABLES}

    async def export(self, person: str = ANN.person) -> dict[str, Any]:
        """What an export file holds, through its text."""
        written = json.dumps(await self.system.privacy.export(person), ensure_ascii=False, indent=2)
        exported: dict[str, Any] = json.loads(written)
        return exported

    async def import_(self, value: object, **wanted: Any) -> ImportReceipt:
        data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
        receipt = await self.system.importer.run(data, actor="operator", **wanted)
        await self.system.embedded()
        return receipt

    async def answers(self) -> list[SearchHit]:
        """What is found of Ann's, without a trace."""
        everything = reach_of_person(ANN.person)
        found = []
        for words in ("kumquats in Zanzibar", "quinces", "when does the bus leave"):
            found += await self.stores.recall.search(everything, words, limit=9, evicted_only=False)
            found += await self.stores.archival.search(ANN, everything, words, limit=9, trace=Trace.NEVER)
            found += await self.stores.facts.search(everything, words, limit=9)
            found += await self.stores.episodes.search(everything, words, limit=9)
            found += await self.stores.procedures.applicable(everything, words, limit=9)
        return found

    async def said(self, scope: Scope, session: Session, *texts: str) -> None:
        new = [NewMessage(message=user_message(text), author="Ann", sent_at=START) for text in texts]
        async with self.system.transaction() as tx:
            await self.stores.recall.append(scope, tx, session=session, messages=new, at=START)


@asynccontextmanager
async def house_in(folder: Path, **numbers: Any) -> AsyncIterator[House]:
    address = await database_in(folder)
    database = await open_database(address)
    clock = FakeClock()
    try:
        async with open_memory(
            database_url=address,
            embedder=HashEmbedder(),
            counter=WordTokenCounter(),
            memory_model=ScriptedModel(),
            parameters=MemoryParameters(**numbers),
            clock=clock,
        ) as system:
            yield House(system, database, clock)
    finally:
        await database.close()


async def live_in(house: House, scope: Scope = ANN) -> None:
    """A little of everything that can be kept."""
    stores = house.stores
    change = Change(actor="agent", reason="core_memory_append", source_message=5, session_id=7, job="fold:9")
    async with house.system.transaction() as tx:
        past = await stores.sessions.start(
            scope, tx, conversation="here", community="guild:1", at=START, window_summary="Ann likes kumquats."
        )
        new = [
            NewMessage(message=message, author="Ann", sent_at=START + timedelta(milliseconds=1), platform_id="p1")
            for message in (
                user_message("Extraordinary kumquats grow in Zanzibar. " * 60),
                Message(role=Role.ASSISTANT, parts=(TextPart(text="Do they?"), CALL)),
                Message(role=Role.USER, parts=(RESULT,)),
            )
        ]
        stored = await stores.recall.append(scope, tx, session=past, messages=new, at=START)
        ids = [message.id for message in stored]
        await stores.recall.evict(scope, tx, message_ids=ids, reason=EvictionReason.THRESHOLD, at=START)
        await stores.recall.mark_folded(scope, tx, message_ids=ids[:1])
        await stores.sessions.claim_end(scope, tx, session_id=past.id, at=START)
        here = await stores.sessions.start(scope, tx, conversation="here", community=None, at=START)
        await stores.reminders.add(
            scope,
            tx,
            conversation="here",
            heard_by=scope.audience,
            community=None,
            reply_to="p1",
            text="Water the kumquats.",
            due_at=START + timedelta(days=99_999),
            source_message=5,
            at=START,
        )
        await stores.preferences.set_zone(scope, tx, name="Europe/Oslo")
        await stores.working.save(scope, tx, session=here, memory=TASK, at=START)
        event = NewEntry(text="Planted kumquats", category="garden/trees", created_at=START)
        await stores.warm.add(scope, tx, new=event, change=change, at=START)
        await stores.hot.update(scope, tx, key="lesson", value={"text": "Frost kills"}, change=change, at=START)
        report = ConsolidationReport(
            id=5, mode=Mode.DAILY, scope=scope, at=START, tree_operations=("add: trees",), tree_findings=("Divide it.",)
        )
        await stores.consolidations.add(scope, tx, report=report)
        secret = await stores.sessions.start(scope, tx, conversation="there", community=None, at=START, kept=False)
        hush = NewMessage(message=user_message("A whisper about quinces."), author="Ann", sent_at=START)
        await stores.recall.append(scope, tx, session=secret, messages=[hush], at=START)
        for label, text in ((HUMAN, "Likes kumquats."), (PERSONA, "Speaks softly."), (HUMAN, "Lives in Zanzibar.")):
            await stores.blocks.append(scope, tx, label=label, text=text, change=change, at=START)
        for note, importance in (("Kumquats need sun.", 0.5), ("The kumquat bus leaves at nine.", 0.1)):
            metadata = {"url": "a", "n": 2**60, "deep": [None, {"x": 1.5}]}
            await stores.archival.insert(
                scope, tx, content=note, importance=importance, metadata=metadata, source_message=5
            )
        old = await stores.facts.add(scope, tx, candidate=Candidate(text="Ann lives in Rome."), change=change, at=START)
        assert old is not None
        await stores.facts.add(
            scope,
            tx,
            candidate=Candidate(
                text="Ann lives in Zanzibar since 2019.",
                subject="user",
                predicate="lives_in",
                object="Zanzibar",
                confidence=1,
                metadata={"urls": ["https://example.org"]},
                valid_from=START - timedelta(days=9),
                expires_at=START + timedelta(days=9_999),
            ),
            change=change,
            at=START,
            replaces=[old.id],
        )
        await stores.journal.add(scope, tx, text="Ann planted a kumquat.", change=change, at=START, importance=1)
        story = Narrative(
            summary="Ann asked about kumquats.",
            journey=("Asked.",),
            key_moments=(KeyMoment(kind=MomentKind.DECISION, what="To plant kumquats.", message=0),),
            lessons=("Ask about the soil.",),
        )
        for _ in range(2):  # the second takes the place of the first
            await stores.episodes.add(scope, tx, messages=stored, narrative=story, change=change, at=START)
        for name in ("Planting kumquats", "Watering kumquats"):
            how_to = HowTo(
                name=name,
                description="How Ann wants it.",
                steps=("Dig.", "Plant."),
                examples=(Example(input="And now?", output="Water."),),
                triggers=("kumquats",),
            )
            proposed = await stores.procedures.propose(scope, tx, how_to=how_to, change=change, at=START)
            assert proposed is not None
        await stores.procedures.approve(scope, tx, procedure_id=proposed.id, change=change, at=START)
        await stores.procedures.record(scope, tx, procedure_id=proposed.id, success=True)
        for text in ("First.", "Second."):
            await stores.summaries.append(
                scope, tx, text=text, change=change, at=START, first_message=1, last_message=2
            )
        await stores.audit.note(scope, tx, actor="discord:1", action="memory view", detail="summary 2")
        await stores.consent.pause(scope, tx, at=START)
    house.clock.advance(days=100)
    async with house.system.transaction() as tx:
        await stores.archival.forget(scope, tx, min_importance=0.2)
    await house.system.embedded()
