"""Sessions: one open per conversation, one winner at the end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from memory.database import Database, open_database
from memory.ids import IdSource
from memory.records import Scope, Session
from memory.stores.sessions import SessionStore
from tests.fakes import START, FakeClock

BOB = Scope(person="console:bob", audience="dm")


@pytest.fixture
def sessions(database: Database, ids: IdSource) -> SessionStore:
    return SessionStore(database, ids)


async def start(
    sessions: SessionStore, database: Database, scope: Scope, conversation: str = "console:1", **more: object
) -> Session:
    values = {"community": None, "at": START, **more}
    async with database.transaction() as tx:
        return await sessions.start(scope, tx, conversation=conversation, **values)  # type: ignore[arg-type]


async def claim(sessions: SessionStore, database: Database, session: Session) -> bool:
    async with database.transaction() as tx:
        return await sessions.claim_end(session.scope, tx, session_id=session.id, at=START)


async def test_a_started_session_is_the_open_one(database: Database, sessions: SessionStore, ann: Scope) -> None:
    assert await sessions.open(ann, "console:1") is None
    at = START + timedelta(microseconds=1234)
    session = await start(sessions, database, ann, community="guild:7", at=at, window_summary="They met.")
    assert await sessions.open(ann, "console:1") == session
    assert (session.community, session.window_summary, session.ended_at) == ("guild:7", "They met.", None)
    assert await sessions.open(ann, "console:2") is None
    assert await sessions.open(BOB, "console:1") is None


async def test_a_conversation_has_one_open_session_whoever_starts_it(
    database: Database, sessions: SessionStore, ann: Scope
) -> None:
    started = await asyncio.gather(*(start(sessions, database, ann) for _ in range(5)))
    assert len({session.id for session in started}) == 1
    assert len(await sessions.recent(ann, 10)) == 1


async def test_a_session_is_ended_once_by_two_processes(
    database: Database, sessions: SessionStore, ann: Scope, tmp_path: Path
) -> None:
    session = await start(sessions, database, ann)
    other_database = await open_database(f"sqlite:///{tmp_path}/keepsake.db")
    other = SessionStore(other_database, IdSource(FakeClock()))
    claims = await asyncio.gather(
        *(claim(sessions, database, session) for _ in range(4)),
        *(claim(other, other_database, session) for _ in range(4)),
    )
    await other_database.close()
    assert sorted(claims) == [False] * 7 + [True]
    assert await sessions.open(ann, "console:1") is None
    assert (await sessions.recent(ann, 1))[0].ended_at == START


async def test_nobody_ends_a_session_of_another_scope(database: Database, sessions: SessionStore, ann: Scope) -> None:
    session = await start(sessions, database, ann)
    async with database.transaction() as tx:
        assert not await sessions.claim_end(BOB, tx, session_id=session.id, at=START)
    assert await sessions.open(ann, "console:1") == session


async def test_activity_never_goes_back_in_time(database: Database, sessions: SessionStore, ann: Scope) -> None:
    session = await start(sessions, database, ann)
    later = START + timedelta(minutes=5)
    async with database.transaction() as tx:
        await sessions.touch(ann, tx, session_id=session.id, at=later)
        await sessions.touch(ann, tx, session_id=session.id, at=START)
    opened = await sessions.open(ann, "console:1")
    assert opened is not None
    assert opened.last_activity_at == later


async def test_the_sweep_sees_everybodys_idle_sessions_longest_idle_first(
    database: Database, sessions: SessionStore, ann: Scope
) -> None:
    old = await start(sessions, database, BOB, "console:2", at=START - timedelta(hours=2))
    older = await start(sessions, database, ann, "console:1", at=START - timedelta(hours=3))
    ended = await start(sessions, database, ann, "console:3", at=START - timedelta(hours=4))
    await claim(sessions, database, ended)
    await start(sessions, database, ann, "console:4", at=START + timedelta(milliseconds=1))
    assert await sessions.idle(START, 10) == [older, old]
    assert await sessions.idle(START, 1) == [older]


async def test_the_window_summary_is_replaced(database: Database, sessions: SessionStore, ann: Scope) -> None:
    session = await start(sessions, database, ann, window_summary="old")
    async with database.transaction() as tx:
        await sessions.set_window_summary(ann, tx, session_id=session.id, text="new")
        await sessions.set_window_summary(BOB, tx, session_id=session.id, text="stranger")
    opened = await sessions.open(ann, "console:1")
    assert opened is not None
    assert opened.window_summary == "new"


async def test_recent_sessions_come_newest_first(database: Database, sessions: SessionStore, ann: Scope) -> None:
    first = await start(sessions, database, ann, "console:1")
    second = await start(sessions, database, ann, "console:2")
    await start(sessions, database, BOB)
    assert await sessions.recent(ann, 5) == [second, first]
    assert await sessions.recent(ann, 1) == [second]


async def test_the_latest_session_of_a_conversation_may_be_ended(
    database: Database, sessions: SessionStore, ann: Scope
) -> None:
    assert await sessions.latest(ann, "console:1") is None
    first = await start(sessions, database, ann)
    await claim(sessions, database, first)
    await start(sessions, database, ann, "console:2")
    latest = await sessions.latest(ann, "console:1")
    assert latest is not None
    assert (latest.id, latest.ended_at) == (first.id, START)
    second = await start(sessions, database, ann)
    assert await sessions.latest(ann, "console:1") == second


async def test_the_latest_known_community_counts(database: Database, sessions: SessionStore) -> None:
    scope = Scope(person="discord:1", audience="channel:9")
    assert await sessions.community_of(scope) is None
    await start(sessions, database, scope, "discord:9", community="guild:1")
    await start(sessions, database, scope, "discord:10", community="guild:2")
    await start(sessions, database, scope, "discord:11", community=None)
    assert await sessions.community_of(scope) == "guild:2"


async def test_export_and_erase_cover_one_scope_alone(database: Database, sessions: SessionStore, ann: Scope) -> None:
    session = await start(sessions, database, ann)
    bobs = await start(sessions, database, BOB)
    rows = await sessions.export(ann)
    assert [(row["id"], row["started_at"]) for row in rows] == [(session.id, START)]
    async with database.transaction() as tx:
        assert await sessions.erase(ann, tx) == {"sessions": 1}
    assert await sessions.export(ann) == []
    assert await sessions.recent(BOB, 5) == [bobs]
