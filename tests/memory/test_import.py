"""Importing what an export wrote: the same rows again, or one sentence and nothing at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from memory.database import Database, open_database
from memory.errors import InvalidInput
from memory.messages import Message, Part, Role, TextPart, ToolCall, ToolResult, user_message
from memory.parameters import MemoryParameters
from memory.policy.audience import reach_of_person
from memory.policy.export import choices, conversations, experience, file, knowledge, tiers, work
from memory.policy.working_memory import WorkingMemory
from memory.processes.importer import ImportReceipt
from memory.records import (
    BLOCK_LABELS,
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
    Source,
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
from memory.stores.journal_rows import OF_OLDER_EXPORTS
from memory.stores.passage_use import Trace
from memory.system import MemorySystem, open_memory
from tests.fakes import START, FakeClock, HashEmbedder, ScriptedModel, WordTokenCounter
from tests.new_database import database_in

ANN = Scope(person="console:ann", audience="dm")
ANN_IN_PUBLIC = Scope(person="console:ann", audience="guild:1")
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


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with house_in(tmp_path / "house") as house:
        yield house


@pytest.fixture
async def other_house(tmp_path: Path) -> AsyncIterator[House]:
    async with house_in(tmp_path / "other") as house:
        yield house


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


async def test_what_was_exported_erased_and_imported_is_there_as_before(house: House) -> None:
    for scope in (ANN, ANN_IN_PUBLIC):
        await live_in(house, scope)
    before = [await house.rows_of(scope) for scope in (ANN, ANN_IN_PUBLIC)]
    answers = await house.answers()
    exported = await house.export()
    await house.system.privacy.erase(ANN.person)
    receipt = await house.import_(exported)
    assert [await house.rows_of(scope) for scope in (ANN, ANN_IN_PUBLIC)] == before
    assert await house.answers() == answers
    assert {hit.source for hit in answers} == set(Source) - {Source.JOURNAL, Source.ENTRY}
    everything = {"sessions": 3, "recall": 4, "blocks": 3, "archival": 2, "summaries": 2, "audit": 1}
    everything |= {"facts": 2, "fact_revisions": 3, "journal": 1, "working": 1, "reminders": 1}
    everything |= {"hot": 1, "entries": 1, "tree": 7, "tree_changes": 2, "consolidations": 1}
    everything |= {"episodes": 2, "procedures": 2, "procedure_versions": 3}
    assert receipt.added == {"dm": everything, "guild:1": everything, "person": {"consent": 1, "preferences": 1}}
    assert (receipt.person, receipt.already_here, receipt.left_out) == (ANN.person, 0, 0)


async def test_another_database_gives_the_same_history_and_answers(house: House, other_house: House) -> None:
    await live_in(house)
    exported = await house.export()
    await other_house.import_(exported)
    assert await other_house.rows_of(ANN) == await house.rows_of(ANN)
    for label in BLOCK_LABELS:
        assert await other_house.stores.blocks.versions(ANN, label) == await house.stores.blocks.versions(ANN, label)
    assert await other_house.stores.blocks.load(ANN) == await house.stores.blocks.load(ANN)
    assert await other_house.stores.summaries.versions(ANN) == await house.stores.summaries.versions(ANN)
    assert await other_house.stores.recall.window(ANN, "here") == await house.stores.recall.window(ANN, "here")
    other_house.clock.time = house.clock.time
    assert await other_house.answers() == await house.answers() != []


async def test_an_import_is_noted_in_the_audit_log_of_every_audience_it_adds_to(
    house: House, other_house: House
) -> None:
    await live_in(house)
    exported = await house.export()
    await other_house.import_(exported)
    await other_house.import_(exported)
    notes = [
        (entry.actor, entry.action, entry.scope.audience)
        for entry in await other_house.stores.audit.recent(reach_of_person(ANN.person), limit=9)
        if entry.action == "memory import"
    ]
    assert sorted(notes) == [("operator", "memory import", "dm"), ("operator", "memory import", "person")]


async def test_importing_again_adds_nothing(house: House) -> None:
    await live_in(house)
    before = await house.every_row()
    receipt = await house.import_(await house.export())
    assert await house.every_row() == before
    assert receipt.added == {"dm": {}, "person": {}}
    assert receipt.already_here == 44


async def test_an_old_export_leaves_alone_what_went_on_since(house: House) -> None:
    await live_in(house)
    exported = await house.export()
    [*_, session] = [found for found in await house.stores.sessions.recent(ANN, 9) if found.ended_at is None]
    window = await house.stores.recall.window(ANN, "there")
    async with house.system.transaction() as tx:
        change = Change(actor="person", reason="correction")
        await house.stores.blocks.replace(ANN, tx, label=HUMAN, old="Zanzibar", new="Oslo", change=change, at=START)
        await house.stores.sessions.claim_end(ANN, tx, session_id=session.id, at=START)
        ids = [message.id for message in window]
        await house.stores.recall.evict(ANN, tx, message_ids=ids, reason=EvictionReason.SESSION_END, at=START)
        await house.stores.consent.pause(ANN, tx, at=None)
        for text in ("Third.", "Fourth.", "Fifth.", "Sixth."):
            await house.stores.summaries.append(ANN, tx, text=text, change=change, at=START)
    await house.stores.archival.search(ANN, reach_of_person(ANN.person), "kumquats", limit=1)
    before = await house.every_row()
    await house.import_(exported)
    assert await house.every_row() == before


async def test_a_session_that_was_open_ends_where_its_conversation_has_a_newer_one(
    house: House, other_house: House
) -> None:
    for one in (house, other_house):
        async with one.system.transaction() as tx:
            session = await one.stores.sessions.start(ANN, tx, conversation="here", community=None, at=START)
        await one.said(ANN, session, f"Hello from session {session.id}.")
    newer = await other_house.stores.sessions.open(ANN, "here")
    await other_house.import_(await house.export())
    assert await other_house.stores.sessions.open(ANN, "here") == newer
    ended = [found for found in await other_house.stores.sessions.recent(ANN, 9) if found.ended_at is not None]
    assert [(found.ended_at, found.last_activity_at) for found in ended] == [(START, START)]


async def test_work_in_flight_is_not_imported(house: House, other_house: House) -> None:
    await live_in(house)
    await house.stores.inbox.accept(ANN, conversation="here", platform_id="p9", payload="{}", at=START)
    async with house.system.transaction() as tx:
        await house.stores.jobs.add(ANN, tx, kind="fold", subject=1, payload={"session": 1}, at=START)
    receipt = await other_house.import_(await house.export())
    assert receipt.left_out == 2
    rows = await other_house.rows_of(ANN)
    assert (rows["inbox"], rows["jobs"]) == ([], [])


async def test_nobody_else_is_touched(house: House, other_house: House) -> None:
    ben = Scope(person="console:ben", audience="dm")
    await live_in(house)
    await live_in(other_house, ben)
    before = await other_house.rows_of(ben)
    await other_house.import_(await house.export())
    assert await other_house.rows_of(ben) == before


async def test_what_an_unkept_session_said_is_not_made_searchable(house: House, other_house: House) -> None:
    await live_in(house)
    await other_house.import_(await house.export())
    assert [
        hit for hit in await other_house.system.search(ANN.person, "quinces", limit=9) if "quinces" in hit.text
    ] == []
    assert [message.text for message in await other_house.stores.recall.window(ANN, "there")] == [
        "A whisper about quinces."
    ]


async def test_the_file_of_another_person_is_refused_where_one_is_named(house: House, other_house: House) -> None:
    await live_in(house)
    exported = await house.export()
    with pytest.raises(InvalidInput, match="of console:ann, not of console:ben"):
        await other_house.import_(exported, person="console:ben")
    assert not any((await other_house.every_row()).values())
    await other_house.import_(exported, person="console:ann")
    assert await other_house.rows_of(ANN) == await house.rows_of(ANN)


async def test_progress_is_told_up_to_the_end(house: House, other_house: House) -> None:
    await live_in(house)
    heard: list[tuple[int, int]] = []
    await other_house.import_(await house.export(), on_progress=lambda done, total: heard.append((done, total)))
    assert heard == sorted(heard)
    assert heard[-1] == (44, 44)


def at(*path: str | int) -> Callable[[dict[str, Any], Any], None]:
    """A change of one place of an export; ``...`` takes it out."""

    def change(exported: dict[str, Any], value: Any) -> None:
        place: Any = exported
        for step in path[:-1]:
            place = place[step]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return change


DM = ("scopes", "dm")
FAULTS: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("format",), "keepsake/2", "format: it is 'keepsake/2'"),
    (("format",), ..., "format: it is missing"),
    (("format",), 1, "format: Input should be a valid string"),
    (("person",), "ann", "person: it names nobody"),
    (("person",), "console:ann\n", "person: it names nobody"),
    (("scopes",), [], "scopes: Input should be an object"),
    (("scopes", "everybody"), {}, "scopes.everybody"),
    (("scopes", "guild:\0\n" + "1" * 99), {}, "scopes.guild:??1111"),
    ((*DM, "facts_of_tomorrow"), [], "scopes.dm.facts_of_tomorrow: keepsake/1 knows nothing of that name"),
    ((*DM, "recall"), {}, "scopes.dm.recall: Input should be a valid array"),
    ((*DM, "recall", 0), "hello", "scopes.dm.recall[0]: Input should be an object"),
    ((*DM, "recall", 1, "author"), ..., "scopes.dm.recall[1].author: it is missing"),
    ((*DM, "recall", 1, "evicted_at"), ..., "scopes.dm.recall[1].evicted_at: it is missing"),
    ((*DM, "recall", 1, "mood"), "good", "scopes.dm.recall[1].mood: keepsake/1 knows nothing"),
    ((*DM, "recall", 1, "author"), "\0", "scopes.dm.recall[1].author: it holds a NUL"),
    ((*DM, "recall", 1, "author"), 5, "scopes.dm.recall[1].author: Input should be a valid string"),
    ((*DM, "recall", 1, "author"), "a" * 201, "scopes.dm.recall[1].author: String should have at most 200"),
    ((*DM, "recall", 0, "role"), "system", "scopes.dm.recall[0].role: Input should be"),
    ((*DM, "recall", 0, "parts"), "[]", "scopes.dm.recall[0].parts: Input should be"),
    ((*DM, "recall", 0, "parts", 0, "type"), "image", "scopes.dm.recall[0].parts[0]"),
    ((*DM, "recall", 0, "parts", 0, "text"), "\0", "it holds a NUL"),
    ((*DM, "recall", 1, "parts", 1, "arguments"), [], "scopes.dm.recall[1].parts[1].tool_call.arguments"),
    ((*DM, "recall", 0, "id"), "-1", "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), 0, "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), True, "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), 1.5, "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), "²", "scopes.dm.recall[0].id"),
    ((*DM, "recall", 0, "id"), str(2**63 - 1), "scopes.dm.recall[0].id: it is an id of the future"),
    ((*DM, "recall", 0, "id"), 2**63 - 1, "scopes.dm.recall[0].id: it is an id of the future"),
    ((*DM, "recall", 0, "session_id"), "9" * 40, "scopes.dm.recall[0].session_id"),
    ((*DM, "recall", 0, "session_id"), 10**40, "scopes.dm.recall[0].session_id"),
    ((*DM, "recall", 0, "tokens"), 2**31, "scopes.dm.recall[0].tokens"),
    ((*DM, "recall", 0, "sent_at"), "2026-03-02T09:00:00", "scopes.dm.recall[0].sent_at: Input should have timezone"),
    ((*DM, "recall", 0, "sent_at"), "9999-12-31T23:59:59-12:00", "scopes.dm.recall[0].sent_at: it is out of range"),
    ((*DM, "recall", 0, "sent_at"), 5, "scopes.dm.recall[0].sent_at"),
    ((*DM, "recall", 0, "eviction_reason"), "boredom", "scopes.dm.recall[0].eviction_reason"),
    ((*DM, "sessions", 0, "kept"), "yes", "scopes.dm.sessions[0].kept"),
    ((*DM, "sessions", 0, "community"), "planet:earth", "scopes.dm.sessions[0].community: it is no audience"),
    ((*DM, "blocks", 0, "label"), "soul", "scopes.dm.blocks[0]: its label is none of persona and human"),
    ((*DM, "blocks", 0, "version"), 0, "scopes.dm.blocks[0].version"),
    ((*DM, "blocks", 0, "version"), 2**31, "scopes.dm.blocks[0].version"),
    ((*DM, "archival", 0, "content"), "Tampered with.", "scopes.dm.archival[0]: its content_hash is not"),
    ((*DM, "archival", 0, "importance"), 1.5, "scopes.dm.archival[0].importance"),
    ((*DM, "archival", 0, "importance"), float("nan"), "scopes.dm.archival[0].importance"),
    ((*DM, "archival", 0, "metadata"), None, "scopes.dm.archival[0].metadata"),
    ((*DM, "facts", 0, "text"), "Ann is a spy.", "scopes.dm.facts[0]: its text_hash is not that of its text"),
    ((*DM, "facts", 0, "state"), "doubtful", "scopes.dm.facts[0].state"),
    ((*DM, "fact_revisions", 2, "before", "created_at"), 2**60, "scopes.dm.fact_revisions[2].before.created_at"),
    ((*DM, "fact_revisions", 2, "after", "superseded_by"), "x", "scopes.dm.fact_revisions[2].after.superseded_by"),
    ((*DM, "journal", 0, "text"), "Ann is a spy.", "scopes.dm.journal[0]: its text_hash is not that of its text"),
    ((*DM, "summaries", 0, "words"), -1, "scopes.dm.summaries[0].words"),
    ((*DM, "audit", 0, "actor"), "a" * 129, "scopes.dm.audit[0].actor: String should have at most 128"),
    (("scopes", "person", "consent"), [{"greeted_at": None, "paused_at": None}] * 2, "scopes.person.consent"),
]


@pytest.fixture(scope="module")
async def an_export(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async with house_in(tmp_path_factory.mktemp("export")) as house:
        await live_in(house)
        return await house.export()


@pytest.fixture(scope="module")
async def empty_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with house_in(tmp_path_factory.mktemp("empty")) as house:
        yield house


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize(("path", "value", "told"), FAULTS, ids=[told for *_, told in FAULTS])
async def test_a_fault_is_named_with_its_place_and_nothing_is_imported(
    empty_house: House, an_export: dict[str, Any], path: tuple[str | int, ...], value: Any, told: str
) -> None:
    damaged = json.loads(json.dumps(an_export))
    at(*path)(damaged, value)
    with pytest.raises(InvalidInput) as refused:
        await empty_house.import_(damaged)
    sentence = str(refused.value)
    assert told in sentence
    assert sentence.startswith("This file cannot be imported: ")
    assert sentence.endswith(". Nothing was imported.")
    assert sentence.isprintable()
    assert "kumquat" not in sentence
    assert not any((await empty_house.every_row()).values())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"PK\x03\x04",
        b'{"format": "keepsake/1", "person": "console:\xed\xa0\x80"}',
        b'{"format": "keepsake/1", "person": "console:\\ud800"}',
        b"[" * 10_000,
        b'{"format": "keepsake/1", "scopes": {"dm": {"recall": [{"id": ' + b"9" * 10_000 + b"}]}}}",
    ],
    ids=["empty", "null", "list", "not-utf8", "zip", "raw-surrogate", "escaped-surrogate", "deep", "huge-number"],
)
async def test_what_is_no_export_is_refused(empty_house: House, data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"^This file cannot be imported: .*\. Nothing was imported\.$"):
        await empty_house.import_(data)
    assert not any((await empty_house.every_row()).values())


async def test_a_file_cut_off_anywhere_is_refused(empty_house: House, an_export: dict[str, Any]) -> None:
    data = json.dumps(an_export).encode()
    for end in range(0, len(data), 97):
        with pytest.raises(InvalidInput, match="Nothing was imported"):
            await empty_house.import_(data[:end])
    assert not any((await empty_house.every_row()).values())


@pytest.mark.parametrize(
    ("store", "column", "value"),
    [
        ("sessions", "conversation", "elsewhere"),
        ("recall", "parts", [{"type": "text", "text": "I never said that."}]),
        ("recall", "author", "Mallory"),
        ("blocks", "value", "Hates kumquats."),
        ("archival", "metadata", {}),
        ("journal", "importance", 0.25),
        ("summaries", "text", "Third."),
        ("audit", "actor", "nobody"),
    ],
)
async def test_a_key_that_stands_for_something_else_is_refused_and_nothing_is_overwritten(
    house: House, store: str, column: str, value: Any
) -> None:
    await live_in(house)
    exported = await house.export()
    exported["scopes"]["dm"]["audit"] += [{**exported["scopes"]["dm"]["audit"][0], "id": 1}]  # would be new
    exported["scopes"]["dm"][store][0][column] = value
    before = await house.every_row()
    with pytest.raises(InvalidInput, match=r"Something else is kept under .* already\. Nothing was imported"):
        await house.import_(exported)
    assert await house.every_row() == before


async def test_a_row_that_the_file_holds_twice_is_one_row_and_another_under_its_key_is_refused(
    house: House, other_house: House
) -> None:
    await live_in(house)
    exported = await house.export()
    said = exported["scopes"]["dm"]["recall"]
    exported["scopes"]["dm"]["recall"] = [*said, said[0]]
    receipt = await other_house.import_(exported)
    assert (receipt.added["dm"]["recall"], receipt.already_here) == (4, 1)
    exported["scopes"]["dm"]["recall"] = [*said, {**said[0], "author": "Mallory"}]
    await other_house.system.privacy.erase(ANN.person)
    with pytest.raises(InvalidInput, match="Something else is kept"):
        await other_house.import_(exported)
    assert not any((await other_house.every_row()).values())


async def test_core_memory_that_is_larger_than_allowed_here_is_refused(house: House, tmp_path: Path) -> None:
    await live_in(house)
    exported = await house.export()
    async with house_in(tmp_path / "small", core_memory_limit=20) as small:
        with pytest.raises(InvalidInput, match=r"48 characters, more than the 20 allowed here \(CORE_MEMORY_LIMIT\)"):
            await small.import_(exported)
        assert not any((await small.every_row()).values())


ADDED_LATER = {"recall": {"edited_at"}, "archival": {"forgotten_reason"}, "journal": set(OF_OLDER_EXPORTS)}
MODELS = {
    "sessions": conversations.SessionRow,
    "recall": conversations.MessageRow,
    "blocks": knowledge.BlockVersionRow,
    "archival": knowledge.PassageRow,
    "facts": knowledge.FactRow,
    "fact_revisions": knowledge.FactRevisionRow,
    "journal": work.JournalRow,
    "working": work.WorkingRow,
    "hot": tiers.HotVersionRow,
    "entries": tiers.EntryRow,
    "tree": tiers.TreeNodeRow,
    "tree_changes": tiers.TreeChangeRow,
    "consolidations": tiers.ConsolidationRow,
    "episodes": experience.EpisodeRow,
    "procedures": experience.ProcedureRow,
    "procedure_versions": experience.ProcedureVersionRow,
    "reminders": work.ReminderRow,
    "preferences": choices.PreferencesRow,
    "summaries": conversations.SummaryVersionRow,
    "audit": choices.AuditRow,
    "consent": choices.ConsentRow,
}


@pytest.mark.parametrize("store", sorted(TABLES))
async def test_the_format_has_every_column_of_kept_memory(store: str, an_export: dict[str, Any]) -> None:
    table, model = TABLES[store], MODELS[store]
    columns = {column.name for column in table.columns if column.name not in ("person", "audience")}
    assert columns == set(model.model_fields)
    optional = {name for name, field in model.model_fields.items() if not field.is_required()}
    assert optional == ADDED_LATER.get(store, set())
    exported = an_export["scopes"]["person" if store in ("consent", "preferences") else "dm"][store]
    assert all(set(row) == columns for row in exported)


async def test_every_store_of_people_is_imported_or_known_to_be_left_out(house: House) -> None:
    for store in house.stores.personal:
        assert store.name == "search" or store.name in file.KeptInScope.model_fields, store.name


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
PARTS: st.SearchStrategy[list[Part]] = st.lists(
    st.builds(TextPart, text=TEXT)
    | st.builds(
        ToolCall,
        id=TEXT,
        name=TEXT,
        arguments=st.dictionaries(TEXT, ANYTHING, max_size=3),
        malformed=st.none() | TEXT,
    )
    | st.builds(ToolResult, call_id=TEXT, name=TEXT, content=TEXT, is_error=st.booleans(), is_memory=st.booleans()),
    max_size=4,
)
MOMENTS = st.datetimes(timezones=st.just(UTC))
NEW_MESSAGES = st.lists(
    st.builds(
        NewMessage,
        message=st.builds(Message, role=st.sampled_from(Role), parts=PARTS.map(tuple)),
        author=TEXT,
        sent_at=MOMENTS,
        platform_id=st.none() | TEXT,
        tokens=st.integers(0, 10**6),
    ),
    max_size=4,
)
CHANGES = st.builds(
    Change,
    actor=TEXT,
    reason=TEXT,
    source_message=st.none() | st.integers(1, 2**57),
    session_id=st.none() | st.integers(1, 2**57),
    job=st.none() | TEXT,
)
PERSONS = count()


@pytest.mark.no_cover  # forty times the same way
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    audience=st.sampled_from(["dm", "guild:1", "channel:x"]),
    opening=st.fixed_dictionaries(
        {
            "conversation": TEXT,
            "community": st.sampled_from([None, "guild:1"]),
            "at": MOMENTS,
            "window_summary": TEXT,
            "kept": st.booleans(),
        }
    ),
    said=NEW_MESSAGES,
    evicted=st.none() | st.sampled_from(EvictionReason),
    core=st.lists(st.tuples(st.sampled_from(BLOCK_LABELS), TEXT, CHANGES, MOMENTS), max_size=3),
    notes=st.lists(
        st.tuples(TEXT.filter(str.strip), st.floats(0, 1), st.dictionaries(TEXT, ANYTHING, max_size=2)), max_size=2
    ),
    digests=st.lists(st.tuples(TEXT, CHANGES, MOMENTS), max_size=6),
)
async def test_whatever_is_kept_comes_back_equal(  # noqa: PLR0917  # drawn by name
    house: House,
    audience: str,
    opening: dict[str, Any],
    said: list[NewMessage],
    evicted: EvictionReason | None,
    core: list[tuple[str, str, Change, datetime]],
    notes: list[tuple[str, float, dict[str, Any]]],
    digests: list[tuple[str, Change, datetime]],
) -> None:
    scope, stores = Scope(person=f"console:{next(PERSONS)}", audience=audience), house.stores
    async with house.system.transaction() as tx:
        session = await stores.sessions.start(scope, tx, **opening)
        await stores.recall.append(scope, tx, session=session, messages=said, evicted=evicted, at=START)
        for label, value, change, moment in core:
            await stores.blocks.rewrite(scope, tx, label=label, value=value, change=change, at=moment)
        for content, importance, metadata in notes:
            await stores.archival.insert(scope, tx, content=content, importance=importance, metadata=metadata)
        for text, change, moment in digests:
            await stores.summaries.append(scope, tx, text=text, change=change, at=moment)
    await house.system.embedded()
    before = await house.rows_of(scope)
    exported = await house.export(scope.person)
    async with house.system.transaction() as tx:
        for store in stores.personal:
            await store.erase(scope, tx)
    await house.import_(exported)
    assert await house.rows_of(scope) == before
    assert (await house.import_(exported)).added == {scope.audience: {}}
