"""The journal: each event once, found by its date."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from memory.database import Database
from memory.errors import InvalidInput
from memory.ids import IdSource
from memory.policy.audience import reach_of, reach_of_scope
from memory.records import Change, Scope
from memory.stores.journal import JournalEntry, JournalStore
from tests.fakes import START

ANN = Scope(person="console:ann", audience="dm")
ANN_GUILD = Scope(person="console:ann", audience="guild:1")
BOB = Scope(person="console:bob", audience="dm")
LEARNED = Change(actor="system", reason="learned", source_message=7, session_id=1, job="learn:7")
AGAIN = Change(actor="system", reason="learned", source_message=8, session_id=1, job="learn:8")
DAY = timedelta(days=1)


@pytest.fixture
def journal(database: Database, ids: IdSource) -> JournalStore:
    return JournalStore(database, ids)


async def note(
    database: Database, journal: JournalStore, text: str, scope: Scope = ANN, **details: Any
) -> JournalEntry | None:
    async with database.transaction() as tx:
        return await journal.add(scope, tx, **{"text": text, "change": LEARNED, "at": START, **details})


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
    database: Database, journal: JournalStore
) -> None:
    await note(database, journal, "Ran a marathon")
    await note(database, journal, "Swam", BOB)
    rows = await journal.export(ANN)
    async with database.transaction() as tx:
        assert await journal.erase(ANN, tx) == {"journal_entries": 1}
    assert await journal.export(ANN) == []
    assert len(await journal.export(BOB)) == 1
    for added in (1, 0):
        async with database.transaction() as tx:
            assert await journal.restore(ANN, tx, rows) == added
    assert await journal.export(ANN) == rows
