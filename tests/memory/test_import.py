"""Importing what an export wrote: the same rows again, or one sentence and nothing at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import InvalidInput
from memory.messages import Message, Part, Role, TextPart, ToolCall, ToolResult
from memory.policy.audience import reach_of_person
from memory.policy.export import file
from memory.records import BLOCK_LABELS, HUMAN, Change, EvictionReason, NewMessage, Scope, Source, TierCounts
from tests.fakes import START
from tests.memory.house_of_ann import ANN, House, house_in, live_in

ANN_IN_PUBLIC = Scope(person="console:ann", audience="guild:1")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with house_in(tmp_path / "house") as house:
        yield house


@pytest.fixture
async def other_house(tmp_path: Path) -> AsyncIterator[House]:
    async with house_in(tmp_path / "other") as house:
        yield house


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


async def test_what_belongs_to_the_installation_that_wrote_the_file_is_left_out_of_every_kind(
    house: House, other_house: House
) -> None:
    await live_in(house)
    async with house.system.transaction() as tx:
        await house.stores.tier_days.add(ANN, tx, counts=TierCounts(consolidations=1), at=START)
        await house.stores.notes_read.put(ANN, tx, name="2026-03-02.md", digest="d", job="j", at=START)
    exported = await house.export()
    taken = {"recall", *(store.name for store in house.stores.imported)}
    for kind in file.KeptInScope.model_fields.keys() - taken:
        exported["scopes"]["dm"].setdefault(kind, [{}])
    receipt = await other_house.import_(exported)
    assert receipt.left_out == len(file.KeptInScope.model_fields.keys() - taken)
    assert receipt.added["dm"]["recall"] > 0


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


async def test_every_store_of_people_is_imported_or_known_to_be_left_out(house: House) -> None:
    for store in house.stores.personal:
        assert store.name == "search" or store.name in file.KeptInScope.model_fields, store.name
    takes_back = {store.name for store in house.stores.personal if hasattr(store, "restore")}
    assert takes_back == {"recall", *(store.name for store in house.stores.imported)}


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
