"""The journal: each event once, found by its date."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from memory.database import Database
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.indexes.faiss_index import FaissIndex
from memory.indexes.sqlite_text import SqliteTextIndex
from memory.policy.audience import reach_of, reach_of_scope
from memory.records import ArchiveReason, Change, JournalCategory, JournalEntry, Origin, ResultPlace, Scope
from memory.stores.journal import JournalStore
from memory.stores.search import SearchStore
from tests.fakes import START, HashEmbedder

ANN = Scope(person="console:ann", audience="dm")
ANN_GUILD = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
LEARNED = Change(actor="system", reason="learned", source_message=7, session_id=1, job="learn:7")
AGAIN = Change(actor="system", reason="learned", source_message=8, session_id=1, job="learn:8")
DAY = timedelta(days=1)


@pytest.fixture
def search(database: Database, ids: IdSource) -> SearchStore:
    return SearchStore(database, SqliteTextIndex(), HashEmbedder(), ids, new_index=FaissIndex)


@pytest.fixture
def journal(database: Database, search: SearchStore, ids: IdSource) -> JournalStore:
    return JournalStore(database, search, ids)


async def note(
    database: Database, journal: JournalStore, text: str, scope: Scope = ANN, **details: Any
) -> JournalEntry | None:
    async with database.transaction() as tx:
        return await journal.add(scope, tx, **{"text": text, "change": LEARNED, "at": START, **details})


async def add(database: Database, journal: JournalStore, text: str, **details: Any) -> JournalEntry:
    given = {"text": text, "category": JournalCategory.NOTE, "change": LEARNED, "at": START, **details}
    async with database.transaction() as tx:
        return await journal.append(ANN, tx, **given)


async def texts(journal: JournalStore, start: datetime, end: datetime, scope: Scope = ANN) -> list[str]:
    return [entry.text for entry in await journal.between(reach_of_scope(scope), start, end, limit=10)]


async def test_an_event_comes_back_with_its_date_and_its_message(database: Database, journal: JournalStore) -> None:
    entry = await note(database, journal, "Ran a marathon", happened_at=START - DAY, importance=0.9)
    assert entry is not None
    assert await journal.between(reach_of_scope(ANN), START - DAY, START - DAY, limit=10) == [entry]
    assert (entry.at, entry.noted_at, entry.source_message, entry.importance) == (START - DAY, START, 7, 0.9)


async def test_an_event_without_a_date_happened_when_it_was_told(database: Database, journal: JournalStore) -> None:
    entry = await note(database, journal, "Passed the exam")
    assert entry is not None
    assert entry.at == START


async def test_the_same_event_is_noted_once(database: Database, journal: JournalStore) -> None:
    assert await note(database, journal, "Ran a marathon", happened_at=START - DAY)
    assert await note(database, journal, "ran a  marathon.", happened_at=START - DAY, change=AGAIN) is None
    assert await note(database, journal, "Ran a marathon", happened_at=START - 2 * DAY) is None  # the same message
    assert await note(database, journal, "Ran a marathon", happened_at=START, change=AGAIN)
    assert len(await texts(journal, START - 9 * DAY, START)) == 2


async def test_an_empty_text_is_no_event(database: Database, journal: JournalStore) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        await note(database, journal, "  ")


async def test_events_are_listed_by_when_they_happened(database: Database, journal: JournalStore) -> None:
    for days, text in ((3, "third"), (1, "first"), (2, "second"), (9, "to come")):
        await note(database, journal, text, happened_at=START + days * DAY)
    assert await texts(journal, START + DAY, START + 3 * DAY) == ["first", "second", "third"]
    assert await texts(journal, START + 4 * DAY, START + 5 * DAY) == []
    latest = await journal.latest(reach_of_scope(ANN), until=START + 5 * DAY, limit=2)
    assert [entry.text for entry in latest] == ["third", "second"]


async def test_events_are_seen_within_reach_alone(database: Database, journal: JournalStore) -> None:
    for scope in (ANN, ANN_GUILD, BOB):
        await note(database, journal, f"Seen in {scope}", scope)
    assert len(await journal.latest(reach_of(ANN), until=START, limit=10)) == 2
    [public] = await journal.latest(reach_of(ANN_GUILD), until=START, limit=10)
    assert public.scope == ANN_GUILD


async def test_events_are_logged_without_their_text(database: Database, journal: JournalStore) -> None:
    with capture_logs() as logs:
        await note(database, journal, "Ran a marathon")
    assert [log["event"] for log in logs] == ["journal_entry"]
    assert "marathon" not in repr(logs)


async def test_an_exported_journal_comes_back_and_an_erased_one_is_gone(
    database: Database, journal: JournalStore, search: SearchStore
) -> None:
    await note(database, journal, "Ran a marathon")
    await add(database, journal, "Ask about the ferry")
    await note(database, journal, "Swam", BOB)
    rows = await journal.export(ANN)
    async with database.transaction() as tx:
        assert await journal.erase(ANN, tx) == {"journal_entries": 2}
        await search.erase(ANN, tx)
    assert await journal.export(ANN) == []
    assert len(await journal.export(BOB)) == 1
    for added in (2, 0):
        async with database.transaction() as tx:
            assert await journal.restore(ANN, tx, rows) == added
    assert await journal.export(ANN) == rows
    [best, *_] = await journal.search(reach_of_scope(ANN), "ferry", limit=3)
    assert best.text == "Ask about the ferry"


async def test_a_row_of_an_export_from_before_notes_is_an_event(
    database: Database, journal: JournalStore, search: SearchStore
) -> None:
    await note(database, journal, "Ran a marathon")
    known = ("id", "at", "text", "text_hash", "importance", "noted_at", "source_message", "session_id", "job")
    rows = [{name: row[name] for name in known} for row in await journal.export(ANN)]
    async with database.transaction() as tx:
        await journal.erase(ANN, tx)
        await search.erase(ANN, tx)
        await journal.restore(ANN, tx, rows)
    assert await texts(journal, START, START) == ["Ran a marathon"]


async def test_entries_on_the_work_are_no_events_and_keep_their_numbers(
    database: Database, journal: JournalStore
) -> None:
    await note(database, journal, "Ran a marathon")
    first, second, third = [await add(database, journal, text) for text in ("one", "two", "three")]
    assert [one.text for one in await journal.latest(reach_of_scope(ANN), until=START, limit=9)] == ["Ran a marathon"]
    async with database.transaction() as tx:
        cleared = {"reason": ArchiveReason.CLEARED, "change": LEARNED, "at": START}
        assert await journal.archive(ANN, tx, entry_ids=[second.id], **cleared) == 1
        assert await journal.archive(ANN, tx, entry_ids=[second.id], **cleared) == 0
        assert await journal.in_sight(ANN, tx) == 2
    assert await journal.tail(ANN, 5) == [first, third]
    assert await journal.tail(ANN, 1) == [third]
    assert [(one.number, one.entry.text) for one in await journal.numbered(ANN)] == [(1, "one"), (3, "three")]
    [gone] = await journal.numbered(ANN, number=2)
    assert (gone.entry.text, gone.entry.archive_reason) == ("two", ArchiveReason.CLEARED)
    assert await journal.numbered(BOB) == []
    assert await journal.counts(ANN) == {"event": 1, "note": 3, "archived": 1}


async def test_a_result_is_found_by_its_inside_and_a_cleared_entry_is_not(
    database: Database, journal: JournalStore
) -> None:
    line = "TOOL_RESULT: ferry_times - SUCCESS - route: Oslo"
    result = ResultPlace(message_id=5, call_id="c")
    content = "Departures: " + "07:15 to the island. " * 60 + "The captain is called Solveig."
    entry = await add(database, journal, line, category=JournalCategory.TOOL_RESULT, result=result, content=content)
    other = await add(database, journal, "Solveig is on leave")
    [best, *_] = await journal.search(reach_of_scope(ANN), "Who is Solveig the captain?", limit=2)
    assert best.record_id == entry.id
    assert best.text.startswith(line)
    assert best.text.endswith("The captain is called Solveig.")
    async with database.transaction() as tx:
        for one, reason in ((entry, ArchiveReason.DIGESTED), (other, ArchiveReason.CLEARED)):
            await journal.archive(ANN, tx, entry_ids=[one.id], reason=reason, change=LEARNED, at=START)
    found = await journal.search(reach_of_scope(ANN), "Solveig", limit=5)
    assert [hit.record_id for hit in found] == [entry.id]  # what a digest stands for is still found
    assert await journal.search(reach_of_scope(BOB), "Solveig", limit=5) == []


async def test_work_of_a_session_or_job_can_be_taken_back(database: Database, journal: JournalStore) -> None:
    kept = await add(database, journal, "kept", change=Change(actor="agent", reason="memory", session_id=1))
    added = await add(database, journal, "added", change=Change(actor="agent", reason="memory", session_id=2))
    work = Change(actor="agent", reason="memory", session_id=2)
    async with database.transaction() as tx:
        await journal.archive(
            ANN, tx, entry_ids=[kept.id], reason=ArchiveReason.REWRITTEN, change=work, at=START, replaced_by=added.id
        )
    assert await journal.tail(ANN, 5) == [added]
    async with database.transaction() as tx:
        await journal.undo(ANN, tx, origin=Origin(session_id=2), change=AGAIN, at=START)
    assert await journal.tail(ANN, 5) == [kept]


async def test_old_entries_expire_and_events_do_not(database: Database, journal: JournalStore) -> None:
    await note(database, journal, "Ran a marathon")
    await add(database, journal, "old")
    new = await add(database, journal, "new", at=START + 2 * DAY)
    async with database.transaction() as tx:
        assert await journal.expire(tx, before=START + DAY, at=START + 9 * DAY) == 1
    assert await journal.tail(ANN, 5) == [new]
    assert await texts(journal, START, START) == ["Ran a marathon"]
