"""What another device changed is put beside what is here, and nothing of either is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memory.mirror.process import MirrorAddress
from memory.policy.mirror_rows import checked
from memory.records import Candidate, Change, NewEntry, ProcedureState, Scope
from memory.schema import PERSONAL_TABLES
from memory.stores.mirror_changes import MirrorChange
from memory.stores.mirror_merge import Incoming, MirrorMerge
from memory.stores.mirrored import MESSAGES, STORES, Mirrored, stores_of, tables_of
from tests.fakes import START
from tests.world import World, running

ANN = Scope(person="console:ann", audience="dm")
BY_HAND = Change(actor="person", reason="test")
OF = {store.name: store for store in (*STORES, MESSAGES)}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    nowhere = MirrorAddress(url="http://127.0.0.1:1", folder=tmp_path / "mirror", with_messages=True)
    async with running(tmp_path, mirror=nowhere) as world:
        yield world


def merge_of(world: World) -> MirrorMerge:
    stores = world.system.stores
    return MirrorMerge((*stores.imported, stores.recall), blocks=stores.blocks, search=stores.search)


async def said_here(world: World, store: Mirrored) -> dict[str, dict[str, Any]]:
    """What the mirror is to be told of a store, by record."""
    changes = [one for one in await world.system.stores.mirror_changes.pending(limit=500) if one.store == store.name]
    present = await world.system.stores.mirror_changes.present(store, changes)
    return {record: data for (_, record), data in present.items()}


async def told(world: World, store: Mirrored, record: str, data: dict[str, Any] | None) -> int:
    """Take in what another device says of a row."""
    row = None if data is None else checked(store.name, [data])[0]
    assert data is None or row is not None, "the row of the test is not sound"
    async with world.system.transaction() as tx:
        return await merge_of(world).merge(ANN, tx, store, [Incoming(record=record, data=data, row=row)])


async def fact(world: World, text: str) -> int:
    async with world.system.transaction() as tx:
        made = await world.system.stores.facts.add(
            ANN, tx, candidate=Candidate(text=text), change=BY_HAND, at=world.clock.now()
        )
    assert made is not None
    return made.id


async def test_a_row_that_changed_elsewhere_is_replaced_and_found_by_its_new_words(world: World) -> None:
    await fact(world, "User likes tea")
    [(record, data)] = (await said_here(world, OF["facts"])).items()
    assert await told(world, OF["facts"], record, data) == 0  # it says the same
    await told(world, OF["facts"], record, None)
    assert await world.system.stores.facts.count(ANN) == 0
    assert not [hit for hit in await world.system.search(ANN.person, "tea", limit=5) if hit.source.value == "fact"]
    assert await told(world, OF["facts"], record, data) == 1
    [hit] = [hit for hit in await world.system.search(ANN.person, "tea", limit=5) if hit.source.value == "fact"]
    assert "tea" in hit.text
    assert await told(world, OF["facts"], "[77]", None) == 0  # it was never here


async def test_versions_of_two_devices_stand_in_the_order_of_their_dates_and_the_newest_is_in_force(
    world: World,
) -> None:
    summaries, now = world.system.stores.summaries, world.clock.now()
    for number, days in enumerate((0, 2), start=1):
        async with world.system.transaction() as tx:
            at = now + timedelta(days=days)
            change = Change(actor="system", reason="end of a session", session_id=number)
            await summaries.append(ANN, tx, text=f"Here {days}", change=change, at=at, first_message=1, last_message=2)
    [data, *_] = (await said_here(world, OF["summaries"])).values()
    for days in (1, 3):
        at = now + timedelta(days=days)
        other = data | {"version": 2, "text": f"There {days}", "words": 2, "changed_at": at.isoformat()}
        record = f"[{round(at.timestamp() * 1000)},9]"
        assert await told(world, OF["summaries"], record, other | {"session_id": 9}) == 1
        assert await told(world, OF["summaries"], record, other | {"session_id": 9, "version": 7}) == 0
    versions = await summaries.versions(ANN)
    assert [version.text for version in versions] == ["There 3", "Here 2", "There 1", "Here 0"]
    assert [version.version for version in versions] == [4, 3, 2, 1]


async def test_a_procedure_that_was_revised_on_both_sides_keeps_both_revisions(world: World) -> None:
    procedures, versions = OF["procedures"], OF["procedure_versions"]
    data = {
        "procedure_id": "5",
        "version": 1,
        "action": "propose",
        "name": "Talk",
        "content": {"description": "", "steps": ["Open."], "examples": [], "triggers": [], "difficulty": "difficult"},
        "state": ProcedureState.PROPOSED.value,
        "changed_at": START.isoformat(),
        "actor": "system",
        "reason": "",
        "source_message": None,
        "session_id": None,
        "job": None,
    }
    row = {name: data[name] for name in ("name", "content", "state", "version")}
    times = {"created_at": START.isoformat(), "updated_at": START.isoformat()}
    await told(world, procedures, "[5]", {**row, **times, "id": "5", "usage_count": 0, "success_rate": None})
    milliseconds = round(START.timestamp() * 1000)
    await told(world, versions, f"[5,{milliseconds},null]", data)
    for hours, session in ((1, 8), (2, 9)):
        at = START + timedelta(hours=hours)
        revised = data | {"version": 2, "changed_at": at.isoformat(), "session_id": str(session)}
        await told(world, versions, f"[5,{milliseconds + hours * 3_600_000},{session}]", revised)
    kept = await world.system.stores.procedure_versions.export(ANN)
    assert [(row["version"], row["session_id"]) for row in kept] == [(1, None), (2, 8), (3, 9)]
    [procedure] = await world.system.stores.procedures.export(ANN)
    assert procedure["version"] == 3


async def test_core_memory_is_what_its_newest_version_says_even_over_the_limit(world: World) -> None:
    blocks, limit = world.system.stores.blocks, world.system.parameters.core_memory_limit
    async with world.system.transaction() as tx:
        await blocks.append(ANN, tx, label="human", text="x" * (limit - 10), change=BY_HAND, at=START)
    [data] = (await said_here(world, OF["blocks"])).values()
    at = START + timedelta(hours=1)
    other = data | {"label": "persona", "value": "y" * 50, "version": 1, "changed_at": at.isoformat()}
    await told(world, OF["blocks"], f'["persona",{round(at.timestamp() * 1000)},null,null]', other)
    values = {block.label: block.value for block in await blocks.load(ANN)}
    assert (len(values["human"]), values["persona"]) == (limit - 10, "y" * 50)


async def test_what_changes_again_while_the_mirror_is_told_stays_to_be_told(world: World) -> None:
    changes = world.system.stores.mirror_changes
    await fact(world, "User likes tea")
    before = [one for one in await changes.pending(limit=500) if one.store == "facts"]
    async with world.system.transaction() as tx:
        await world.system.stores.facts.forget(ANN, tx, fact_id=int(before[0].record[1:-1]), change=BY_HAND, at=START)
        await changes.mirrored(tx, before)
    after: list[MirrorChange] = [one for one in await changes.pending(limit=500) if one.store == "facts"]
    assert [(one.record, one.stamp == before[0].stamp) for one in after] == [(before[0].record, False)]


async def test_a_worth_that_is_worked_out_anew_is_not_told(world: World) -> None:
    stores = world.system.stores
    async with world.system.transaction() as tx:
        new = NewEntry(text="Moved to Oslo.", created_at=START, importance=0.5)
        await stores.warm.add(ANN, tx, new=new, change=BY_HAND, at=START)
        await stores.mirror_changes.mirrored(tx, await stores.mirror_changes.pending(limit=500))
    async with world.system.transaction() as tx:
        await stores.mirror_changes.mirrored(tx, await stores.mirror_changes.pending(limit=500))
    async with world.system.transaction() as tx:
        await stores.warm.rescore(ANN, tx, at=START + timedelta(days=30))
    assert [one.store for one in await stores.mirror_changes.pending(limit=500)] == []


async def test_what_was_said_while_it_was_not_mirrored_is_told_once_it_is_again(world: World) -> None:
    changes, stores = world.system.stores.mirror_changes, (*STORES, MESSAGES)
    await changes.watch(STORES)
    await world.say("I keep quetzals")
    assert await said_here(world, MESSAGES) == {}
    await changes.watch(stores)
    assert "quetzals" in str(await said_here(world, MESSAGES))


async def test_what_is_off_the_record_is_never_said(world: World) -> None:
    await world.system.oversight.sittings.off_record(ANN, conversation="console:ann:dm", community=None)
    await world.say("I keep quetzals")
    assert [one for one in await world.system.stores.mirror_changes.pending(limit=500) if one.store == "recall"]
    assert await said_here(world, MESSAGES) == {}


def test_every_table_of_people_is_mirrored_or_left_out_on_purpose() -> None:
    mirrored = {store.table.name for store in stores_of(with_messages=True)}
    follows = {"memory_blocks", "search_entries", "index_generations", "hot_versions", "tree_nodes", "tree_index"}
    in_flight = {"inbox", "jobs", "link_requests", "working_memory", "mirror_changes"}
    of_one_device = {"reply_sources", "answer_posts", "usage", "archival_stats", "tree_changes", "consolidations"}
    of_one_device |= {"notes_read", "tier_days"}
    left = {table.name for table in PERSONAL_TABLES} - mirrored - follows - in_flight - of_one_device
    assert left == set()


def test_what_matters_most_comes_back_first_and_the_archive_late() -> None:
    tables = tables_of(stores_of(with_messages=True))
    assert tables[0] == "critical_state"
    assert tables[-2:] == ("cold_memories", "mirrored_recall")
